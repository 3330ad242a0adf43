"""Names that databases take: an operand may be called anything, a table may not."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Longer ones are cut; no database of ours has a smaller limit.
LONGEST = 60


class Names:
    """Gives each thing a name that nothing else has, in databases that do not tell `E` from `e`.

    No name has a question mark: a table's optional alias is its name with one.

    Example:
        >>> names = Names()
        >>> names.take("E"), names.take("e"), names.take("sqlite_master")
        ('E', 'e_2', 'operand_sqlite_master')
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Begin with the names that are in use already."""
        self._taken = {name.casefold() for name in taken}

    def take(self, wanted: str) -> str:
        """The wanted name, changed only where it must be, and taken from now on."""
        name = (
            "".join("_" if ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 or c == "?" else c for c in wanted)[:LONGEST]
            or "operand"
        )
        if name.casefold().startswith("sqlite_"):
            name = f"operand_{name}"
        unique, number = name, 1
        while unique.casefold() in self._taken:
            number += 1
            unique = f"{name}_{number}"
        self._taken.add(unique.casefold())
        return unique

    def give_back(self, name: str) -> None:
        """Let a name be taken again."""
        self._taken.discard(name.casefold())

    def __contains__(self, name: str) -> bool:
        """Whether a name is taken."""
        return name.casefold() in self._taken


def parameter_name(wanted: str) -> str:
    """A name as parameters may have it: letters, digits and underscores, a letter first.

    Example:
        >>> parameter_name('m"; DROP TABLE docs;--')
        'm_DROP_TABLE_docs'
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", wanted).strip("_")[:LONGEST]
    return name if name[:1].isalpha() else f"p_{name}".rstrip("_")
