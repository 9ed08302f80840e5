"""Resolution of URI references against a base by RFC 3986 section 5.2, for any scheme including ``urn:`` and ``tag:``."""

import re

__all__ = ["last_segment", "resolve_uri", "split_fragment"]

# RFC 3986, appendix B, without the fragment.
_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?", re.DOTALL)


def split_fragment(reference: str) -> tuple[str, str]:
    """Return a reference without its fragment, and the fragment (empty if there is none)."""
    uri, _, fragment = reference.partition("#")
    return uri, fragment


def resolve_uri(base: str, reference: str) -> str:
    """Resolve a reference without fragment against a base."""
    if not reference:
        return base
    scheme, authority, path, query = _split(reference)
    if scheme is not None:
        return reference
    base_scheme, base_authority, base_path, base_query = _split(base)
    if authority is None:
        authority = base_authority
        if not path:
            path, query = base_path, base_query if query is None else query
        elif not path.startswith("/"):
            folder = base_path[: base_path.rfind("/") + 1] or ("/" if base_authority is not None else "")
            path = folder + path
    path = _without_dots(path)
    return (
        (f"{base_scheme}:" if base_scheme is not None else "")
        + (f"//{authority}" if authority is not None else "")
        + path
        + (f"?{query}" if query is not None else "")
    )


def last_segment(reference: str) -> str | None:
    """Return the last segment of the path that a reference resolves to; None if its base gives that path."""
    _, authority, path, query = _split(split_fragment(reference)[0])
    if not path and authority is None and query is not None:
        return None
    segment = path.rpartition("/")[2]
    return "" if segment in (".", "..") else segment


def _split(uri: str) -> tuple[str | None, str | None, str, str | None]:
    found = _PARTS.match(uri)
    assert found is not None  # every part is optional
    scheme, authority, path, query = found.groups()
    return scheme, authority, path, query


def _without_dots(path: str) -> str:
    if "." not in path:
        return path
    segments = path.split("/")
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)
