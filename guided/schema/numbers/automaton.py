r"""The texts of JSON numbers that satisfy a formula, as an automaton.

Bounds, equalities and multiples are exact rationals of any size. Connectives cost no more than their atoms: states distinguish the
truths of the atoms, and formulas are evaluated at the end of a number.

Spellings, by ``JsonOptions.numbers``:

- ``"plain"``: ``-?(0|[1-9][0-9]*)(\.[0-9]+)?``. A text such as ``1.0`` is excluded if an "integer" atom changes the outcome, so an
  integer is spelled without a point; ``{"const": 1}`` is ``1`` or ``1.0``, and other numbers may have more zeros.
- ``"any"``: all of RFC 8259; ``1.0``, ``1e2`` and ``1.5e1`` are integers (``("integer", True)``: those without point and exponent).

Under ``"any"`` some texts with an exponent are excluded, because no automaton, or only a large one, can recognize them:

- no constraint beyond the sign: nothing is excluded;
- bounds or equalities other than 0: the number is 0, or has one digit before the point, which is not 0 (``2.50E+3``, not ``25e2``);
- integers by value or multiples: in addition, the mantissa has at most 17 digits and does not end in 0 except for ``.0`` (``2.5e3``,
  ``2.0e3``); if multiples have more than 240 remainders, it has fewer digits: 4096 over the number of remainders, at least one.

Exponents are of any size, and may have leading zeros. Every value is in the language by its plain spelling, and every int and float by
its ``repr``. Items that must differ are compared in some hundred places (`guided.schema.frontend.lowering.Lowering.places`): after one
with more places, no number follows that agrees with it in those.

Complexity: O(digits of the bounds) states for bounds, times the remainders of multiples. Results are cached across schemas.
"""

from collections.abc import Sequence

from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import Formulas
from guided.schema.formula.memo import Memo
from guided.schema.numbers.condition import condition_of
from guided.schema.numbers.explore import explore
from guided.schema.strings.labeled import Labeled

__all__ = ["number_automaton"]

_KEPT: Memo[Labeled] = Memo(entries=2048, weight=1 << 24)


def number_automaton(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> Labeled:
    """Return the texts of numbers that satisfy ``wanted[0]``, labeled by which of ``wanted[1:]`` hold.

    Parameters
    ----------
    formulas : Formulas
        The table of the formulas, over atoms of numbers (`guided.schema.formula.atoms`).
    wanted : sequence of int
        The required formula, then the observed ones.
    options : JsonOptions
        ``numbers`` applies.
    limits : Limits
        ``states``, ``transitions`` and ``steps`` apply.

    Returns
    -------
    Labeled
        With the empty automaton if no number satisfies the formula.

    Raises
    ------
    LimitError
        A budget is exceeded, by large divisors or many long bounds.
    """
    condition = condition_of(formulas, wanted)
    key = (condition, options.numbers, limits)
    leaf = _KEPT.get(key)
    if leaf is None:
        leaf = explore(condition, options.numbers == "plain", limits)
        _KEPT.put(key, leaf)
    return leaf
