"""The shipped Vaswani data are what the collection's texts and Terrier give."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from pyterrier_alg.collection.signed_hash import SignedHashEncoder
from pyterrier_alg.collection.vaswani_data import CHECKSUMS, FILES, load_vaswani, vaswani_folder

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "experiments" / "build_vaswani.py"
TEXTS = Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets")) / "vaswani"
RUN = [name for name in FILES if name.startswith("bm25")]

needs_texts = pytest.mark.skipif(
    not (TEXTS / "docs.txt").is_file(), reason="Vaswani's texts are not here: IR_DATASETS_HOME has no vaswani/docs.txt"
)
needs_terrier = pytest.mark.skipif(
    find_spec("jnius") is None or not (shutil.which("java") or os.environ.get("JAVA_HOME")),
    reason="Terrier needs Java and pip install 'pyterrier-alg[terrier]'",
)

specification = spec_from_file_location("build_vaswani", SCRIPT)
script = module_from_spec(specification)
specification.loader.exec_module(script)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A copy of the texts, since ir_datasets writes beside them."""
    home = tmp_path_factory.mktemp("ir_datasets")
    (home / "vaswani").mkdir()
    for name in ("docs.txt", "queries.txt", "qrels.txt"):
        shutil.copyfile(TEXTS / name, home / "vaswani" / name)
    return home


def build(home, *arguments):
    environment = os.environ | {"IR_DATASETS_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@needs_texts
def test_counts_topics_and_qrels_are_those_of_the_texts(texts):
    done = build(texts, "--check", "--only", "counts")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [name for name in FILES if name not in RUN]


@needs_texts
@needs_terrier
def test_the_run_is_terriers_and_a_build_writes_what_is_shipped(texts, tmp_path):
    done = build(texts, "--out", tmp_path / "built")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "built").iterdir()) == sorted([*FILES, CHECKSUMS])
    for name in [*FILES, CHECKSUMS]:
        assert (tmp_path / "built" / name).read_bytes() == (vaswani_folder() / name).read_bytes(), name


@needs_texts
def test_a_bag_of_words_has_the_vector_of_the_topics_text(texts):
    entries = (texts / "vaswani" / "queries.txt").read_text().split("\n/\n")[:93]
    encoder = SignedHashEncoder()
    for entry, query in zip(entries, load_vaswani().topics()["query"], strict=True):
        text = entry.split("\n", 1)[1]
        assert text.lower() != query and encoder.encode(text).tobytes() == encoder.encode(query).tobytes()


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("topics.txt", lambda data: data.replace(b"liquids:1", b"liquids:2"), "topics.txt: entry 0 is "),
        ("document_counts.npy", lambda data: data[:-1] + b"\x63", "document_counts.npy: entry 351589 is 99, rebuilt "),
        ("qrels.txt", lambda data: data + b"93 0 1 1\n", "qrels.txt: 2084 entries, rebuilt 2083"),
        ("document_terms.npy", lambda data: data[:-1], "document_terms.npy: the shipped array does not load"),
        ("bm25_scores.npy", lambda data: data[:-8] + bytes(8), "bm25_scores.npy: entry 91929 is 0.0, rebuilt "),
        ("vocabulary.txt", lambda data: data.replace(b"\n", b"\r\n"), "vocabulary.txt: equal values, other bytes"),
        ("docnos.txt", None, "docnos.txt: not in "),
    ],
)
def test_a_check_tells_the_first_difference(tmp_path, capsys, name, change, told):
    rebuilt = {name: (vaswani_folder() / name).read_bytes() for name in FILES}
    shipped = Path(shutil.copytree(vaswani_folder(), tmp_path / "vaswani"))
    assert script.check(shipped, rebuilt) == 0
    if change is None:
        (shipped / name).unlink()
    else:
        (shipped / name).write_bytes(change(rebuilt[name]))
    assert script.check(shipped, rebuilt) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith(told)


def test_a_build_of_a_part_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        script.main(["--out", str(tmp_path / "built"), "--only", "run"])
    assert "--only goes with --check" in capsys.readouterr().err and not (tmp_path / "built").exists()
