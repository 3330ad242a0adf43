"""Collections on disk: a folder with `pt_meta.json`, and files that it lists with their sizes and checksums.

==================  ====================================================================================================
`pt_meta.json`      type, format, version, the operands with what JSON holds of them, the files, and its own checksum
`docnos.json`       docnos in the order given; `order.npy` has their places by code point
`NNNN.rows.npy`     arrays of operand NNNN, little-endian: the rows of a matrix are float32 or float16
`NNNN.queries.json` texts of recorded retrievers and of operands by query
`columns.parquet`   text and date columns, where there are some
`texts.arrow`       texts that the indexer kept for `text_loader`, where there are some
==================  ====================================================================================================

A folder is written aside and renamed, so that what stands at a path is whole. What is checked when it is opened: the
checksum of `pt_meta.json`, the size of every file, the checksum of every file up to 64 MiB, and that positions ascend
and values fit. The checksums of larger files (matrices, texts) are compared by `verify`, since reading them takes time
and pushes other files out of memory; arrays are mapped, texts too.
"""

from __future__ import annotations

import json
from collections.abc import Collection as Sized
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pyterrier_alg.algebra.errors import BindingError, DataError
from pyterrier_alg.algebra.kinds import Space
from pyterrier_alg.collection.binding import check_operand_name
from pyterrier_alg.collection.files import (
    MEND,
    META,
    check_file,
    open_array,
    write_array,
    write_bytes,
)
from pyterrier_alg.collection.operands import ColumnOperand, Encoder
from pyterrier_alg.collection.parts import (
    LIVE,
    Parts,
    canonical,
    put_together,
    space_from_dict,
    space_to_dict,
    take_apart,
)
from pyterrier_alg.collection.per_query import Bound
from pyterrier_alg.collection.placing import new_folder
from pyterrier_alg.collection.records import Records, is_text
from pyterrier_alg.collection.stored_columns import COLUMNS, column_parts, field_names, read_columns, write_columns
from pyterrier_alg.collection.stored_records import DOCNOS, ORDER, read_records, write_records
from pyterrier_alg.collection.stored_texts import TEXTS, StoredTexts

FORMAT_VERSION = 1

#: What a damaged or invented folder makes its readers raise; Arrow's own errors are among these.
_WRONG = (ArithmeticError, AttributeError, LookupError, NotImplementedError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True)
class Content:
    """What a folder holds of a collection.

    Attributes:
        records: its records.
        operands: by name, in the order of binding.
        name: what people call it.
        query_space: where topics' vectors live, where that was said.
        texts: kept for `text_loader`; None where there are none.
    """

    records: Records
    operands: Mapping[str, Bound]
    name: str
    query_space: Space | None
    texts: StoredTexts | None = None

    def __post_init__(self) -> None:
        """Refuse a name that no file could hold.

        Raises:
            BindingError: `bad_name`.
        """
        if not is_text(self.name):
            raise BindingError("bad_name", f"a collection's name is a text, not {self.name!r}")


def write(path: Path, content: Content, identity: Mapping[str, str], leave_out: Sized[str]) -> Content:
    """Write a collection into a new folder.

    Args:
        path: where; nothing may be there yet.
        content: what to write.
        identity: type, format and package hint of the artifact.
        leave_out: operands that are not written.

    Returns:
        What was written; its texts are those of the new folder.

    Raises:
        BindingError: `live_retriever`, for one that is not left out.
        DataError: `path_exists`, `unwritable`, `missing_data`; `corrupted_data`, where texts are not those that were
            stored.
    """
    kept = replace(content, operands={n: o for n, o in content.operands.items() if n not in leave_out})
    refuse_live(kept.operands)
    with new_folder(path) as aside:
        written = {}
        if content.texts is not None:
            written[TEXTS] = content.texts.copied(aside)
        write_content(aside, kept, identity, written)
    return replace(kept, texts=content.texts and content.texts.moved(path))


def refuse_live(operands: Mapping[str, Bound]) -> None:
    """Refuse retrievers that no file can hold.

    Raises:
        BindingError: `live_retriever`.
    """
    live = [name for name, operand in operands.items() if take_apart(operand).header["sort"] == LIVE]
    if live:
        raise BindingError(
            "live_retriever",
            f"{', '.join(live)}: a live retriever cannot be saved, only recorded results and counts can",
            f"save(path, leave_out={live}), and bind it again after loading",
        )


def write_content(
    folder: Path, content: Content, identity: Mapping[str, str], written: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write everything but the texts, `pt_meta.json` last, so that an unfinished folder describes nothing.

    Args:
        folder: where.
        content: what; texts must have been written.
        identity: type, format and package hint.
        written: facts of files that are there already, by name: `texts.arrow`, or arrays of operands under the names
            that they would get.
    """
    files: dict[str, Mapping[str, Any]] = {**written, **write_records(folder, content.records)}
    columns = {name: operand for name, operand in content.operands.items() if isinstance(operand, ColumnOperand)}
    fields = field_names(columns)
    if columns:
        files |= write_columns(folder, content.records, columns)
    entries = []
    for number, (name, operand) in enumerate(content.operands.items()):
        part = take_apart(operand)
        entry: dict[str, Any] = {"name": name, "header": dict(part.header)}
        if name in columns:
            entry["column"] = fields[name]
        else:
            # Operands' names are any text; files are numbered.
            entry["arrays"] = {key: array_name(number, key) for key in part.arrays}
            entry["texts"] = {key: f"{number:04}.{key}.json" for key in part.texts}
            for key, file in entry["arrays"].items():
                if file not in files:
                    files[file] = write_array(folder / file, part.arrays[key])
            for key, file in entry["texts"].items():
                files[file] = write_bytes(folder / file, canonical(part.texts[key]))
        entries.append(entry)
    meta = {
        **identity,
        "format_version": FORMAT_VERSION,
        "name": content.name,
        "records": len(content.records),
        "query_space": space_to_dict(content.query_space) if content.query_space else None,
        "texts": list(content.texts.fields) if content.texts else None,
        "operands": entries,
        "files": dict(sorted(files.items())),
    }
    meta["sha256"] = sha256(canonical(meta)).hexdigest()
    write_bytes(folder / META, (json.dumps(meta, indent=1) + "\n").encode("ascii"))


def array_name(number: int, key: str) -> str:
    """The file of an operand's array."""
    return f"{number:04}.{key}.npy"


def read(
    path: Path, identity: Mapping[str, str], encoders: Mapping[str, Encoder], *, thorough: bool = False
) -> Content:
    """Open what `write` wrote, and check it.

    Args:
        path: the folder.
        identity: type and format that it must have.
        encoders: by identity, for matrices whose encoder is not stored.
        thorough: compare the checksums of large files too.

    Raises:
        DataError: `missing_data`, `corrupted_data`, `not_a_collection`, `unknown_version`, naming the file.
        BindingError: `encoder`, where an encoder given has another identity.
    """
    meta = _read_meta(path, identity)
    place = META
    try:
        for name, facts in meta["files"].items():
            check_file(path / name, facts, thorough=thorough)
        listed = _Listed(path, meta["files"])
        place = DOCNOS
        records = read_records(listed.text(DOCNOS), open_array(listed.path(ORDER)))
        place = COLUMNS
        table = read_columns(listed.path(COLUMNS)) if COLUMNS in meta["files"] else None
        operands: dict[str, Bound] = {}
        for entry in meta["operands"]:
            place = f"{META}, operand {entry['name']!r}"
            check_operand_name(entry["name"])
            if "column" in entry:
                parts = column_parts(entry["header"], table, entry["column"], records)
            else:
                arrays = {key: open_array(listed.path(file)) for key, file in entry["arrays"].items()}
                texts = {key: listed.text(file) for key, file in entry["texts"].items()}
                parts = Parts(entry["header"], arrays, texts)
            operands[entry["name"]] = put_together(parts, records.docnos, encoders)
        place = META
        space = space_from_dict(meta["query_space"]) if meta["query_space"] else None
        _refuse_second_spaces([space, *(operand.binding.type.space for operand in operands.values())])
        content = Content(records, operands, meta["name"], space, _texts(meta, listed))
    except BindingError as error:
        if error.code == "encoder":
            raise
        raise DataError("corrupted_data", f"{path / place} holds no collection: {error.message}", MEND) from error
    except (*_WRONG, OSError) as error:
        raise DataError("corrupted_data", f"{path / place} holds no collection: {error!r}", MEND) from error
    if _read_meta(path, identity) != meta:
        raise DataError("corrupted_data", f"{path} was replaced while it was being opened", "open it again")
    return content


def verify(path: Path, identity: Mapping[str, str]) -> None:
    """Read every file of a folder once, and compare it with its checksum.

    Args:
        path: the folder.
        identity: type and format that it must have.

    Raises:
        DataError: `missing_data`, `corrupted_data`, `not_a_collection`, `unknown_version`, naming the file.
    """
    for name, facts in _read_meta(path, identity)["files"].items():
        check_file(path / name, facts, thorough=True)


def is_collection(path: Path, identity: Mapping[str, str]) -> bool:
    """Whether a whole collection of this format stands at a path; only its `pt_meta.json` is read."""
    try:
        _read_meta(path, identity)
    except (DataError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class _Listed:
    """The files that the metadata list; no other one is opened."""

    folder: Path
    names: Sized[str]

    def path(self, name: str) -> Path:
        if name not in self.names:
            raise LookupError(f"{name} is not listed among the files")
        return self.folder / name

    def text(self, name: str) -> Any:
        path = self.path(name)
        try:
            return json.loads(path.read_bytes())
        except ValueError as error:
            raise DataError("corrupted_data", f"{path} cannot be read: {error}", MEND) from error


def _refuse_second_spaces(spaces: Iterable[Space | None]) -> None:
    """Refuse two spaces of one name, which binding refuses."""
    known: dict[str, Space] = {}
    for space in spaces:
        if space is not None and known.setdefault(space.name, space) != space:
            raise ValueError(f"two spaces are called {space.name!r}")


def _texts(meta: Mapping[str, Any], listed: _Listed) -> StoredTexts | None:
    if meta["texts"] is None:
        return None
    return StoredTexts(listed.path(TEXTS), tuple(meta["texts"]), meta["files"][TEXTS]["sha256"]).opened()


def _read_meta(path: Path, identity: Mapping[str, str]) -> dict[str, Any]:
    file = path / META
    try:
        meta = json.loads(file.read_bytes())
    except OSError as error:
        raise DataError("missing_data", f"cannot read {file}: {error.strerror or error}", MEND) from error
    except (RecursionError, ValueError) as error:
        raise DataError("corrupted_data", f"{file} is no JSON: {error}", MEND) from error
    if not isinstance(meta, dict) or any(meta.get(key) != value for key, value in identity.items()):
        wanted = " ".join(identity.values())
        raise DataError("not_a_collection", f"{file} does not describe a {wanted}")
    version = meta.get("format_version")
    if version != FORMAT_VERSION:
        message = f"{file} has format version {version!r}, this package reads {FORMAT_VERSION}"
        raise DataError("unknown_version", message, "pip install --upgrade pyterrier-alg")
    said = meta.pop("sha256", None)
    if sha256(canonical(meta)).hexdigest() != said:
        raise DataError("corrupted_data", f"{file} is not what was written: its checksum differs", MEND)
    if not isinstance(meta.get("files"), dict):
        raise DataError("corrupted_data", f"{file} lists no files", MEND)
    outside = [name for name in meta["files"] if Path(name).name != name]
    if outside:
        # A checksum tells who damaged nothing, not who means well.
        raise DataError("corrupted_data", f"{file} names a file outside its folder: {outside[0]}", MEND)
    return meta
