"""The strings that satisfy a formula, as a pattern tree.

For formats that write strings in another way than JSON: they need the language of the values, not of their spellings.
"""

from guided.limits import Limits
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Complement, Intersect, Literal, Node, alternate, repeat
from guided.schema.formula.formulas import Formulas
from guided.schema.strings.languages import ANY_LENGTH, tree_of

__all__ = ["tree_of_strings"]

_CHARACTER = Chars(Charset.UNIVERSE)


def tree_of_strings(formulas: Formulas, root: int) -> Node:
    """Return the strings that satisfy a formula over the atoms of strings."""
    nodes: dict[int, Node] = {}
    # Invariant: members of a formula have smaller ids than the formula, so an ascending pass sees them first.
    needed, work = {root}, [root]
    while work:
        kind, *rest = formulas.nodes[work.pop()]
        members = rest[0] if kind in ("&", "|", "1") else rest if kind == "!" else ()
        work.extend(member for member in members if member not in needed)
        needed.update(members)
    for number in sorted(needed):
        match formulas.nodes[number]:
            case ("F",):
                found: Node = Chars(Charset.EMPTY)
            case ("T",):
                found = repeat(_CHARACTER)
            case ("&", members):
                found = Intersect(tuple(nodes[member] for member in members))
            case ("|", members):
                found = alternate(nodes[member] for member in members)
            case ("!", member):
                found = Complement(nodes[member])
            case ("1", members):
                found = alternate(
                    Intersect((nodes[one], *(Complement(nodes[m]) for j, m in enumerate(members) if j != i)))
                    for i, one in enumerate(members)
                )
            case ("length", fewest, most):
                found = repeat(_CHARACTER, fewest, None if most == ANY_LENGTH else most)
            case ("strings", values):
                found = alternate(map(Literal, values))
            case atom:
                found = tree_of(atom, Limits())
        nodes[number] = found
    return nodes[root]
