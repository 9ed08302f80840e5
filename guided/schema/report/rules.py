"""A lowered schema as readable rules: one line per formula of a value, in order of discovery.

A rule is named after the location of its first occurrence in the schema. A formula that occurs twice is one rule, and deeply nested
formulas become rules of their own, which bounds the nesting of a line. `all (...)`, `any (...)`, `one (...)` and `not` are the
connectives.

Complexity: linear in the formulas. Recursion is bounded: `_LEVELS` levels of a formula are written inline, deeper ones become rules.
"""

from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from guided.errors import shown
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.frontend.lowering import Lowering

__all__ = ["rules"]

_LEVELS = 3
# Most characters of a rule's name.
_LONGEST = 60
_TYPED = ("number", "string", "array", "object")
_CONNECTIVES = {"&": "all", "|": "any", "1": "one"}


def rules(lowering: Lowering, formulas: Formulas) -> list[tuple[str, str]]:
    """Return name and text of each rule, the whole value's first.

    Raises
    ------
    SchemaError, LimitError
        As `Lowering.expand`.
    """
    return _Writer(lowering, formulas).written()


class _Writer:
    def __init__(self, lowering: Lowering, formulas: Formulas) -> None:
        self._lowering = lowering
        self._formulas = formulas
        self._names: dict[int, str] = {}
        self._taken: dict[str, int] = {"value": 1}
        self._due: deque[tuple[int, str]] = deque()

    def written(self) -> list[tuple[str, str]]:
        """Return all rules reachable from the root."""
        self._names[self._lowering.root] = "value"
        self._due.append((self._lowering.root, "value"))
        found = []
        while self._due:
            formula, name = self._due.popleft()
            node = self._formulas.nodes[formula]
            meant = self._lowering.expand(node[1]) if node[0] == "schema" else formula
            found.append((name, self._text(meant, _LEVELS, name)))
        return found

    def _value(self, formula: int, hint: str) -> str:
        """Return the inline text of a part's formula: a word, or the name of its rule."""
        if formula <= TRUE:
            return "anything" if formula == TRUE else "nothing"
        node = self._formulas.nodes[formula]
        if node[0] == "type":
            return str(node[1])
        name = self._names.get(formula)
        if name is None:
            base = self._lowering.pointer(node[1]) or "value" if node[0] == "schema" else hint
            base = base if len(base) <= _LONGEST else f"...{base[-_LONGEST:]}"
            count = self._taken[base] = self._taken.get(base, 0) + 1
            name = self._names[formula] = base if count == 1 else f"{base} ({count})"
            self._due.append((formula, name))
        return f"<{name}>"

    def _text(self, formula: int, levels: int, name: str) -> str:
        if formula <= TRUE:
            return "anything" if formula == TRUE else "nothing"
        node = self._formulas.nodes[formula]
        kind = node[0]
        if levels == 0 and (kind in _CONNECTIVES or kind in _TYPED or kind == "!"):
            return self._value(formula, name)
        if kind == "&":
            return self._all(node[1], levels, name)
        if kind in _CONNECTIVES:
            members = ", ".join(self._text(member, levels - 1, name) for member in node[1])
            return f"{_CONNECTIVES[kind]} ({members})"
        if kind == "!":
            return f"not {self._text(node[1], levels - 1, name)}"
        if kind in _TYPED:
            return f"if {kind}: {self._text(node[1], levels - 1, name)}"
        return self._atom(node, name)

    def _all(self, members: tuple[int, ...], levels: int, name: str) -> str:
        """Return a conjunction, grouped by type; types that the value must have are not conditional."""
        nodes = self._formulas.nodes
        of_type = {nodes[member][1] for member in members if nodes[member][0] == "type"}
        by_kind: dict[str, list[int]] = {}
        for member in members:
            if nodes[member][0] in _TYPED:
                by_kind.setdefault(nodes[member][0], []).append(nodes[member][1])
        parts: dict[str, None] = {}
        for member in members:
            kind, *content = nodes[member]
            if kind in by_kind:
                text = self._text(self._formulas.conjunction(by_kind[kind]), levels - 1, name)
                parts[f"{kind}: {text}" if kind in of_type else f"if {kind}: {text}"] = None
            elif kind != "type" or content[0] not in by_kind:
                parts[self._text(member, levels - 1, name)] = None
        return next(iter(parts)) if len(parts) == 1 else f"all ({', '.join(parts)})"

    def _atom(self, node: Atom, name: str) -> str:
        kind, *content = node
        write: Callable[..., str] | None = getattr(self, f"_{kind}", None)
        if write is not None:
            return write(name, *content)
        return " ".join(
            [kind, *(shown(part) if isinstance(part, str) else str(part) for part in content if part != -1)]
        )

    def _type(self, _: str, kind: str) -> str:
        return kind

    def _schema(self, name: str, key: int) -> str:
        return self._value(self._formulas.atom(("schema", key)), name)

    def _integer(self, _: str, as_text: bool) -> str:
        return "an integer, as it is written" if as_text else "an integer"

    def _minimum(self, _: str, bound: Any, is_exclusive: bool) -> str:
        return f"{'>' if is_exclusive else '>='} {_number(bound)}"

    def _maximum(self, _: str, bound: Any, is_exclusive: bool) -> str:
        return f"{'<' if is_exclusive else '<='} {_number(bound)}"

    def _length(self, _: str, least: int, most: int) -> str:
        return f"{least} to {most} characters" if most >= 0 else f"{_count(least, 'character')} or more"

    def _pattern(self, _: str, source: str) -> str:
        return f"like {shown(source)}"

    def _equals(self, _: str, number: Any) -> str:
        return _number(number)

    def _multipleOf(self, _: str, divisor: Any, *_tight: bool) -> str:  # noqa: N802 - called by the atom's name
        return f"a multiple of {_number(divisor)}"

    def _minItems(self, _: str, least: int) -> str:  # noqa: N802 - called by the atom's name
        return f"{_count(least, 'item')} or more"

    def _maxItems(self, _: str, most: int) -> str:  # noqa: N802 - called by the atom's name
        return f"at most {_count(most, 'item')}"

    def _uniqueItems(self, *_: Any) -> str:  # noqa: N802 - called by the atom's name
        return "items are distinct"

    def _minProperties(self, _: str, least: int) -> str:  # noqa: N802 - called by the atom's name
        return f"{_count(least, 'member')} or more"

    def _maxProperties(self, _: str, most: int) -> str:  # noqa: N802 - called by the atom's name
        return f"at most {_count(most, 'member')}"

    def _strings(self, _: str, values: tuple[str, ...]) -> str:
        return " or ".join(map(shown, values))

    def _required(self, _: str, key: str) -> str:
        return f"{shown(key)} is required"

    def _properties(self, name: str, names: Any, patterns: Any, others: int) -> str:
        parts = [f"{shown(key)}: {self._value(value, f'{name}/{key}')}" for key, value in names]
        parts += [f"names like {shown(source)}: {self._value(value, f'{name}/{source}')}" for source, value in patterns]
        parts.append(f"others: {self._value(others, f'{name}/others')}")
        return "{" + ", ".join(parts) + "}"

    def _propertyNames(self, name: str, value: int) -> str:  # noqa: N802 - called by the atom's name
        return f"every name: {self._value(value, f'{name}/names')}"

    def _items(self, name: str, prefix: tuple[int, ...], others: int) -> str:
        parts = [self._value(value, f"{name}/{i}") for i, value in enumerate(prefix)]
        return "[" + ", ".join([*parts, f"others: {self._value(others, f'{name}/items')}"]) + "]"

    def _contains(self, name: str, value: int, least: int, most: int) -> str:
        count = f"{least} to {most}" if most >= 0 else f"{least} or more"
        return f"{count} items: {self._value(value, f'{name}/contains')}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _number(value: Fraction) -> str:
    """Return a number in JSON notation if it is a decimal."""
    rest, places = value.denominator, 0
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    for divisor in (2, 5):
        while rest % divisor == 0:
            rest, places = rest // divisor, places + 1
    if rest > 1:
        return str(value)
    sign, digits = "-" if value < 0 else "", str(abs(value * 10**places).numerator).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


assert FALSE < TRUE, "ids up to TRUE are the two constants"
