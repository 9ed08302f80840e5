"""Names and addresses of hosts, and mail addresses: the ``Mailbox`` of RFC 5321, optionally with RFC 6531's characters."""

from functools import cache

from guided.patterns.charset import Charset
from guided.patterns.parse import parse
from guided.patterns.tree import Chars, Intersect, Node, concat, repeat

__all__ = ["IPV6", "email", "hostname", "idn_email", "ipv4", "ipv6"]

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"

_GROUP = "[0-9A-Fa-f]{1,4}"
_LAST_TWO = f"(?:{_GROUP}:{_GROUP}|{_IPV4})"


def _ipv6() -> str:
    before = [f"(?:(?:{_GROUP}:){{0,{n}}}{_GROUP})?::" for n in range(7)]
    after = [f"(?:{_GROUP}:){{{n}}}{_LAST_TWO}" for n in range(5)]
    shapes = [f"(?:{_GROUP}:){{6}}{_LAST_TWO}", f"::(?:{_GROUP}:){{5}}{_LAST_TWO}"]
    shapes += [f"{before[n]}{after[4 - n]}" for n in range(5)]
    shapes += [f"{before[5]}{_GROUP}", before[6]]
    return f"(?:{'|'.join(shapes)})"


IPV6 = _ipv6()
# Letters, digits and inner hyphens, 63 characters at most (RFC 1123, 2.1).
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"

_ATOM = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_QUOTED = r"\x20\x21\x23-\x5b\x5d-\x7e"
_OTHER = r"\x80-\U0010ffff"
_LOCAL_LENGTH = 64


@cache
def hostname() -> Node:
    """A host name of RFC 1123, of at most 253 characters (`LENGTHS`).

    Excluded: labels that begin with ``xn--``, since whether they are Punycode of a valid label (RFC 5891) is not a regular property.
    """
    rest, end = "[A-Za-z0-9-]", "[A-Za-z0-9]"
    label = (
        f"(?:[A-WYZa-wyz0-9](?:{rest}{{0,61}}{end})?"
        f"|[Xx](?:[A-MO-Za-mo-z0-9](?:{rest}{{0,60}}{end})?|-{rest}{{0,60}}{end})?"
        f"|[Xx][Nn](?:{end}(?:{rest}{{0,59}}{end})?|-{end}(?:{rest}{{0,58}}{end})?)?)"
    )
    return parse(rf"{label}(?:\.{label})*")


@cache
def ipv4() -> Node:
    """Four decimal numbers without leading zeros (RFC 2673, 3.2)."""
    return parse(_IPV4)


@cache
def ipv6() -> Node:
    """An address of RFC 4291, 2.2, without a zone."""
    return parse(IPV6)


@cache
def email() -> Node:
    """``Mailbox`` of RFC 5321: a local part of at most 64 characters, dotted or quoted, and a domain name or an address in brackets."""
    return _mailbox(_ATOM, _QUOTED, _LABEL)


@cache
def idn_email() -> Node:
    """``Mailbox`` of RFC 6531: as ``email``, with characters beyond ASCII in local parts and labels.

    Lengths count characters, whereas RFC 6531 counts octets of UTF-8, and labels are not checked against RFC 5892.
    """
    end = f"[A-Za-z0-9{_OTHER}]"
    return _mailbox(_ATOM + _OTHER, _QUOTED + _OTHER, f"{end}(?:[A-Za-z0-9{_OTHER}-]{{0,61}}{end})?")


def _mailbox(atom: str, quoted: str, label: str) -> Node:
    local = parse(rf'[{atom}]+(?:\.[{atom}]+)*|"(?:[{quoted}]|\\[\x20-\x7e])*"')
    bounded = Intersect((local, repeat(Chars(Charset.UNIVERSE), 1, _LOCAL_LENGTH)))
    return concat([bounded, parse(rf"@(?:{label}(?:\.{label})*|\[(?:{_IPV4}|[Ii][Pp][Vv]6:{_mail_ipv6()})\])")])


def _mail_ipv6() -> str:
    """``IPv6-addr`` of RFC 5321, 4.1.3: ``::`` stands for at least two groups."""
    group = "[0-9A-Fa-f]{1,4}"
    groups = f"{group}(?::{group})"
    shapes = [f"{groups}{{7}}", f"{groups}{{5}}:{_IPV4}"]
    for before in range(7):
        left = f"{groups}{{{before - 1}}}" if before else ""
        after = 6 - before
        shapes.append(f"{left}::" + (f"(?:{groups}{{0,{after - 1}}})?" if after else ""))
    for before in range(5):
        left = f"{groups}{{{before - 1}}}" if before else ""
        after = 4 - before
        shapes.append(f"{left}::" + (f"(?:{groups}{{0,{after - 1}}}:)?" if after else "") + _IPV4)
    return f"(?:{'|'.join(shapes)})"
