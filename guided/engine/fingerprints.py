"""Fingerprints of specs, for index files and caches."""

import hashlib

__all__ = ["fingerprint_of"]


def fingerprint_of(kind: str, *parts: str | bytes) -> str:
    """Return the SHA-256 in hex of a kind and its parts, each prefixed with its length."""
    digest = hashlib.sha256()
    for part in (kind, *parts):
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()
