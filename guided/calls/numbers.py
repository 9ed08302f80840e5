"""Integers within bounds, as pattern trees over their decimal digits.

Integers have canonical spellings: no leading zeros, no ``+``, no ``-0``. `integers` is exact: the tree matches a spelling if and only if
its value is within the bounds, which may have any number of digits.

The method compares digits: a number of n digits is at least ``d1 d2 .. dn`` if it shares a prefix and then has a larger digit, or is equal;
a number with more digits is larger. A bound of n digits gives O(n) nodes.

`multiples` supports divisors whose remainders depend only on the last digits, or on the sum of digits modulo 3, and enumerates small
ranges. Multiples of other divisors are regular too, but their trees are exponential in the divisor; they are not supported.
"""

from decimal import Decimal

from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Literal, Node, Repeat, alternate, concat, optional, repeat

__all__ = ["DIGIT", "ENUMERATED", "digit_range", "digits_of", "integers", "multiples"]

# Maximum number of multiples, or of last digits, that are enumerated.
ENUMERATED = 10_000
_EMPTY = Literal("")
_NOTHING = Chars(Charset.EMPTY)


def digit_range(low: int, high: int) -> Node:
    """One digit from ``low`` to ``high``; the empty language if there is none."""
    return Chars(Charset.of([(48 + low, 48 + high)] if low <= high else []))


DIGIT = digit_range(0, 9)
_NONZERO = digit_range(1, 9)


def integers(low: int | None = None, high: int | None = None) -> Node:
    """The integers from ``low`` to ``high``, inclusive; None means no bound.

    Examples
    --------
    ``integers(-1, 11)`` matches ``-1``, ``0``, ``1``, ..., ``11`` and nothing else.
    """
    items: list[Node] = []
    if high is None or high > 0:
        items.append(_positive(1 if low is None else max(low, 1), high))
    if (low is None or low <= 0) and (high is None or high >= 0):
        items.append(Literal("0"))
    if low is None or low < 0:
        least = 1 if high is None else max(-high, 1)
        items.append(concat([Literal("-"), _positive(least, None if low is None else -low)]))
    return alternate(items)


def digits_of(number: int) -> tuple[int, ...]:
    """Digits of a number >= 0, most significant first; of any length, unlike ``str``."""
    return Decimal(number).as_tuple().digits


def _positive(low: int, high: int | None) -> Node:
    """The integers from ``low`` >= 1 to ``high``."""
    if high is not None and low > high:
        return _NOTHING
    least = digits_of(low)
    if high is None:
        return alternate([_at_least(least), concat([_NONZERO, Repeat(DIGIT, len(least), None)])])
    most = digits_of(high)
    if len(least) == len(most):
        return _between(least, most)
    items = [_at_least(least), _at_most(most, first=1)]
    if len(most) - len(least) > 1:
        items.append(concat([_NONZERO, Repeat(DIGIT, len(least), len(most) - 2)]))
    return alternate(items)


def _any(count: int) -> Node:
    return Repeat(DIGIT, count, count) if count else _EMPTY


def _at_least(digits: tuple[int, ...]) -> Node:
    """Digit strings of the same length that are at least ``digits``."""
    node: Node = _EMPTY
    for place in reversed(range(len(digits))):
        larger = concat([digit_range(digits[place] + 1, 9), _any(len(digits) - place - 1)])
        node = alternate([larger, concat([digit_range(digits[place], digits[place]), node])])
    return node


def _at_most(digits: tuple[int, ...], first: int = 0) -> Node:
    """Digit strings of the same length that are at most ``digits`` and begin with at least ``first``."""
    node: Node = _EMPTY
    for place in reversed(range(len(digits))):
        smaller = concat([digit_range(0 if place else first, digits[place] - 1), _any(len(digits) - place - 1)])
        node = alternate([smaller, concat([digit_range(digits[place], digits[place]), node])])
    return node


def _between(least: tuple[int, ...], most: tuple[int, ...]) -> Node:
    """Digit strings of the same length from ``least`` to ``most``."""
    same = 0
    while same < len(least) and least[same] == most[same]:
        same += 1
    prefix = Literal("".join(map(str, least[:same])))
    if same == len(least):
        return prefix
    items = [
        concat([digit_range(least[same], least[same]), _at_least(least[same + 1 :])]),
        concat([digit_range(least[same] + 1, most[same] - 1), _any(len(least) - same - 1)]),
        concat([digit_range(most[same], most[same]), _at_most(most[same + 1 :])]),
    ]
    return concat([prefix, alternate(items)])


def multiples(divisor: int, low: int | None = None, high: int | None = None) -> Node | None:
    """The multiples of ``divisor`` >= 1 from ``low`` to ``high``; None if they are not supported."""
    if low is not None and high is not None:
        first, last = -(-low // divisor), high // divisor
        if last - first < ENUMERATED:
            return alternate(integers(n * divisor, n * divisor) for n in range(first, last + 1))
    unbounded = _multiples(divisor)
    if unbounded is None or (low is None and high is None):
        return unbounded
    return unbounded & integers(low, high)


def _multiples(divisor: int) -> Node | None:
    """All multiples: of 3 by the sum of digits, of a divisor of a power of ten by the last digits."""
    rest, by_three = (divisor, False) if divisor % 3 else (divisor // 3, True)
    places = 0
    while 10**places % rest:
        places += 1
        # Why 14: 2**13 already has more last digits than may be enumerated.
        if places > 14 or 10**places // rest > ENUMERATED:
            return None
    tails = [n * rest for n in range(10**places // rest)]
    short = [Literal(str(n)) for n in tails if n]
    long = concat([_NONZERO, repeat(DIGIT), alternate(Literal(str(n).zfill(places)) for n in tails)])
    magnitude = alternate([*short, long]) if places else concat([_NONZERO, repeat(DIGIT)])
    if by_three:
        magnitude = magnitude & _thirds()
    return alternate([Literal("0"), concat([optional(Literal("-")), magnitude])])


def _thirds() -> Node:
    """Digit strings whose digit sum is a multiple of 3, from the three-state automaton of remainders."""
    zero, one, two = (Chars(Charset.of([(48 + d, 48 + d) for d in range(r, 10, 3)])) for r in range(3))
    stay = repeat(zero)
    # From remainder 1 back to 0: by a 2, or through remainder 2; from 2 likewise with ones and twos exchanged.
    from_one = concat([one, stay, repeat(concat([one, stay, two, stay])), alternate([two, concat([one, stay, one])])])
    from_two = concat([two, stay, repeat(concat([two, stay, one, stay])), alternate([one, concat([two, stay, two])])])
    return repeat(alternate([zero, from_one, from_two]))
