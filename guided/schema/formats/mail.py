"""Mail addresses: the ``Mailbox`` of RFC 5321, optionally with RFC 6531's characters."""

from functools import cache

from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Intersect, Node, concat, repeat
from guided.schema.formats.hosts import IPV4, LABEL
from guided.schema.formats.syntax import pattern

__all__ = ["email", "idn_email"]

_ATOM = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_QUOTED = r"\x20\x21\x23-\x5b\x5d-\x7e"
_OTHER = r"\x80-\U0010ffff"
_LOCAL_LENGTH = 64


@cache
def email() -> Node:
    """``Mailbox`` of RFC 5321: a local part of at most 64 characters, dotted or quoted, and a domain name or an address in brackets."""
    return _mailbox(_ATOM, _QUOTED, LABEL)


@cache
def idn_email() -> Node:
    """``Mailbox`` of RFC 6531: as ``email``, with characters beyond ASCII in local parts and labels.

    Lengths count characters, whereas RFC 6531 counts octets of UTF-8, and labels are not checked against RFC 5892.
    """
    end = f"[A-Za-z0-9{_OTHER}]"
    return _mailbox(_ATOM + _OTHER, _QUOTED + _OTHER, f"{end}(?:[A-Za-z0-9{_OTHER}-]{{0,61}}{end})?")


def _mailbox(atom: str, quoted: str, label: str) -> Node:
    local = pattern(rf'[{atom}]+(?:\.[{atom}]+)*|"(?:[{quoted}]|\\[\x20-\x7e])*"')
    bounded = Intersect((local, repeat(Chars(Charset.UNIVERSE), 1, _LOCAL_LENGTH)))
    return concat([bounded, pattern(rf"@(?:{label}(?:\.{label})*|\[(?:{IPV4}|[Ii][Pp][Vv]6:{_ipv6()})\])")])


def _ipv6() -> str:
    """``IPv6-addr`` of RFC 5321, 4.1.3: ``::`` stands for at least two groups."""
    group = "[0-9A-Fa-f]{1,4}"
    groups = f"{group}(?::{group})"
    shapes = [f"{groups}{{7}}", f"{groups}{{5}}:{IPV4}"]
    for before in range(7):
        left = f"{groups}{{{before - 1}}}" if before else ""
        after = 6 - before
        shapes.append(f"{left}::" + (f"(?:{groups}{{0,{after - 1}}})?" if after else ""))
    for before in range(5):
        left = f"{groups}{{{before - 1}}}" if before else ""
        after = 4 - before
        shapes.append(f"{left}::" + (f"(?:{groups}{{0,{after - 1}}}:)?" if after else "") + IPV4)
    return f"(?:{'|'.join(shapes)})"
