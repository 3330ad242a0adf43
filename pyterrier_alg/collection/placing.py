"""Folders and files that become what they are named when they are whole: written aside, then renamed."""

from __future__ import annotations

import errno
import os
import re
import shutil
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyterrier_alg.algebra.errors import DataError
from pyterrier_alg.collection.files import writing

#: How the hidden names of what is being written end, and those of what has given way to it.
_BUILDING, _OLD = ".building", ".old"

#: What renaming says where the name is taken.
_OCCUPIED = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


@contextmanager
def new_folder(path: Path, *, replacing: bool = False) -> Iterator[Path]:
    """A folder to write in, which becomes `path` when the block ends, and vanishes when it fails.

    It stands beside `path`, hidden, under a name that ends in `.building`. A process that is killed leaves it there,
    and the next one that writes to the same path says so. Where `path` is a link, the folder that it names is meant.

    Args:
        path: the folder to be; its parents are made.
        replacing: whether a folder that is there gives way; it does so in the end, when the new one is whole. It is
            renamed first, and removed last, under the new one's hidden name with `.old` behind it. Of several that
            replace a folder at once the last one stays.

    Raises:
        DataError: `path_exists`, `unwritable`.
    """
    with writing(path):
        # Renaming a link would leave what it names where it is.
        place = Path(os.path.realpath(path)) if path.is_symlink() else path
        aside = place.parent / f"{_prefix(place)}{uuid.uuid4().hex}{_BUILDING}"
        if place.exists() and not replacing:
            raise _there_already(path)
        aside.mkdir(parents=True)
    try:
        _report_leftovers(place, aside)
        yield aside
        with writing(path):
            if replacing:
                _replace(place, aside)
            else:
                _put(aside, place, path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _there_already(path: Path) -> DataError:
    return DataError("path_exists", f"{path} exists already", "write to a new place, or remove it first")


def _put(aside: Path, place: Path, path: Path) -> None:
    try:
        os.rename(aside, place)
    except OSError as error:
        if error.errno in _OCCUPIED and place.exists():
            raise _there_already(path) from error
        raise


def _replace(place: Path, aside: Path) -> None:
    """Rename a folder to where another may stand; what stood there is removed."""
    old = aside.with_name(f"{aside.name}{_OLD}")
    while True:
        try:
            os.rename(place, old)
        except FileNotFoundError:
            # There was none, or another build has just taken it away.
            moved = False
        else:
            moved = True
        try:
            os.rename(aside, place)
        except OSError as error:
            if error.errno not in _OCCUPIED:
                if moved:
                    with suppress(OSError):
                        os.rename(old, place)
                raise
            # Another build has put its own there meanwhile: that one gives way instead.
            shutil.rmtree(old, ignore_errors=True)
        else:
            break
    shutil.rmtree(old, ignore_errors=True)


def new_name_beside(path: Path) -> Path:
    """A hidden name that nothing else has, for what becomes `path` when it is whole.

    Raises:
        ValueError: for a path without a name.
    """
    return path.with_name(f"{_prefix(path)}{uuid.uuid4().hex}{_BUILDING}")


def put_file(aside: Path, path: Path) -> None:
    """Give a file that is whole its name, which nothing may have: not even what came while it was written.

    Raises:
        DataError: `path_exists`.
        OSError: where it cannot be renamed.
    """
    try:
        # Renaming would replace what is there.
        os.link(aside, path)
    except FileExistsError as error:
        raise _there_already(path) from error
    except OSError:
        # Some file systems have no links.
        if path.exists():
            raise _there_already(path) from None
        os.rename(aside, path)
    else:
        aside.unlink()


def _prefix(path: Path) -> str:
    # Names of folders are bounded in bytes, and something follows.
    return f".{path.name[:40]}."


def _report_leftovers(path: Path, aside: Path) -> None:
    wanted = re.compile(f"{re.escape(_prefix(path))}[0-9a-f]{{32}}{re.escape(_BUILDING)}({re.escape(_OLD)})?")
    try:
        left = [other for other in path.parent.iterdir() if wanted.fullmatch(other.name) and other != aside]
    except OSError:
        # Who may write to a folder may not always list it.
        return
    old = [other for other in left if other.name.endswith(_OLD)]
    unfinished = [other for other in left if other not in old]
    if unfinished:
        names = ", ".join(sorted(map(str, unfinished)))
        message = f"unfinished beside {path}: {names}. Remove what no running build is writing to."
        warnings.warn(message, stacklevel=2)
    if old:
        names = ", ".join(sorted(map(str, old)))
        advice = "remove it" if path.exists() else f"nothing stands at {path} now: rename it to have it back"
        message = f"beside {path} is what stood there before an overwriting build was stopped: {names}; {advice}."
        warnings.warn(message, stacklevel=2)
