"""The automaton of a finite set of strings or numbers whose labels tell them apart.

Strings are overlaid on the automaton of all strings, so all spellings of a string have its label. Numbers in plain spelling are a trie in
which zeros may follow the fraction. Other spellings of numbers are labeled by formulas (`guided.schema.numbers`).

Complexity: O(bytes of all spellings).
"""

from collections.abc import Sequence

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array, UInt8Array
from guided.automata.automaton import Automaton
from guided.automata.minimize import canonical
from guided.limits import Limits
from guided.schema.formula.atoms import JsonOptions
from guided.schema.formula.formulas import TRUE, Formulas
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.overlay import overlay
from guided.schema.strings.spelling import SPELLINGS

__all__ = ["distinguished_numbers", "distinguished_strings"]

_COLUMNS = b"-.0123456789"
_POINT, _ZERO = _COLUMNS.index(b"."), _COLUMNS.index(b"0")


def distinguished_strings(texts: Sequence[str], options: JsonOptions, limits: Limits) -> Automaton:
    """Return the bodies of some distinct strings without lone surrogates; the label of text i is i.

    Raises
    ------
    LimitError
        A budget is exceeded.
    """
    every = string_automaton(Formulas(), (TRUE,), options, limits).automaton
    laid = overlay(every, texts, SPELLINGS[options.escapes], limits)
    accepting = np.zeros_like(laid.accepting)
    accepting[laid.ends] = True
    labels = np.zeros_like(laid.labels)
    labels[laid.ends] = np.arange(len(texts))
    return Automaton.from_canonical(*canonical(laid.table, laid.classes, accepting, labels, laid.start))


def distinguished_numbers(bodies: Sequence[Sequence[bytes]]) -> Automaton:
    """Return the plain spellings of some distinct numbers; the label of number i is i.

    ``bodies``: the shortest spellings of each number (`guided.schema.numbers.spelling`), at least one in all.
    """
    rows: list[list[int]] = [[DEAD] * len(_COLUMNS)]
    labels = [DEAD]

    def child(state: int, column: int) -> int:
        if rows[state][column] == DEAD:
            rows[state][column] = len(rows)
            rows.append([DEAD] * len(_COLUMNS))
            labels.append(DEAD)
        return rows[state][column]

    ends = list[tuple[int, int, bool]]()
    for number, spellings in enumerate(bodies):
        for body in spellings:
            state = 0
            for byte in body:
                state = child(state, _COLUMNS.index(byte))
            labels[state] = number
            ends.append((state, number, b"." in body))
    for end, number, has_fraction in ends:
        state = end if has_fraction else child(end, _POINT)
        while rows[state][_ZERO] != DEAD:
            state = rows[state][_ZERO]
            labels[state] = number
        state = child(state, _ZERO)
        labels[state], rows[state][_ZERO] = number, state
    table: Int32Array = np.array([[*row, DEAD] for row in rows], np.int32)
    classes: UInt8Array = np.full(256, len(_COLUMNS), np.uint8)
    classes[list(_COLUMNS)] = np.arange(len(_COLUMNS))
    found: Int32Array = np.array(labels, np.int32)
    accepting: BoolArray = found >= 0
    return Automaton.from_canonical(*canonical(table, classes, accepting, np.maximum(found, 0)))
