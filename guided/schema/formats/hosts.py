"""Names and addresses of hosts."""

from functools import cache

from guided.patterns.tree import Node
from guided.schema.formats.syntax import pattern

__all__ = ["IPV4", "IPV6", "LABEL", "hostname", "ipv4", "ipv6"]

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"

_GROUP = "[0-9A-Fa-f]{1,4}"
_LAST_TWO = f"(?:{_GROUP}:{_GROUP}|{IPV4})"


def _ipv6() -> str:
    before = [f"(?:(?:{_GROUP}:){{0,{n}}}{_GROUP})?::" for n in range(7)]
    after = [f"(?:{_GROUP}:){{{n}}}{_LAST_TWO}" for n in range(5)]
    shapes = [f"(?:{_GROUP}:){{6}}{_LAST_TWO}", f"::(?:{_GROUP}:){{5}}{_LAST_TWO}"]
    shapes += [f"{before[n]}{after[4 - n]}" for n in range(5)]
    shapes += [f"{before[5]}{_GROUP}", before[6]]
    return f"(?:{'|'.join(shapes)})"


IPV6 = _ipv6()
# Letters, digits and inner hyphens, 63 characters at most (RFC 1123, 2.1).
LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"


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
    return pattern(rf"{label}(?:\.{label})*")


@cache
def ipv4() -> Node:
    """Four decimal numbers without leading zeros (RFC 2673, 3.2)."""
    return pattern(IPV4)


@cache
def ipv6() -> Node:
    """An address of RFC 4291, 2.2, without a zone."""
    return pattern(IPV6)
