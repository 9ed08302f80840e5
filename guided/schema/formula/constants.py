"""Constants of large enumerations: interned values, and interned sets of them.

A formula of thousands of objects or arrays, one alternative each, costs a derivative per alternative and member. A set of constants needs
none: reading a member splits the set by the member's value (`guided.schema.containers.listed`). In formulas a set is one atom,
``("constants", set)``, which is expanded to a disjunction only where it meets other conditions on the same value.

Values are equal as in JSON Schema: numbers by value, objects whatever the order of their members. An interned object keeps the order in
which its members first occurred. Values with lone surrogates are never members of a set, because no text spells them.

Complexity: O(parts) per value, without recursion; O(members) per set.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from guided.schema.formula.exact import fraction, is_number

__all__ = ["Constant", "Constants"]

_LITERALS = {"null": 4, "true": 4, "false": 5}


class Constant(NamedTuple):
    """An interned value.

    Attributes
    ----------
    kind : str
        Its JSON type.
    value : Any
        As the schema wrote it.
    parts : tuple
        Of an array the numbers of its items; of an object pairs of name and number, in the order of their first occurrence.
    size : int
        Approximate bytes of its shortest text.
    is_ascii : bool
        Whether printable ASCII can spell it.
    is_text : bool
        Whether some text spells it: it contains no lone surrogate.
    """

    kind: str
    value: Any
    parts: tuple[Any, ...]
    size: int
    is_ascii: bool
    is_text: bool


class Constants:
    """The constants of one schema. Only grows.

    Parameters
    ----------
    digits : int
        Maximum digits of a number.
    spend : callable
        Charges steps.
    """

    def __init__(self, digits: int, spend: Callable[[int], None]) -> None:
        self._digits, self._spend = digits, spend
        # Number 0 is not used: the valuation 0 means that no formula holds.
        self._all = [Constant("null", None, (), 4, True, False)]
        self._numbers: dict[tuple[str, Any], int] = {}
        self._sets: list[tuple[int, ...]] = []
        self._set_numbers: dict[tuple[int, ...], int] = {}
        self._of_kind: dict[tuple[int, str], int] = {}
        self._cheapest: dict[int, int] = {}
        self._by_count: dict[int, dict[int, int]] = {}
        self._kinds: dict[int, frozenset[str]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no set was interned."""
        return not self._sets

    def __getitem__(self, number: int) -> Constant:
        return self._all[number]

    def add(self, value: Any) -> int | None:
        """Intern a value and return its number; None if it is not a JSON value.

        Raises
        ------
        LimitError
            A number has too many digits, or the steps are spent.
        """
        # By identity, because one list or dict may occur in many places. The caller keeps the whole value alive.
        known: dict[int, int] = {}
        todo = [value]
        while todo:
            top = todo[-1]
            if isinstance(top, dict | list) and id(top) not in known:
                parts = top if isinstance(top, list) else list(top.values())
                pending = [part for part in parts if isinstance(part, dict | list) and id(part) not in known]
                if pending:
                    todo += pending
                    continue
                numbers = [known[id(part)] if isinstance(part, dict | list) else self._scalar(part) for part in parts]
                if 0 in numbers or (isinstance(top, dict) and not all(isinstance(name, str) for name in top)):
                    return None
                known[id(top)] = self._container(top, numbers)
            todo.pop()
        return known[id(value)] if isinstance(value, dict | list) else self._scalar(value) or None

    def _scalar(self, value: Any) -> int:
        """Return the number of a value without members; 0 if it is not a JSON value."""
        if isinstance(value, str):
            text = value if type(value) is str else "".join(value)
            found = self._numbers.get(("string", text))
            if found is None:
                found = self._new("string", text, text, (), 2 + len(text), *_spelled(text))
            return found
        if value is None or isinstance(value, bool):
            kind = "null" if value is None else "true" if value else "false"
            return self._numbers.get((kind, None)) or self._new(
                kind, None, value, (), _LITERALS[kind], is_ascii=True, is_text=True
            )
        if not is_number(value):
            return 0
        number = fraction(value, self._digits)
        found = self._numbers.get(("number", number))
        if found is None:
            size = len(str(value)) if not isinstance(value, int) or value.bit_length() < 64 else value.bit_length() // 3
            found = self._new("number", number, value, (), size, is_ascii=True, is_text=True)
        return found

    def _container(self, value: Any, numbers: list[int]) -> int:
        parts: tuple[Any, ...]
        if isinstance(value, list):
            kind, parts, key = "array", tuple(numbers), tuple(numbers)
            names = ""
        else:
            kind, parts = "object", tuple(zip(value, numbers, strict=True))
            key, names = tuple(sorted(parts)), "".join(value)
        found = self._numbers.get((kind, key))
        if found is None:
            below = [self._all[number] for number in numbers]
            size = 1 + max(1, len(below)) + sum(one.size for one in below) + 3 * (kind == "object") * len(below)
            is_ascii, is_text = _spelled(names)
            found = self._new(
                kind,
                key,
                value,
                parts,
                size + len(names),
                is_ascii and all(one.is_ascii for one in below),
                is_text and all(one.is_text for one in below),
            )
        return found

    def _new(
        self, kind: str, key: Any, value: Any, parts: tuple[Any, ...], size: int, is_ascii: bool, is_text: bool
    ) -> int:
        self._spend(1)
        found = self._numbers[kind, key] = len(self._all)
        self._all.append(Constant(kind, value, parts, size, is_ascii, is_text))
        return found

    # Sets

    def intern(self, numbers: Iterable[int]) -> int:
        """Return the number of the set of some constants, without those that no text spells."""
        members = tuple(sorted({number for number in numbers if self._all[number].is_text}))
        found = self._set_numbers.get(members)
        if found is None:
            found = self._set_numbers[members] = len(self._sets)
            self._sets.append(members)
        return found

    def members(self, numbered: int) -> tuple[int, ...]:
        """Return the members of a set, ascending."""
        return self._sets[numbered]

    def of_kind(self, numbered: int, kind: str) -> int:
        """Return the set of the members of one type."""
        found = self._of_kind.get((numbered, kind))
        if found is None:
            members = self._sets[numbered]
            found = self.intern(member for member in members if self._all[member].kind == kind)
            self._of_kind[numbered, kind] = found
        return found

    def kinds(self, numbered: int) -> frozenset[str]:
        """Return the types of a set's members."""
        found = self._kinds.get(numbered)
        if found is None:
            found = self._kinds[numbered] = frozenset(self._all[member].kind for member in self._sets[numbered])
        return found

    def has(self, numbered: int, member: int) -> bool:
        """Return whether a set has a member. O(log members)."""
        members = self._sets[numbered]
        at = bisect_left(members, member)
        return at < len(members) and members[at] == member

    def with_parts(self, numbered: int, count: int) -> int | None:
        """Return the first member of a set with so many parts; None if there is none."""
        by_count = self._by_count.get(numbered)
        if by_count is None:
            by_count = self._by_count[numbered] = {}
            for member in self._sets[numbered]:
                by_count.setdefault(len(self._all[member].parts), member)
        return by_count.get(count)

    def cheapest(self, numbered: int) -> int:
        """Return the member with the shortest text, the first of several; the set is not empty."""
        found = self._cheapest.get(numbered)
        if found is None:
            found = self._cheapest[numbered] = min(self._sets[numbered], key=lambda member: self._all[member].size)
        return found


def _spelled(text: str) -> tuple[bool, bool]:
    """Return whether printable ASCII can spell a string, and whether any text can."""
    if text.isascii():
        return text.isprintable(), True
    return False, not any("\ud800" <= character <= "\udfff" for character in text)
