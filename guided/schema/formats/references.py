"""References to things: URIs, IRIs, URI templates, JSON Pointers and UUIDs.

URIs and references (RFC 3986, appendix A) and IRIs (RFC 3987, 2.2) are written production by production.
"""

from functools import cache

from guided.patterns.parse import parse
from guided.patterns.tree import Node
from guided.schema.formats.hosts import IPV6

__all__ = [
    "iri",
    "iri_reference",
    "json_pointer",
    "relative_json_pointer",
    "uri",
    "uri_reference",
    "uri_template",
    "uuid",
]

_UNRESERVED, _SUB_DELIMS = r"A-Za-z0-9._~\-", "!$&'()*+,;="
_PERCENT = "%[0-9A-Fa-f]{2}"
# Characters beyond ASCII that are allowed anywhere in an IRI, and those allowed only in its query.
_PLANES = "".join(rf"\U000{plane:x}0000-\U000{plane:x}fffd" for plane in range(1, 15))
_UCSCHAR = r"\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + _PLANES.replace(r"\U000e0000", r"\U000e1000")
_PRIVATE = r"\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
# With the apostrophe of erratum 6937.
_LITERAL = rf"[\x21\x23\x24\x26-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e{_UCSCHAR}{_PRIVATE}]"
_POINTER = "(?:/(?:[^/~]|~[01])*)*"


@cache
def uri() -> Node:
    """``URI`` of RFC 3986: with a scheme."""
    return parse(_with_scheme("", ""))


@cache
def uri_reference() -> Node:
    """``URI-reference`` of RFC 3986: with or without a scheme."""
    return parse(f"{_with_scheme('', '')}|{_relative('', '')}")


@cache
def iri() -> Node:
    """``IRI`` of RFC 3987: with a scheme."""
    return parse(_with_scheme(_UCSCHAR, _PRIVATE))


@cache
def iri_reference() -> Node:
    """``IRI-reference`` of RFC 3987: with or without a scheme."""
    return parse(f"{_with_scheme(_UCSCHAR, _PRIVATE)}|{_relative(_UCSCHAR, _PRIVATE)}")


@cache
def uri_template() -> Node:
    """A template of RFC 6570 of any level, including the operators reserved for extensions."""
    character = f"(?:[A-Za-z0-9_]|{_PERCENT})"
    variable = rf"{character}(?:\.?{character})*(?::[1-9][0-9]{{0,3}}|\*)?"
    expression = rf"\{{[+#./;?&=,!@|]?{variable}(?:,{variable})*\}}"
    return parse(f"(?:{_LITERAL}|{_PERCENT}|{expression})*")


@cache
def json_pointer() -> Node:
    """A JSON Pointer in its string form (RFC 6901)."""
    return parse(_POINTER)


@cache
def relative_json_pointer() -> Node:
    """A relative JSON Pointer (draft-bhutton-relative-json-pointer-00), with its steps between items: ``0-1/a``."""
    return parse(f"(?:0|[1-9][0-9]*)(?:[+-][1-9][0-9]*)?(?:#|{_POINTER})")


@cache
def uuid() -> Node:
    """RFC 4122: hexadecimal digits of either case in groups of 8, 4, 4, 4 and 12; any version and variant."""
    return parse("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


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
