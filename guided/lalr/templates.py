"""Which instances of templates a grammar makes inside Lark, told from its text.

Lark makes an instance for each template and arguments that some rule uses, then looks into its body for more. The same is done here, with
numbers for symbols and without bodies: each rule is the list of its *calls*. A grammar whose templates go round is fine as long as
they come back to instances that are there; one whose arguments grow is refused once an argument is nested deeper than all texts of the
grammar together could nest it.

O(calls of all instances), within a budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from guided.errors import GrammarError, LimitError

__all__ = ["Call", "Template", "calls_of", "cost_of_instances"]

_CALL = 500


@dataclass(frozen=True, slots=True)
class Call:
    """A use of a template: arguments are texts, or numbers of calls that stand before this one."""

    name: str
    arguments: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A rule: its parameters, none but for a template, its calls, and what an instance costs."""

    name: str
    parameters: tuple[str, ...]
    calls: tuple[Call, ...]
    cost: int


def calls_of(body: Sequence[str]) -> tuple[Call, ...]:
    """The calls in a rule's tokens, those in arguments before the call that takes them."""
    found: list[Call] = []
    # Of each open call: name, arguments, and the argument being read.
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


def cost_of_instances(templates: Sequence[Template], limit: int) -> int:
    """What all instances cost.

    Raises
    ------
    GrammarError
        A template's arguments grow without end.
    LimitError
        The limit is passed.
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
    total = 0
    for number, values in work:
        template = templates[number]
        total += template.cost + _CALL * sum(1 + len(call.arguments) for call in template.calls)
        if total > limit:
            raise LimitError(
                "steps", total, limit, "the grammar is too large for Lark: fewer optional parts, counts and templates"
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
    """How deep the calls of a rule stand in one another."""
    depths: list[int] = []
    for call in template.calls:
        depths.append(1 + max((depths[one] for one in call.arguments if isinstance(one, int)), default=0))
    return max(depths, default=0)
