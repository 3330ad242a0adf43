"""Files of an artifact: written aside, with their checksums, and checked as they are opened."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import file_digest, sha256
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from pyterrier_alg.algebra.errors import DataError
from pyterrier_alg.collection.records import frozen

#: The file that describes a folder.
META = "pt_meta.json"

#: Files up to this size, in bytes, are read and compared with their checksums whenever a collection is opened.
CHECKED = 1 << 26

#: What messages advise where a folder is damaged.
MEND = "save the collection again, or copy the folder again"

#: How arrays are stored, on every machine: little-endian float16, float32, float64 and int64.
_STORED = {"f2": "<f2", "f4": "<f4", "f8": "<f8", "i8": "<i8"}

# Arrays are written, and large files read, in blocks of about this many bytes.
_BLOCK = 1 << 22


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file that cannot be written.

    Raises:
        DataError: `unwritable`.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        # A path with a null character is a ValueError.
        raise DataError("unwritable", f"{path} cannot be written: {getattr(error, 'strerror', 0) or error}") from error


class Hashed(io.RawIOBase):
    """A new file, whose size and SHA-256 are known when it is closed, without reading it again."""

    def __init__(self, path: Path) -> None:
        """Create it; it must not be there."""
        super().__init__()
        self._path = path
        with writing(path):
            self._file = path.open("xb")
        self._digest = sha256()
        self._size = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any, /) -> int:
        """Append bytes, or the bytes of a contiguous array."""
        view = memoryview(data).cast("B")
        with writing(self._path):
            self._file.write(view)
        self._digest.update(view)
        self._size += len(view)
        return len(view)

    def tell(self) -> int:
        """How many bytes it has."""
        return self._size

    def close(self) -> None:
        """Finish the file."""
        super().close()
        with writing(self._path):
            self._file.close()

    @property
    def facts(self) -> dict[str, Any]:
        """Its size in bytes and its checksum, as `pt_meta.json` lists them."""
        return {"size": self._size, "sha256": self._digest.hexdigest()}

    def __enter__(self) -> Hashed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def stored(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as it is written: contiguous, little-endian; not copied where it is so already."""
    return np.ascontiguousarray(array, dtype=_STORED[array.dtype.str[1:]])


def array_header(out: Hashed, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
    """Begin a .npy file; the elements follow, row by row, as `stored` has them."""
    descr = _STORED[np.dtype(dtype).str[1:]]
    np.lib.format.write_array_header_1_0(out, {"descr": descr, "fortran_order": False, "shape": shape})


def write_array(path: Path, array: npt.NDArray[Any]) -> dict[str, Any]:
    """Write a .npy file, a block at a time; its facts."""
    with Hashed(path) as out:
        array_header(out, array.shape, array.dtype)
        for block in row_blocks(len(array), array.nbytes // max(1, len(array))):
            if array[block].size:
                out.write(stored(array[block]).reshape(-1))
    return out.facts


def write_bytes(path: Path, data: bytes) -> dict[str, Any]:
    """Write a file; its facts."""
    with Hashed(path) as out:
        out.write(data)
    return out.facts


def allocate(path: Path, size: int) -> None:
    """A new file of so many zero bytes, all of which have their room on the disk.

    A file that is only declared so long has none: to write to a mapping of it on a full disk kills the process.

    Raises:
        DataError: `unwritable`; nothing is left of the file then, unless it was there before.
    """
    with writing(path):
        file = path.open("xb")
    try:
        with writing(path), file:
            if size and not _reserved(file.fileno(), size):
                zeros = bytes(_BLOCK)
                for start in range(0, size, _BLOCK):
                    file.write(zeros[: size - start])
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _reserved(file: int, size: int) -> bool:
    """Whether the system has given an open file its room without writing it."""
    if not hasattr(os, "posix_fallocate"):
        return False
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
        return False
    return True


def row_blocks(rows: int, width: int) -> Iterator[slice]:
    """Slices that cover so many rows of `width` bytes each, a few megabytes at a time."""
    step = max(1, _BLOCK // max(1, width))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def facts_of(path: Path) -> dict[str, Any]:
    """The size and the checksum of a file that is there, which is read for it."""
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": file_digest(file, "sha256").hexdigest()}


def check_file(path: Path, facts: Mapping[str, Any], *, thorough: bool) -> None:
    """Compare a file with what is known of it: always the size, and the checksum of small ones.

    Args:
        path: the file.
        facts: its size and checksum.
        thorough: whether the checksum of a file of more than `CHECKED` bytes is compared too.

    Raises:
        DataError: `missing_data`, `corrupted_data`.
    """
    try:
        size = path.stat().st_size
        if size != facts["size"]:
            detail = f"{size:,} bytes instead of {facts['size']:,}"
        elif (thorough or size <= CHECKED) and facts_of(path) != dict(facts):
            detail = "its checksum differs"
        else:
            return
    except OSError as error:
        raise DataError("missing_data", f"cannot read {path}: {error.strerror or error}", MEND) from error
    raise DataError("corrupted_data", f"{path} is not what was written: {detail}", MEND)


def listed_checksum(path: Path) -> str:
    """What the metadata of its folder say that a file's checksum is.

    A folder is renamed whole, so that this tells whose files stand there, without reading them.

    Raises:
        DataError: `missing_data`, `corrupted_data`.
    """
    meta = path.with_name(META)
    try:
        return str(json.loads(meta.read_bytes())["files"][path.name]["sha256"])
    except OSError as error:
        raise DataError("missing_data", f"cannot read {meta}: {error.strerror or error}", MEND) from error
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        raise DataError("corrupted_data", f"{meta} does not list {path.name}: {error!r}", MEND) from error


def open_array(path: Path) -> npt.NDArray[Any]:
    """A .npy file mapped into memory, read-only.

    Raises:
        DataError: `missing_data`, `corrupted_data`.
    """
    try:
        # An array without elements cannot be mapped.
        with suppress(ValueError):
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
            # A plain array over the same memory: arithmetic on the mapping's own class gives mappings that are none.
            return frozen(np.asarray(mapped).astype(mapped.dtype.newbyteorder("="), copy=False))
        return frozen(np.load(path, allow_pickle=False))
    except OSError as error:
        raise DataError("missing_data", f"cannot read {path}: {error.strerror or error}", MEND) from error
    except ValueError as error:
        raise DataError("corrupted_data", f"{path} cannot be read: {error}", MEND) from error
