"""Bounds for strings, numbers, arrays and open objects whose schema names their type but does not bound them (`Caps`).

They restrict only schemas that describe a value: where a schema only tests one (``not``, ``if``, ``contains``), fewer values there would be
more values elsewhere. So every value of a capped schema is one of the schema (`guided.schema.frontend.resources.Context.narrows`).

A bound beside ``type`` counts, and so do ``enum``, ``const``, a pattern and a format; a bound in another schema about the same value does
not. Values under a schema without ``type`` are not bounded, nor are names of members.
"""

from fractions import Fraction
from math import gcd

from guided.schema.formula.exact import Number
from guided.schema.formula.formulas import FALSE
from guided.schema.frontend.site import Site

__all__ = ["cap"]


def cap(site: Site) -> None:
    """Append the bounds of the options to a schema whose keywords have been read."""
    caps, types, handlers = site.lowering.options.caps, site.types, site.context.dialect.handlers
    if types is None or any(keyword in site.schema and keyword in handlers for keyword in ("enum", "const")):
        return
    nodes = site.formulas.nodes
    if caps.max_length is not None and "string" in types:
        lengths = [nodes[formula] for formula in site.strings]
        if all(node[0] == "length" and node[2] < 0 for node in lengths):
            most = max(caps.max_length, *(node[1] for node in lengths), 0)
            site.strings.append(site.formulas.atom(("length", 0, most)))
            site.lowering.note_cap("max_length", site.location)
    if caps.max_digits is not None and "number" in types:
        _cap_number(site, caps.max_digits)
    if caps.max_items is not None and "array" in types:
        found = [nodes[formula] for formula in site.arrays]
        if all(node[0] not in ("maxItems", "F") for node in found):
            prefix = max((len(node[1]) for node in found if node[0] == "items"), default=0)
            least = [
                node[1] if node[0] == "minItems" else node[2] for node in found if node[0] in ("minItems", "contains")
            ]
            site.arrays.append(site.formulas.atom(("maxItems", max(caps.max_items, prefix, *least))))
            site.lowering.note_cap("max_items", site.location)
    if caps.max_properties is not None and "object" in types:
        _cap_members(site, caps.max_properties)


def _cap_members(site: Site, most: int) -> None:
    found = [site.formulas.nodes[formula] for formula in site.objects]
    if any(node[0] in ("maxProperties", "F") for node in found):
        return
    names = {node[1] for node in found if node[0] == "required"}
    for node in found:
        if node[0] == "properties":
            # A closed object has no more members than names.
            if node[3] == FALSE and not node[2]:
                return
            names |= {name for name, formula in node[1] if formula != FALSE}
    is_closed_by_option = not site.lowering.options.additional_properties and "properties" in site.schema
    if is_closed_by_option and site.schema.keys().isdisjoint(("additionalProperties", "unevaluatedProperties")):
        return
    least = [node[1] for node in found if node[0] == "minProperties"]
    site.objects.append(site.formulas.atom(("maxProperties", max(most, len(names), *least))))
    site.lowering.note_cap("max_properties", site.location)


def _cap_number(site: Site, digits: int) -> None:
    nodes, before = site.formulas.nodes, len(site.numbers)
    found = [nodes[formula] for formula in site.numbers]
    low, high = ([node[1] for node in found if node[0] == keyword] for keyword in ("minimum", "maximum"))
    bound = 10**digits - 1
    if not low and all(each >= -bound for each in high):
        site.numbers.append(site.formulas.atom(("minimum", Number(-bound), False)))
    if not high and all(each <= bound for each in low):
        site.numbers.append(site.formulas.atom(("maximum", Number(bound), False)))
    if site.schema.get("type") != "integer" or site.lowering.options.numbers == "any":
        places = max(digits, *(_places(node[1]) for node in found if node[0] == "multipleOf"), 1)
        site.numbers.append(site.formulas.atom(("multipleOf", Number(Fraction(1, 10**places)), True)))
    if len(site.numbers) > before:
        site.lowering.note_cap("max_digits", site.location)


def _places(divisor: Fraction) -> int:
    """Return the most digits behind the point of a multiple."""
    rest, places = divisor.denominator, 0
    while (common := gcd(rest, 10)) > 1:
        rest, places = rest // common, places + 1
    return places
