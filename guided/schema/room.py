"""Room: values of which every beginning can go on in so many ways that one value more or less makes no difference to it."""

from itertools import islice

from guided.schema.formula import FALSE
from guided.schema.jobs import Job
from guided.schema.places import BEGINS
from guided.schema.reading import Reading

__all__ = ["is_roomy"]

# Of the objects that a value may be.
_MOST_ALTERNATIVES = 32
_DEEPEST = 3


def is_roomy(reading: Reading, job: Job, depth: int = _DEEPEST) -> bool:
    """Is there room for values of a job? No is no proof of the contrary."""
    if len(job) > 1 or depth == 0:
        return False
    typed = {kind: reading.kinds.typed(job[0], kind) for kind in BEGINS}
    return all(formula == FALSE or _is_roomy_kind(reading, kind, formula, depth) for kind, formula in typed.items())


def _is_roomy_kind(reading: Reading, kind: str, formula: int, depth: int) -> bool:
    formulas = reading.formulas
    nodes = formulas.nodes
    if kind in ("string", "number"):
        listed = "strings" if kind == "string" else "equals"
        members = [nodes[member] for member in formulas.members(formula)]
        return all(
            node[0] == "T" or node[0] == "integer" or (node[0] == "!" and nodes[node[1]][0] == listed)
            for node in members
        )
    if kind == "object":
        table = reading.kinds.object_start((formula,)).table
        alternatives = list(islice(reading.terms(formula), _MOST_ALTERNATIVES + 1))
        plain = [reading.plain(table, formulas.conjunction(term)) for term in alternatives]
        return len(plain) <= _MOST_ALTERNATIVES and all(
            one is not None
            and any(
                value != FALSE and is_roomy(reading, (value,), depth - 1)
                for value in map(one[1].value, range(len(one[1].values)))
            )
            for one in plain
        )
    if kind == "array":
        node = nodes[formula]
        return bool(node[0] == "T" or (node[0] == "items" and not node[1] and is_roomy(reading, (node[2],), depth - 1)))
    return False
