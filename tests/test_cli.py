"""The command line as people use it: output, exit status, errors with a caret and no traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyterrier_alg.collection import Collection

SQL = ["--implementation", "sql"]
PAPER = "top(10, w ⊙ (m ▷ ((E @ q1) − 0.5 (E @ q2))))"


def run(*arguments, stdin="", cwd=None, encoding="utf-8"):
    root = Path(__file__).parents[1]
    path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-c", "from pyterrier_alg.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        input=stdin,
        cwd=cwd or root,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": encoding},
        timeout=300,
    )


def test_parity_exits_with_0_and_writes_both_reports(tmp_path):
    done = run(
        "parity", "--json", str(tmp_path / "deep" / "p.json"), "--markdown", str(tmp_path / "p.md"), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "every check holds" in done.stdout
    assert json.loads((tmp_path / "deep" / "p.json").read_text("utf-8"))["holds"] is True
    assert (tmp_path / "p.md").read_text("utf-8").startswith("# Parity")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "p.md"]


def test_a_broken_implementation_exits_with_1_and_is_named():
    done = run("parity", "--break", "score", "--implementation", "algebra", "--implementation", "sql")
    assert done.returncode == 1
    assert "the injected fault 'score' in sql was found" in done.stdout


def test_the_paper_s_expression_in_both_notations():
    unicode, ascii = (run("run", text, "--json") for text in (PAPER, "top(10, w * (m >> (E @ q1 - 0.5 * (E @ q2))))"))
    assert unicode.returncode == 0, unicode.stderr
    assert unicode.stdout == ascii.stdout
    found = json.loads(unicode.stdout)
    assert len(found["results"][0]["records"]) == 10
    assert found["results"][0]["certified"] is True


@pytest.mark.parametrize("engine", ["vectorised", "pipeline", "sqlite", "duckdb", "definition"])
def test_every_engine_runs_from_the_command_line(engine):
    done = run("run", "top(3, m >> (E @ q1))", "--json", "--engine", engine)
    assert done.returncode == 0, done.stderr
    docnos = [record["docno"] for record in json.loads(done.stdout)["results"][0]["records"]]
    reference = run("run", "top(3, m >> (E @ q1))", "--json")
    assert docnos == [record["docno"] for record in json.loads(reference.stdout)["results"][0]["records"]]


def test_a_trec_run_of_every_topic():
    done = run("run", "top(5, bm25(query))", "--all-topics", "--format", "run")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 5 * 93
    assert all(len(line) == 6 and line[1] == "Q0" and line[5] == "pyterrier_alg" for line in lines)
    assert [line[3] for line in lines[:5]] == ["0", "1", "2", "3", "4"]


def test_a_trec_run_has_no_ties_that_a_reader_could_break():
    done = run("run", "top(4, 0 * length)", "--topic", "7", "--format", "run")
    assert [line.split()[2:5] for line in done.stdout.splitlines()] == [
        ["1", "0", "0.0"], ["10", "1", "-1.401298464324817e-45"], ["100", "2", "-2.802596928649634e-45"],
        ["1000", "3", "-4.203895392974451e-45"],
    ]  # fmt: skip
    assert "of 1 of 1 topics some scores are lowered" in done.stderr


def test_a_run_file_is_re_ranked(tmp_path):
    pools = tmp_path / "bm25.run"
    pools.write_text(run("run", "top(50, bm25(query))", "--all-topics", "--format", "run").stdout, "utf-8")
    program = "top(3, minmax(input) + 0.5 (E @ query))"
    done = run("run", program, "--input", str(pools), "--format", "run")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 * 93
    one = run("run", program, "--input", str(pools), "--topic", "7", "--json")
    found = [record["docno"] for record in json.loads(one.stdout)["results"][0]["records"]]
    assert found == [line.split()[2] for line in done.stdout.splitlines() if line.startswith("7 ")]
    pool = [line.split()[2] for line in pools.read_text("utf-8").splitlines() if line.startswith("7 ")]
    assert set(found) <= set(pool)
    Collection([*pool, "other"], name="own").bind(w={pool[-1]: 1}).save(tmp_path / "own")
    only = tmp_path / "7.run"
    only.write_text("".join(f"7 Q0 {docno} 0 {50 - i} x\n" for i, docno in enumerate(pool)), "utf-8")
    own = run("run", "w + input", "--input", str(only), "--collection", str(tmp_path / "own"), "--json")
    assert json.loads(own.stdout)["results"][0]["records"] == [{"docno": pool[-1], "score": 2.0, "rank": 0}]


def test_programs_come_from_files_and_from_standard_input(tmp_path):
    text = "pool = support(bm25(query, 52))\ntop(3, pool >> (E @ query))  # re-ranked\n"
    (tmp_path / "p.alg").write_text("\ufeff" + text, encoding="utf-8")
    from_file = run("run", f"@{tmp_path / 'p.alg'}", "--topic", "7", "--json")
    from_stdin = run("run", "-", "--topic", "7", "--json", stdin=text)
    assert from_file.returncode == 0, from_file.stderr
    assert from_file.stdout == from_stdin.stdout


def test_a_text_as_the_query():
    done = run("run", "top(2, E @ query)", "--query", "wave guide design")
    assert done.returncode == 0, done.stderr
    assert "certified" in done.stdout


@pytest.mark.parametrize(
    ("program", "code", "marked"),
    [
        ("top(10, w ⊙ m ▷ (E @ q1))", "kind", "^"),
        ("top(10, E @ q3)", "unknown_name", "        ^^"),
        ("top(0, E @ q1)", "bad_parameter", "      ^"),
        ("top(10, E @ q1", "syntax", "^"),
        ("top(3, maxnorm(-w))", "nonpositive_maximum", "         ^^^^^^^^^^^"),
        ("top(3, E @ unit(centroid(E, m & ~m)))", "empty_centroid", "^"),
        ("top(3, E @ query)", "unknown_name", "^^^^^"),
        ('top(3, bm25("no such topic"))', "unrecorded_query", "^"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(program, code, marked):
    done = run("run", program)
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"{code}:" in done.stderr
    assert marked in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["run", "E @ q1", "--engine", "nosuch"], 1, "vectorised"),
        (["run", "top(1, E @ query)", "--topic", "94"], 1, "unknown_topic"),
        (["run", "@/nowhere/p.alg"], 1, "unreadable"),
        (["run", "E @ q1", "--collection", "/nowhere"], 1, "/nowhere"),
        (["orient", "nosuch"], 1, "unknown_name"),
        (["parity", "--break", "nosuch"], 1, "coefficient"),
        (["parity", "--q1", "94"], 1, "unknown_topic"),
        (["parity", "--dimensions", "2"], 1, "zero_vector"),
        (["parity", "--json", "/proc/nowhere/p.json", "--implementation", "algebra", *SQL], 1, "unwritable"),
        (["parity", "--markdown", "", "--implementation", "algebra", *SQL], 1, "unwritable"),
        (["parity", "--implementation", "algebra"], 1, "bad_parameter"),
        (["parity", "--dimensions", "100000000000"], 1, "bad_parameter"),
        (["parity", "--dimensions", "0"], 2, "dimensions"),
        (["parity", "--all-topics", "--q1", "1"], 2, "--all-topics"),
        (["run", "E @ q1", "--topic", "1", "--query", "x"], 2, "--query"),
        (["run", "E @ q1", "--format", "run"], 2, "--topic"),
        (["run", "input", "--input", "/nowhere.run"], 1, "missing_data"),
        (["run", "input", "--input", "/nowhere.run", "--query", "x"], 2, "--query"),
        (["run", "E @ q1", "--collection", "x", "--topic", "1"], 2, "--query"),
        (["run", "strategy.alg"], 1, "write @strategy.alg"),
        (["run"], 2, "program"),
        (["nosuch"], 2, "nosuch"),
    ],
)
def test_what_makes_no_sense_ends_in_a_message(arguments, status, words):
    done = run(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_orient_is_a_table_for_people_and_json_for_programs():
    table, data = run("orient"), run("orient", "--json")
    assert table.returncode == data.returncode == 0, table.stderr + data.stderr
    assert {"E", "q1", "m", "w", "bm25"} <= {word for line in table.stdout.splitlines() for word in line.split()}
    assert json.loads(data.stdout)["records"] == 11429
    assert json.loads(run("orient", "E", "--json").stdout)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_terminals_without_the_signs_of_the_notation(encoding):
    table, data = run("run", PAPER, encoding=encoding), run("run", PAPER, "--json", encoding=encoding)
    assert table.returncode == data.returncode == 0, table.stderr + data.stderr
    assert len(json.loads(data.stdout)["results"][0]["records"]) == 10
    report = run("parity", "--implementation", "algebra", *SQL, encoding=encoding)
    assert report.returncode == 0 and "every check holds" in report.stdout, report.stderr


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "there").mkdir()
    done = run("parity", "--json", str(tmp_path / "there"), "--implementation", "algebra", *SQL)
    assert done.returncode == 1 and "unwritable" in done.stderr
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_a_reader_that_stops_early_is_no_error():
    code = "from pyterrier_alg.cli import main; main()"
    command = f'{sys.executable} -c "{code}" run "E @ q1" --topic 1 --format run | head -1'
    root = Path(__file__).parents[1]
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=root, timeout=120)
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_version():
    assert run("--version").stdout.startswith("pyterrier-alg 0.")
