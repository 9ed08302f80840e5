"""Formulas of values whose type has come to be known: the first byte of a value tells its type, and all other types' atoms vanish.

Of a formula of a value, and the value's type, the restriction is a formula over that type's own atoms: the type's own ``("type", ...)``
atom becomes true and the others false, ``("string", f)`` becomes f for a string and true for anything else, and ``("schema", key)``
becomes the restriction of what it stands for. A schema that stands for itself this way says nothing that could be decided: it is refused.

Complexity: each node of a formula once per type. Nothing recurses: schemas nested however deep are taken off a list.
"""

from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.lowering import Lowering
from guided.schema.site import loop

__all__ = ["restrict"]


def restrict(formulas: Formulas, lowering: Lowering, formula: int, type_name: str, memo: dict[int, int]) -> int:
    """The formula of a value known to be of a type, over that type's atoms.

    Parameters
    ----------
    formulas : Formulas
    lowering : Lowering
        What expands ``("schema", key)``.
    formula : int
        Of a value.
    type_name : str
        One of `guided.schema.atoms.TYPES`.
    memo : dict of int to int
        Results by formula, filled; one for each type.

    Returns
    -------
    int
        Over the atoms of strings, numbers, arrays or objects; `TRUE` or `FALSE` for the other types.

    Raises
    ------
    SchemaError
        A subschema is malformed or cannot be enforced, or a reference comes back to itself about the same value.
    LimitError
        Schemas about the same value nest too deep.
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
