"""``enum`` and ``const``: listed values of any type, as formulas.

All strings of an enumeration are one atom, so a hundred thousand cost no more than one set. Arrays and objects are tables whose members
are constants again, each an alternative of its own, so their number is limited. Numbers are equal by value, and true is not 1.
"""

from decimal import Decimal
from typing import Any

from guided.errors import LimitError, SchemaError, shown
from guided.schema.formula.exact import enclosing, fraction, is_number
from guided.schema.formula.formulas import FALSE
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.site import Lowering, Site

__all__ = ["ITEM", "const", "constant", "enum", "is_exact"]

_DEEPEST = 24
# Location of constants that come from a text, not from a schema. The order of their names declares no property order.
ITEM: Location = (None, "items")


def enum(site: Site, value: Any) -> None:
    """``enum``."""
    if not isinstance(value, list):
        raise site.wrong("enum", "enum must be a list of values")
    location, most = (site.location, "enum"), site.lowering.limits.enum_containers
    n_containers = sum(isinstance(one, list | dict) for one in value)
    if n_containers > most:
        raise LimitError(
            "enum_containers", n_containers, most, f"{pointer_of(location)} lists too many arrays and objects"
        )
    site.values.append(_one_of(site.lowering, value, location, 0))


def const(site: Site, value: Any) -> None:
    """``const``."""
    site.values.append(constant(site.lowering, value, (site.location, "const"), 0))


def constant(lowering: Lowering, value: Any, location: Location, depth: int) -> int:
    """Return the formula of the values equal to this one; of an item that is not `is_exact`, also of values near it."""
    return _one_of(lowering, [value], location, depth)


def is_exact(lowering: Lowering, value: Any) -> bool:
    """Return whether an item has no number with more places than are compared."""
    if isinstance(value, list | dict):
        return all(is_exact(lowering, one) for one in (value.values() if isinstance(value, dict) else value))
    if not is_number(value):
        return True
    least, most = enclosing(value, lowering.places)
    return least == most


def _number(lowering: Lowering, value: int | float | Decimal, location: Location) -> int:
    """Return the formula of the numbers equal to this one."""
    formulas = lowering.formulas
    if location is not ITEM:
        return formulas.atom(("equals", fraction(value, lowering.limits.digits)))
    # Why others, too: a number such as 1e1000000000 needs too large an automaton.
    least, most = enclosing(value, lowering.places)
    if least == most:
        return formulas.atom(("equals", least))
    bounds = ("minimum", least, most is not None), ("maximum", most, least is not None)
    return formulas.conjunction([formulas.atom(bound) for bound in bounds if bound[1] is not None])


def _one_of(lowering: Lowering, values: list[Any], location: Location, depth: int) -> int:
    formulas = lowering.formulas
    texts: list[str] = []
    numbers: list[int] = []
    others: list[int] = []
    for value in values:
        if isinstance(value, str):
            texts.append(value if type(value) is str else "".join(value))
        elif value is None:
            others.append(formulas.atom(("type", "null")))
        elif isinstance(value, bool):
            others.append(formulas.atom(("type", "true" if value else "false")))
        elif isinstance(value, list):
            others.append(_array(lowering, value, location, depth))
        elif isinstance(value, dict) and all(isinstance(name, str) for name in value):
            others.append(_object(lowering, value, location, depth))
        elif is_number(value):
            numbers.append(_number(lowering, value, location))
        else:
            raise SchemaError(f"{shown(value)} is not a JSON value", pointer_of(location[0]), str(location[1]))
    if texts:
        listed = lowering.strings(texts, location)
        others.append(formulas.conjunction([formulas.atom(("type", "string")), formulas.atom(("string", listed))]))
    if numbers:
        among = formulas.disjunction(numbers)
        lowering.origins.setdefault(among, location)
        listed = formulas.atom(("number", among))
        others.append(formulas.conjunction([formulas.atom(("type", "number")), listed]))
    return formulas.disjunction(others)


def _part(lowering: Lowering, value: Any, location: Location, depth: int) -> int:
    if not isinstance(value, list | dict):
        return constant(lowering, value, location, depth)
    # Why: one list may occur in many places (in Python, or as a YAML alias), and occurrences double at every level.
    found = lowering.constants.get(id(value))
    if found is None:
        formula = (
            constant(lowering, value, location, depth) if depth < _DEEPEST else lowering.constant_later(value, location)
        )
        # Why keep the value: its id stays unique only while it is alive, and items of texts are short-lived.
        found = lowering.constants[id(value)] = value, formula
    return found[1]


def _array(lowering: Lowering, value: list[Any], location: Location, depth: int) -> int:
    formulas = lowering.formulas
    if value:
        prefix = tuple([_part(lowering, item, location, depth + 1) for item in value])
        members = [formulas.atom(("items", prefix, FALSE)), formulas.atom(("minItems", len(value)))]
    else:
        members = [formulas.atom(("maxItems", 0))]
    whole = formulas.atom(("array", formulas.conjunction(members)))
    return formulas.conjunction([formulas.atom(("type", "array")), whole])


def _object(lowering: Lowering, value: dict[str, Any], location: Location, depth: int) -> int:
    formulas = lowering.formulas
    if value:
        # Why sorted: equal items must give one formula.
        ordered = sorted(value.items()) if location is ITEM else value.items()
        names = tuple([(name, _part(lowering, item, location, depth + 1)) for name, item in ordered])
        members = [
            formulas.atom(("properties", names, (), FALSE)),
            *(formulas.atom(("required", name)) for name in value),
        ]
        if location is not ITEM:
            for member in members:
                lowering.sequence.setdefault(member, len(lowering.sequence))
                lowering.origins.setdefault(member, location)
    else:
        members = [formulas.atom(("maxProperties", 0))]
    whole = formulas.atom(("object", formulas.conjunction(members)))
    return formulas.conjunction([formulas.atom(("type", "object")), whole])
