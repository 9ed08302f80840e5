r"""The texts of JSON numbers that meet a formula, as an automaton.

Bounds, equalities and multiples are exact rationals of any size. Connectives cost no more than their atoms: the automaton keeps apart
what the atoms tell apart, and formulas are evaluated at the end of a number.

Spellings, by ``JsonOptions.numbers``:

- ``"plain"``: ``-?(0|[1-9][0-9]*)(\.[0-9]+)?``. A text such as ``1.0`` is left out where an "integer" decides what holds of it, so an
  integer is spelled without a point, and a number, or ``{"const": 1}``, may have one.
- ``"any"``: all of RFC 8259; ``1.0``, ``1e2`` and ``1.5e1`` are integers (``("integer", True)``: those without point and exponent).

Narrowed under ``"any"`` is what no automaton can follow, or only a large one. It concerns texts with an exponent alone:

- a sign decides all, or nothing is asked: none is left out;
- bounds or equalities other than 0: the number is 0, or has one digit before the point, which is not 0 (``2.50E+3``, not ``25e2``);
- integers by value or multiples: besides, the mantissa has at most 17 digits and does not end in 0 but for ``.0`` (``2.5e3``, ``2.0e3``);
  where multiples have more than 240 remainders, it has fewer digits: 4096 over the number of remainders, at least one.

Exponents are of any size, and may have leading zeros. Every value is in the language by its plain spelling, and every
int and float by its ``repr``.

Complexity: O(digits of the bounds) states for bounds, times the remainders of multiples. What was built is kept for other schemas.
"""

from collections.abc import Sequence

from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.formula import Formulas
from guided.schema.leaf import Leaf
from guided.schema.memo import Memo
from guided.schema.number.condition import condition_of
from guided.schema.number.explore import explore

__all__ = ["number_automaton"]

_KEPT: Memo[Leaf] = Memo(entries=2048, weight=1 << 24)


def number_automaton(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> Leaf:
    """The texts of numbers of which ``wanted[0]`` holds, labelled with which of ``wanted[1:]`` do.

    Parameters
    ----------
    formulas : Formulas
        The table of the formulas, whose atoms are those of a number (`guided.schema.atoms`).
    wanted : sequence of int
        The formula that must hold, then those that are observed.
    options : JsonOptions
        ``numbers`` counts.
    limits : Limits
        ``states``, ``transitions`` and ``steps`` count.

    Returns
    -------
    Leaf
        Of the empty automaton if no number will do.

    Raises
    ------
    LimitError
        A budget is passed, by large divisors or many long bounds.
    """
    condition = condition_of(formulas, wanted)
    key = (condition, options.numbers, limits)
    leaf = _KEPT.get(key)
    if leaf is None:
        leaf = explore(condition, options.numbers == "plain", limits)
        _KEPT.put(key, leaf)
    return leaf
