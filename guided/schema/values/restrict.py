"""Restriction of a formula to one JSON type, which the first byte of a value determines.

The restriction is a formula over the atoms of that type: its own ``("type", ...)`` atom becomes true and the others false,
``("string", f)`` becomes f for strings and true for other types, and ``("schema", key)`` becomes the restriction of its expansion. A schema
that expands to itself without consuming input has no meaning and is refused.

Complexity: each node of a formula once per type. An explicit stack replaces recursion, so deep nesting is safe.
"""

from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.frontend.location import loop
from guided.schema.frontend.lowering import Lowering

__all__ = ["restrict"]


def restrict(formulas: Formulas, lowering: Lowering, formula: int, type_name: str, memo: dict[int, int]) -> int:
    """Return the restriction of a formula to a type, over that type's atoms.

    Parameters
    ----------
    formulas : Formulas
    lowering : Lowering
        Expands ``("schema", key)``.
    formula : int
        Of a value.
    type_name : str
        One of `guided.schema.formula.atoms.TYPES`.
    memo : dict of int to int
        Results by formula, filled by this call. Use one memo per type.

    Returns
    -------
    int
        Over the atoms of strings, numbers, arrays or objects; `TRUE` or `FALSE` for the other types.

    Raises
    ------
    SchemaError
        A subschema is malformed or cannot be enforced, or a reference leads back to itself for the same value.
    LimitError
        ``depth`` is exceeded: too many nested subschemas apply to the same value.
    """
    if formula <= TRUE:
        return formula

    def known(node: Atom) -> int:
        name = node[0]
        if name == type_name:
            return int(node[1])
        if name == "among":
            values = formulas.list_among(formulas.atom(node))
            return formulas.disjunction([formulas.rewrite(value, known, memo) for value in values])
        return FALSE if name == "type" and node[1] != type_name else TRUE

    todo = [formula]
    opened: set[int] = set()
    while todo:
        top = todo[-1]
        if top in memo:
            todo.pop()
            continue
        later = [node for node in formulas.atoms(top) if node[0] == "schema"]
        pending = []
        for node in later:
            atom = formulas.atom(node)
            if atom in memo:
                continue
            expanded = lowering.expand(node[1])
            if expanded <= TRUE:
                memo[atom] = expanded
            elif expanded in memo:
                memo[atom] = memo[expanded]
            else:
                if expanded in opened or expanded == top:
                    raise loop(lowering.location(node[1]))
                pending.append(expanded)
        if pending:
            opened.add(top)
            todo += pending
            continue
        opened.discard(top)
        todo.pop()
        formulas.rewrite(top, known, memo)
    return memo[formula]
