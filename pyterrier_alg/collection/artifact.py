"""Collections on disk: a folder with `pt_meta.json`, texts as JSON, arrays as .npy, each file with its checksum.

Written aside and renamed, verified as it is opened, matrices mapped into memory and read-only.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Collection as Sized
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import BindingError, DataError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.binding import check_operand_name
from pyterrier_alg.collection.operands import Encoder
from pyterrier_alg.collection.parts import (
    LIVE,
    Parts,
    canonical,
    put_together,
    space_from_dict,
    space_to_dict,
    stored,
    take_apart,
)
from pyterrier_alg.collection.per_query import Bound
from pyterrier_alg.collection.records import Records, frozen

META = "pt_meta.json"
DOCNOS = "docnos.json"
FORMAT_VERSION = 1

_MEND = "save the collection again, or copy the folder again"


@dataclass(frozen=True)
class Content:
    """What a folder holds of a collection."""

    records: Records
    operands: Mapping[str, Bound]
    name: str
    query_space: Space | None


def write(path: Path, content: Content, identity: Mapping[str, str], leave_out: Sized[str]) -> None:
    """Write a collection into a new folder.

    Args:
        path: where; nothing may be there yet.
        content: what to write.
        identity: type, format and package hint of the artifact.
        leave_out: operands that are not written.

    Raises:
        BindingError: `live_retriever`, for one that is not left out.
        DataError: `path_exists`, `unwritable`.
    """
    parts = {name: take_apart(operand) for name, operand in content.operands.items() if name not in leave_out}
    live = [name for name, part in parts.items() if part.header["sort"] == LIVE]
    if live:
        raise BindingError(
            "live_retriever",
            f"{', '.join(live)}: a live retriever cannot be saved, only recorded results can",
            f"save(path, leave_out={live}), and bind it again after loading",
        )
    aside = path.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        if path.exists():
            raise DataError("path_exists", f"{path} exists already", "save to a new folder, or remove it first")
        aside.mkdir(parents=True)
        _write_files(aside, content, parts, identity)
        aside.rename(path)
    except (OSError, ValueError) as error:
        # A path with a null character is a ValueError.
        raise DataError("unwritable", f"{path} cannot be written: {getattr(error, 'strerror', 0) or error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def read(path: Path, identity: Mapping[str, str], encoders: Mapping[str, Encoder]) -> Content:
    """Open what `write` wrote, and verify it.

    Args:
        path: the folder.
        identity: type and format that it must have.
        encoders: by identity, for matrices whose encoder is not stored.

    Raises:
        DataError: `missing_data`, `corrupted_data`, `not_a_collection`, `unknown_version`, naming the file.
        BindingError: `encoder`, where an encoder given has another identity.
    """
    meta = _read_meta(path, identity)
    place = META
    try:
        files: dict[str, Any] = {name: _read_file(path / name, facts) for name, facts in meta["files"].items()}
        records = Records(files[DOCNOS])
        operands: dict[str, Bound] = {}
        for entry in meta["operands"]:
            place = f"{META}, operand {entry['name']!r}"
            arrays = {name: files[file] for name, file in entry["arrays"].items()}
            texts = {name: files[file] for name, file in entry["texts"].items()}
            check_operand_name(entry["name"])
            operands[entry["name"]] = put_together(Parts(entry["header"], arrays, texts), records.docnos, encoders)
        space = space_from_dict(meta["query_space"]) if meta["query_space"] else None
        return Content(records, operands, meta["name"], space)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DataError("corrupted_data", f"{path / place} holds no collection: {error!r}", _MEND) from error
    except BindingError as error:
        if error.code == "encoder":
            raise
        raise DataError("corrupted_data", f"{path / place} holds no collection: {error.message}", _MEND) from error


def _write_files(folder: Path, content: Content, parts: Mapping[str, Parts], identity: Mapping[str, str]) -> None:
    (folder / DOCNOS).write_bytes(canonical(content.records.given.tolist()))
    files, entries = [DOCNOS], []
    for number, (name, part) in enumerate(parts.items()):
        # Operands' names are any text; files are numbered.
        arrays = {key: f"{number:04}.{key}.npy" for key in part.arrays}
        texts = {key: f"{number:04}.{key}.json" for key in part.texts}
        for key, file in arrays.items():
            with (folder / file).open("wb") as out:
                np.save(out, stored(part.arrays[key]), allow_pickle=False)
        for key, file in texts.items():
            (folder / file).write_bytes(canonical(part.texts[key]))
        entries.append({"name": name, "header": dict(part.header), "arrays": arrays, "texts": texts})
        files += [*arrays.values(), *texts.values()]
    meta = {
        **identity,
        "format_version": FORMAT_VERSION,
        "name": content.name,
        "records": len(content.records),
        "query_space": space_to_dict(content.query_space) if content.query_space else None,
        "operands": entries,
        "files": {name: _facts(folder / name) for name in files},
    }
    meta["sha256"] = sha256(canonical(meta)).hexdigest()
    (folder / META).write_text(json.dumps(meta, indent=1) + "\n", encoding="ascii")


def _facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": file_digest(file, "sha256").hexdigest()}


def _read_meta(path: Path, identity: Mapping[str, str]) -> dict[str, Any]:
    file = path / META
    try:
        meta = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError("missing_data", f"cannot read {file}: {error.strerror or error}", _MEND) from error
    except (RecursionError, ValueError) as error:
        raise DataError("corrupted_data", f"{file} is no JSON: {error}", _MEND) from error
    if not isinstance(meta, dict) or any(meta.get(key) != value for key, value in identity.items()):
        wanted = " ".join(identity.values())
        raise DataError("not_a_collection", f"{file} does not describe a {wanted}")
    version = meta.get("format_version")
    if version != FORMAT_VERSION:
        message = f"{file} has format version {version!r}, this package reads {FORMAT_VERSION}"
        raise DataError("unknown_version", message, "pip install --upgrade pyterrier-alg")
    stated = meta.pop("sha256", None)
    if sha256(canonical(meta)).hexdigest() != stated:
        raise DataError("corrupted_data", f"{file} is not what was written: its checksum differs", _MEND)
    if not isinstance(meta.get("files"), dict):
        raise DataError("corrupted_data", f"{file} lists no files", _MEND)
    outside = [name for name in meta["files"] if Path(name).name != name]
    if outside:
        # A checksum tells who damaged nothing, not who means well.
        raise DataError("corrupted_data", f"{file} names a file outside its folder: {outside[0]}", _MEND)
    return meta


def _read_file(path: Path, facts: Mapping[str, Any]) -> npt.NDArray[Any] | list[str]:
    """A verified file: a read-only array, or a list of texts."""
    try:
        found = _facts(path)
        if found != dict(facts):
            size = f"{found['size']:,} bytes instead of {facts['size']:,}" if found["size"] != facts["size"] else ""
            raise DataError(
                "corrupted_data", f"{path} is not what was written: {size or 'its checksum differs'}", _MEND
            )
        if path.suffix == ".json":
            values: list[str] = json.loads(path.read_bytes())
            return values
        return _array(path)
    except OSError as error:
        raise DataError("missing_data", f"cannot read {path}: {error.strerror or error}", _MEND) from error
    except ValueError as error:
        raise DataError("corrupted_data", f"{path} cannot be read: {error}", _MEND) from error


def _array(path: Path) -> npt.NDArray[Any]:
    # An array without elements cannot be mapped.
    with suppress(ValueError):
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        # A plain array over the same memory: arithmetic on the mapping's own class gives mappings that are none.
        return frozen(np.asarray(mapped).astype(mapped.dtype.newbyteorder("="), copy=False))
    return frozen(np.load(path, allow_pickle=False))
