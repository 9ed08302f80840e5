"""Fingerprints of specs, for index files and caches."""

import hashlib

__all__ = ["fingerprint_of"]


def fingerprint_of(kind: str, *parts: str | bytes) -> str:
    """Return the SHA-256 in hex of a kind and its parts, each prefixed with its length."""
    encoded = [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in (kind, *parts)]
    return hashlib.sha256(b"".join([b"%d:%b" % (len(data), data) for data in encoded])).hexdigest()
