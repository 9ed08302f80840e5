r"""Formulas about strings -> `Labeled`: the bodies of JSON strings, without quotes.

Values listed by formulas (an enum, a constant) are overlaid on the automaton of everything else. Without them the formulas are over
patterns, formats and lengths, and `guided.schema.strings.combination` makes their automaton; each listed value is then evaluated
separately. So an enum costs its bytes, whatever other constraints there are.

Results are cached by the structure of the formulas, so schemas share them. Lengths of thousands give correct but large automata; for a
length alone, registers are better.

Lone surrogates, which ``\u`` can spell and ``json.loads`` accepts, are never in the language: they are not characters, UTF-8 cannot
encode such a value, and neither patterns nor lengths in code points apply to it.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np

from guided.arrays import DEAD, BoolArray, Int32Array
from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, spend_together
from guided.limits import Limits
from guided.patterns.charset import SURROGATE
from guided.schema.formula.atoms import JsonOptions, Notation
from guided.schema.formula.formulas import FALSE, TRUE, Atom, Formulas
from guided.schema.formula.memo import Memo
from guided.schema.strings.bodies import spelled
from guided.schema.strings.combination import Language, evaluate, language
from guided.schema.strings.labeled import DIRECT, Labeled
from guided.schema.strings.languages import ANY_LENGTH, known, steps_of, truth
from guided.schema.strings.notation import spelled_raw
from guided.schema.strings.overlay import canonical_body, has_one_body, overlay
from guided.schema.strings.spelling import spelling_of, unwritable

__all__ = [
    "judged_texts",
    "numbers_of",
    "string_automaton",
    "without_surrogates",
]

# The automaton; the steps that its patterns took; the steps of a call that it took, and that what it is laid on took, by their keys.
_Made: TypeAlias = tuple[Labeled, int, tuple[tuple[Hashable, int], ...]]
_memo: Memo[_Made] = Memo(4096, 1 << 25)
# Pairs of a pattern and a listed text judged per step.
_PER_STEP = 16


def string_automaton(
    formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits, notation: Notation | None = None
) -> Labeled:
    """Return the bodies of the JSON strings that satisfy ``wanted[0]``, labeled by which of the others hold.

    Parameters
    ----------
    formulas : Formulas
        The table of the formulas; it may grow.
    wanted : sequence of int
        Formulas over atoms of strings (`guided.schema.formula.atoms`).
    options : JsonOptions
        ``escapes`` and ``quote`` apply.
    limits : Limits
        Budgets for each pattern and for the automata built from it.
    notation : Notation, optional
        If given, strings are not those of JSON; the closing text, without its last character, follows each.

    Raises
    ------
    PatternError
        A pattern is malformed, or needs a feature that no automaton supports.
    LimitError
        A budget is exceeded.
    """
    return _kept(formulas, wanted, options, limits, notation)[0]


def numbers_of(bits: BoolArray) -> list[int]:
    """Return each row of bits as a number; the first bit is the least."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    width, data = packed.shape[1], packed.tobytes()
    return [int.from_bytes(data[width * row : width * (row + 1)], "little") for row in range(len(bits))]


def structure(formulas: Formulas, wanted: Sequence[int]) -> Hashable:
    """Return the structure of formulas independent of their ids; equal structures mean equal formulas."""
    if len(wanted) == 1 and formulas.nodes[wanted[0]][0] not in "&|!1":
        return formulas.nodes[wanted[0]]
    order = formulas.below(wanted)
    local = {formula: i for i, formula in enumerate(order)}
    nodes: list[Hashable] = []
    for formula in order:
        node = formulas.nodes[formula]
        if node[0] == "!":
            node = ("!", local[node[1]])
        elif node[0] in "&|1":
            node = (node[0], tuple(local[member] for member in node[1]))
        nodes.append(node)
    return tuple(nodes), tuple(local[formula] for formula in wanted)


def _kept(
    formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits, notation: Notation | None = None
) -> _Made:
    """Return the automaton, and the steps it costs each time (`guided.automata.build.in_one_budget`), whether made now or earlier."""
    notation = notation or options.notation
    key = structure(formulas, wanted), notation or options.spelling, limits
    found = _memo.get(key)
    if found is not None:
        spend_together(found[1])
        for part, cost in found[2]:
            formulas.spend(0 if part in formulas.paid else cost)
            formulas.paid.add(part)
        return found
    formulas.paid.add(key)
    if notation is not None:
        language_of_values = language(formulas, wanted, limits)
        vectors, labels = _labels_of(language_of_values)
        made = spelled_raw(language_of_values, labels, notation, limits)
        if notation.padding == "line feeds":
            known = vectors or range(int(labels.max(initial=0)) + 1)
            vectors = tuple(vector for vector in known for _ in range(2))
        return _memo.put(key, (Labeled(made, vectors), language_of_values.steps, ((key, language_of_values.cost),)))
    return _memo.put(key, _made(formulas, wanted, options, limits, key))


def _made(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits, key: Hashable) -> _Made:
    atoms = list(dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)))
    if not any(atom[0] == "strings" for atom in atoms):
        return _unlisted(formulas, wanted, options, limits, key)
    texts = _texts_of(atoms)
    memo: dict[int, int] = {}
    rest = [formulas.rewrite(formula, lambda atom: _without(formulas, atom), memo) for formula in wanted]
    must, bits = _judged(formulas, wanted, atoms, texts, limits)
    # Why not of the listed texts: they may be known from elsewhere, and are not asked for here.
    steps = sum(steps_of(atom, limits) for atom in atoms if atom[0] != "strings")
    judged = key, _cost(atoms, texts)
    if rest[0] == FALSE:
        kept = [text for text, holds in zip(texts, must.tolist(), strict=True) if holds]
        return _listed(kept, bits[must], options, limits), steps, (judged,)
    base, more, below = _kept(formulas, rest, options, limits)
    return _laid(base, texts, must, bits, options, limits), steps + more, (judged, *below)


def judged_texts(
    formulas: Formulas, wanted: Sequence[int], more: Sequence[str], limits: Limits
) -> tuple[list[str], list[int], list[int]]:
    """Return the listed texts and some more, the truths of the formulas for each as bits, and the formulas for all other texts."""
    atoms = list(dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)))
    memo: dict[int, int] = {}
    rest = [formulas.rewrite(formula, lambda atom: _without(formulas, atom), memo) for formula in wanted]
    texts = _texts_of([*atoms, ("strings", tuple(more))])
    if not texts:
        return [], [], rest
    _, bits = _judged(formulas, (TRUE, *wanted), atoms, texts, limits)
    return texts, numbers_of(bits), rest


def _texts_of(atoms: Sequence[Atom]) -> list[str]:
    """Return the texts that atoms list, sorted, without those with lone surrogates."""
    return without_surrogates({text for atom in atoms if atom[0] == "strings" for text in atom[1]})


def without_surrogates(texts: Iterable[str]) -> list[str]:
    """Return texts in order, without those with lone surrogates, which no JSON string here contains."""
    ordered = sorted(texts)
    if SURROGATE.search("".join(ordered)):
        ordered = [text for text in ordered if not SURROGATE.search(text)]
    return ordered


@cache
def _nothing() -> Automaton:
    return Automaton.from_table(np.full((1, 1), DEAD, np.int32), np.zeros(256, np.uint8), np.zeros(1, np.bool_))


def _listed(texts: list[str], bits: BoolArray, options: JsonOptions, limits: Limits) -> Labeled:
    """Return the bodies of exactly these texts."""
    if bits.any() or not has_one_body(texts, options.spelling):
        return _laid(Labeled(_nothing()), texts, np.ones(len(texts), np.bool_), bits, options, limits)
    found = from_strings([canonical_body(text, options.quote) for text in texts], limits)
    return Labeled(found, (0,) if bits.shape[1] > DIRECT else ())


def _laid(
    base: Labeled, texts: list[str], must: BoolArray, bits: BoolArray, options: JsonOptions, limits: Limits
) -> Labeled:
    """Overlay texts on an automaton of other texts."""
    if lost := set(unwritable(options.spelling)):
        written = [i for i, text in enumerate(texts) if lost.isdisjoint(text)]
        texts, must, bits = [texts[i] for i in written], must[written], bits[written]
    laid = overlay(base.automaton, texts, spelling_of(options.spelling), limits)
    vectors, labels = _numbered(bits, base.vectors)
    laid.accepting[laid.ends] = must
    laid.labels[laid.ends] = np.where(must, labels, 0)
    return Labeled(Automaton.from_table(laid.table, laid.classes, laid.accepting, laid.labels, laid.start), vectors)


def _unlisted(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits, key: Hashable) -> _Made:
    found = language(formulas, wanted, limits)
    vectors, marks = _labels_of(found)
    spelling = spelling_of(options.spelling)
    automaton = spelled(found.table, found.accepting, marks, found.parts, spelling, limits)
    return Labeled(automaton, vectors), found.steps, ((key, found.cost),)


def _labels_of(found: Language) -> tuple[tuple[int, ...], Int32Array]:
    """Return the vectors of a leaf, and the label of each state."""
    vectors, labels = _numbered(found.bits, ())
    marks: Int32Array = np.where(found.accepting, labels[found.labels], 0).astype(np.int32)
    return vectors, marks


def _judged(
    formulas: Formulas, wanted: Sequence[int], atoms: Sequence[Atom], texts: Sequence[str], limits: Limits
) -> tuple[BoolArray, BoolArray]:
    """Return for each text whether the first formula holds, and which of the others do; `_cost` is spent."""
    formulas.spend(_cost(atoms, texts))
    truths = {}
    for atom in atoms:
        if atom[0] == "strings":
            members = frozenset(atom[1])
            truths[atom] = np.fromiter((text in members for text in texts), np.bool_, len(texts))
        elif atom[0] == "length":
            lengths = np.fromiter(map(len, texts), np.int64, len(texts))
            truths[atom] = (lengths >= atom[1]) & ((lengths <= atom[2]) | (atom[2] == ANY_LENGTH))
        else:
            truths[atom] = truth(known(atom, limits).dfa, texts)
    must, *observed = evaluate(formulas, wanted, truths, len(texts))
    return must, np.array(observed, np.bool_).reshape(len(observed), len(texts)).T


def _cost(atoms: Sequence[Atom], texts: Sequence[str]) -> int:
    """Return the steps that judging texts takes."""
    return sum(atom[0] not in ("strings", "length") for atom in atoms) * len(texts) // _PER_STEP


def _numbered(
    bits: BoolArray, before: tuple[int, ...]
) -> tuple[tuple[int, ...], "np.ndarray[tuple[int], np.dtype[np.int32]]"]:
    """Return the vectors, those of ``before`` first, and the label of each row: the bits themselves if they are few."""
    n_rows, n_bits = bits.shape
    if n_bits <= DIRECT:
        return (), (bits @ (1 << np.arange(n_bits, dtype=np.int32))).astype(np.int32).reshape(n_rows)
    numbers = {vector: i for i, vector in enumerate(before or (0,))}
    found = [numbers.setdefault(number, len(numbers)) for number in numbers_of(bits)]
    return tuple(numbers), np.array(found, np.int32)


def _without(formulas: Formulas, atom: Atom) -> int:
    return FALSE if atom[0] == "strings" else formulas.atom(atom)
