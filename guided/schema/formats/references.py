"""URIs and references (RFC 3986, appendix A), and IRIs (RFC 3987, 2.2), production by production."""

from functools import cache

from guided.patterns.tree import Node
from guided.schema.formats.hosts import IPV6
from guided.schema.formats.syntax import pattern

__all__ = ["PRIVATE", "UCSCHAR", "iri", "iri_reference", "uri", "uri_reference"]

_UNRESERVED, _SUB_DELIMS = r"A-Za-z0-9._~\-", "!$&'()*+,;="
_PERCENT = "%[0-9A-Fa-f]{2}"
# Characters beyond ASCII that are allowed anywhere in an IRI, and those allowed only in its query.
_PLANES = "".join(rf"\U000{plane:x}0000-\U000{plane:x}fffd" for plane in range(1, 15))
UCSCHAR = r"\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + _PLANES.replace(r"\U000e0000", r"\U000e1000")
PRIVATE = r"\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"


@cache
def uri() -> Node:
    """``URI`` of RFC 3986: with a scheme."""
    return pattern(_with_scheme("", ""))


@cache
def uri_reference() -> Node:
    """``URI-reference`` of RFC 3986: with or without a scheme."""
    return pattern(f"{_with_scheme('', '')}|{_relative('', '')}")


@cache
def iri() -> Node:
    """``IRI`` of RFC 3987: with a scheme."""
    return pattern(_with_scheme(UCSCHAR, PRIVATE))


@cache
def iri_reference() -> Node:
    """``IRI-reference`` of RFC 3987: with or without a scheme."""
    return pattern(f"{_with_scheme(UCSCHAR, PRIVATE)}|{_relative(UCSCHAR, PRIVATE)}")


def _with_scheme(other: str, private: str) -> str:
    path = _path(other, rf"{_segment(other)}+(?:/{_segment(other)}*)*")
    return f"[A-Za-z][A-Za-z0-9+.-]*:{path}{_tail(other, private)}"


def _relative(other: str, private: str) -> str:
    first = f"(?:[{_UNRESERVED}{other}{_SUB_DELIMS}@]|{_PERCENT})+"
    return _path(other, f"{first}(?:/{_segment(other)}*)*") + _tail(other, private)


def _path(other: str, rootless: str) -> str:
    """``hier-part`` or ``relative-part``: an authority with a path, or a path that does not look like an authority."""
    segment = _segment(other)
    return f"(?://{_authority(other)}(?:/{segment}*)*|/(?:{segment}+(?:/{segment}*)*)?|{rootless}|)"


def _authority(other: str) -> str:
    name = rf"{_UNRESERVED}{other}{_SUB_DELIMS}"
    future = rf"[Vv][0-9A-Fa-f]+\.[{_UNRESERVED}{_SUB_DELIMS}:]+"
    return rf"(?:(?:[{name}:]|{_PERCENT})*@)?(?:\[(?:{IPV6}|{future})\]|(?:[{name}]|{_PERCENT})*)(?::[0-9]*)?"


def _segment(other: str) -> str:
    """``pchar``."""
    return f"(?:[{_UNRESERVED}{other}{_SUB_DELIMS}:@]|{_PERCENT})"


def _tail(other: str, private: str) -> str:
    inside = rf"{_UNRESERVED}{other}{_SUB_DELIMS}:@/?"
    return rf"(?:\?(?:[{inside}{private}]|{_PERCENT})*)?(?:#(?:[{inside}]|{_PERCENT})*)?"
