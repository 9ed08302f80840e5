"""Predicts from a grammar's text which template instances Lark creates.

Lark creates an instance for each template and arguments that a rule uses, then scans the instance's body for more. This module does the
same with numbers for symbols and without bodies: each rule is the list of its *calls*. Recursive templates are fine as long as they return
to existing instances; a grammar whose arguments grow is refused once an argument is nested deeper than all rules of the grammar together
could nest it.

O(calls of all instances), within a budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from guided.errors import GrammarError, LimitError

__all__ = ["Call", "Template", "calls_of", "cost_of_instances"]

_CALL = 500


@dataclass(frozen=True, slots=True)
class Call:
    """A use of a template; an argument is a text, or the index of an earlier call."""

    name: str
    arguments: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A rule: its parameters (empty unless it is a template), its calls, and the cost of an instance."""

    name: str
    parameters: tuple[str, ...]
    calls: tuple[Call, ...]
    cost: int


def calls_of(body: Sequence[str]) -> tuple[Call, ...]:
    """Return the calls in a rule's tokens; calls in arguments precede the call that takes them."""
    found: list[Call] = []
    # Of each open call: name, arguments, and the current argument.
    opened: list[tuple[str, list[str | int], list[str | int]]] = []
    for place, token in enumerate(body):
        if body[place + 1 : place + 2] == ["{"]:
            opened.append((token, [], []))
        elif opened and token in ",}":
            name, arguments, reading = opened[-1]
            if reading:
                arguments.append(reading[0] if len(reading) == 1 else " ".join(map(str, reading)))
                reading.clear()
            if token == "}":
                opened.pop()
                found.append(Call(name, tuple(arguments)))
                if opened:
                    opened[-1][2].append(len(found) - 1)
        elif opened and token not in "{\n":
            opened[-1][2].append(token)
    return tuple(found)


def cost_of_instances(templates: Sequence[Template], limit: int, total: int = 0) -> int:
    """Return the cost of all instances, plus `total`.

    Raises
    ------
    GrammarError
        A template's arguments grow without end.
    LimitError
        The limit is exceeded.
    """
    by_name = {template.name: number for number, template in enumerate(templates)}
    deepest = 1 + sum(map(_nesting, templates))
    names: list[str] = []
    depths: list[int] = []
    symbols: dict[tuple[str, tuple[int, ...] | None], int] = {}

    def symbol(name: str, arguments: tuple[int, ...] | None) -> int:
        found = symbols.setdefault((name, arguments), len(names))
        if found == len(names):
            names.append(name)
            depths.append(1 + max((depths[one] for one in arguments), default=0) if arguments is not None else 0)
            number = by_name.get(name)
            if depths[found] > deepest:
                raise GrammarError("the template uses itself with ever larger arguments", name)
            if arguments is not None and number is not None and len(arguments) == len(templates[number].parameters):
                work.append((number, arguments))
        return found

    work: list[tuple[int, tuple[int, ...]]] = [
        (number, ()) for number, template in enumerate(templates) if not template.parameters
    ]
    for number, values in work:
        template = templates[number]
        total += template.cost + _CALL * sum(1 + len(call.arguments) for call in template.calls)
        if total > limit:
            raise LimitError(
                "steps",
                total,
                limit,
                "the grammar is too large for Lark: use fewer optional parts, counts and templates",
            )
        bound = dict(zip(template.parameters, values, strict=True))
        made: list[int] = []
        for call in template.calls:
            arguments = tuple(
                made[one] if isinstance(one, int) else bound[one] if one in bound else symbol(one, None)
                for one in call.arguments
            )
            name = names[bound[call.name]] if call.name in bound else call.name
            made.append(symbol(name, arguments))
    return total


def _nesting(template: Template) -> int:
    """Return the nesting depth of a rule's calls."""
    depths: list[int] = []
    for call in template.calls:
        depths.append(1 + max((depths[one] for one in call.arguments if isinstance(one, int)), default=0))
    return max(depths, default=0)
