r"""Formulas about strings -> `Leaf`: the bodies of JSON strings, without quotes.

Values that formulas list (an enum, a constant) are laid over the automaton of everything else: without them the formulas are
over patterns, formats and lengths, whose automaton `guided.schema.combination` makes; each listed value is then judged by itself. So an
enum costs its bytes, whatever else is said about it.

Results are kept by the structure of the formulas, so schemas share them. Lengths of thousands are right but large here; where nothing
but a length is asked for, registers are better.

Lone surrogates, which ``\u`` can spell and ``json.loads`` reads, are not in the language, whatever the options: they are no characters,
UTF-8 cannot hold such a value, and neither patterns nor lengths in code points say anything about it.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from functools import cache

import numpy as np

from guided.arrays import DEAD, BoolArray
from guided.automata.automaton import Automaton
from guided.automata.build import from_strings, spend_together
from guided.limits import Limits
from guided.schema.atoms import JsonOptions
from guided.schema.bodies import spelled
from guided.schema.combination import below, evaluate, language
from guided.schema.formula import FALSE, TRUE, Atom, Formulas
from guided.schema.languages import ANY_LENGTH, known, steps_of, truth
from guided.schema.leaf import DIRECT, Leaf
from guided.schema.memo import Memo
from guided.schema.overlay import canonical_body, has_one_body, overlay
from guided.schema.spelling import SPELLINGS

__all__ = ["judged_texts", "string_automaton", "truths_by_length", "truths_together", "without_surrogates"]

_memo: Memo[tuple[Leaf, int]] = Memo(4096, 1 << 26)
_SURROGATE = re.compile("[\ud800-\udfff]")


def string_automaton(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> Leaf:
    """The bodies of the JSON strings of which ``wanted[0]`` holds, labelled by which of the others hold.

    Parameters
    ----------
    formulas : Formulas
        The table of the formulas; it may grow.
    wanted : sequence of int
        Formulas over atoms of strings (`guided.schema.atoms`).
    options : JsonOptions
        ``escapes`` applies.
    limits : Limits
        Budgets, for each pattern and for what is made of them.

    Raises
    ------
    PatternError
        A pattern is malformed, or asks for what no automaton can do.
    LimitError
        A budget is passed.
    """
    return _kept(formulas, wanted, options, limits)[0]


def truths_together(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> tuple[int, ...]:
    """The truths, as bits, that ``wanted[1:]`` have together on the strings of which ``wanted[0]`` holds.

    What the labels of `string_automaton` say, without the spellings of the strings, and of lengths alone without their states.
    Raises as it does.
    """
    atoms = list(dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)))
    by_length = truths_by_length(formulas, wanted)
    if by_length is not None:
        return tuple(sorted({truths >> 1 for truths in by_length if truths & 1}))
    if any(atom[0] == "strings" for atom in atoms):
        leaf = string_automaton(formulas, wanted, options, limits)
        labels = np.unique(leaf.automaton.labels[leaf.automaton.accepting])
        return tuple(sorted(leaf.bits(label) for label in labels.tolist()))
    found = language(formulas, wanted, limits)
    return _as_numbers(found.bits[np.unique(found.labels[found.accepting])])


def truths_by_length(formulas: Formulas, wanted: Sequence[int]) -> tuple[int, ...] | None:
    """The truths, as bits, of formulas that say no more of a string than its length: of length 0, and of each that differs from it.

    None of other formulas.
    """
    atoms = list(dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)))
    if any(atom[0] != "length" for atom in atoms):
        return None
    # Every formula is constant between these lengths.
    lengths = sorted({0, 1, *(atom[1] for atom in atoms), *(atom[2] + 1 for atom in atoms)})
    truths = {
        atom: np.array([atom[1] <= n and (n <= atom[2] or atom[2] == ANY_LENGTH) for n in lengths], np.bool_)
        for atom in atoms
    }
    held = np.array(evaluate(formulas, wanted, truths, len(lengths)), np.bool_).reshape(len(wanted), len(lengths))
    return tuple(sum(1 << i for i, holds in enumerate(row) if holds) for row in held.T.tolist())


def _as_numbers(bits: BoolArray) -> tuple[int, ...]:
    """Each row of bits as a number, once, ascending."""
    return tuple(sorted({sum(1 << i for i, holds in enumerate(row) if holds) for row in bits.tolist()}))


def structure(formulas: Formulas, wanted: Sequence[int]) -> Hashable:
    """What formulas say, whatever their ids: equal only if the formulas are equal but for names of nodes."""
    if len(wanted) == 1 and formulas.nodes[wanted[0]][0] not in "&|!1":
        return formulas.nodes[wanted[0]]
    order = below(formulas, wanted)
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


def _kept(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> tuple[Leaf, int]:
    """The automaton, and the steps that its patterns count each time (`guided.automata.build.one_budget`)."""
    key = structure(formulas, wanted), options.escapes, limits
    found = _memo.get(key)
    if found is not None:
        spend_together(found[1])
        return found
    made = _made(formulas, wanted, options, limits)
    return _memo.put(key, made)


def _made(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> tuple[Leaf, int]:
    atoms = list(dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)))
    if not any(atom[0] == "strings" for atom in atoms):
        return _unlisted(formulas, wanted, options, limits)
    texts = _texts_of(atoms)
    memo: dict[int, int] = {}
    rest = [formulas.rewrite(formula, lambda atom: _without(formulas, atom), memo) for formula in wanted]
    must, bits = _judged(formulas, wanted, atoms, texts, limits)
    steps = sum(steps_of(atom, limits) for atom in atoms)
    if rest[0] == FALSE:
        kept = [text for text, holds in zip(texts, must.tolist(), strict=True) if holds]
        return _listed(kept, bits[must], options, limits), steps
    base, more = _kept(formulas, rest, options, limits)
    return _laid(base, texts, must, bits, options, limits), steps + more


def judged_texts(
    formulas: Formulas, wanted: Sequence[int], more: Sequence[str], limits: Limits
) -> tuple[list[str], list[int], list[int]]:
    """The texts that formulas list and some more, which of the formulas hold of each, as bits, and what they say of all others."""
    atoms = list(dict.fromkeys(atom for formula in wanted for atom in formulas.atoms(formula)))
    memo: dict[int, int] = {}
    rest = [formulas.rewrite(formula, lambda atom: _without(formulas, atom), memo) for formula in wanted]
    texts = _texts_of([*atoms, ("strings", tuple(more))])
    if not texts:
        return [], [], rest
    _, bits = _judged(formulas, (TRUE, *wanted), atoms, texts, limits)
    return texts, [sum(1 << i for i, holds in enumerate(row) if holds) for row in bits.tolist()], rest


def _texts_of(atoms: Sequence[Atom]) -> list[str]:
    """The texts that atoms list, sorted, but for those with lone surrogates."""
    return without_surrogates({text for atom in atoms if atom[0] == "strings" for text in atom[1]})


def without_surrogates(texts: Iterable[str]) -> list[str]:
    """Texts in order, but for those with lone surrogates, which no JSON string here has."""
    ordered = sorted(texts)
    if _SURROGATE.search("".join(ordered)):
        ordered = [text for text in ordered if not _SURROGATE.search(text)]
    return ordered


@cache
def _nothing() -> Automaton:
    return Automaton.from_table(np.full((1, 1), DEAD, np.int32), np.zeros(256, np.uint8), np.zeros(1, np.bool_))


def _listed(texts: list[str], bits: BoolArray, options: JsonOptions, limits: Limits) -> Leaf:
    """The bodies of some texts and no others."""
    if bits.any() or not has_one_body(texts, options.escapes):
        return _laid(Leaf(_nothing()), texts, np.ones(len(texts), np.bool_), bits, options, limits)
    found = from_strings([canonical_body(text) for text in texts], limits)
    return Leaf(found, (0,) if bits.shape[1] > DIRECT else ())


def _laid(base: Leaf, texts: list[str], must: BoolArray, bits: BoolArray, options: JsonOptions, limits: Limits) -> Leaf:
    """An automaton of other texts, with these laid over it."""
    laid = overlay(base.automaton, texts, SPELLINGS[options.escapes], limits)
    vectors, labels = _numbered(bits, base.vectors)
    laid.accepting[laid.ends] = must
    laid.labels[laid.ends] = np.where(must, labels, 0)
    return Leaf(Automaton.from_table(laid.table, laid.classes, laid.accepting, laid.labels, laid.start), vectors)


def _unlisted(formulas: Formulas, wanted: Sequence[int], options: JsonOptions, limits: Limits) -> tuple[Leaf, int]:
    found = language(formulas, wanted, limits)
    vectors, labels = _numbered(found.bits, ())
    marks = np.where(found.accepting, labels[found.labels], 0).astype(np.int32)
    spelling = SPELLINGS[options.escapes]
    return Leaf(spelled(found.table, found.accepting, marks, found.parts, spelling, limits), vectors), found.steps


def _judged(
    formulas: Formulas, wanted: Sequence[int], atoms: Sequence[Atom], texts: Sequence[str], limits: Limits
) -> tuple[BoolArray, BoolArray]:
    """For each text: does the first formula hold, and which of the others."""
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


def _numbered(
    bits: BoolArray, before: tuple[int, ...]
) -> tuple[tuple[int, ...], "np.ndarray[tuple[int], np.dtype[np.int32]]"]:
    """Vectors, those of ``before`` first, and the label of each row of bits: the bits themselves where they are few."""
    n_rows, n_bits = bits.shape
    if n_bits <= DIRECT:
        return (), (bits @ (1 << np.arange(n_bits, dtype=np.int32))).astype(np.int32).reshape(n_rows)
    numbers = {vector: i for i, vector in enumerate(before or (0,))}
    found = [
        numbers.setdefault(int.from_bytes(row.tobytes(), "little"), len(numbers))
        for row in np.packbits(bits, axis=1, bitorder="little")
    ]
    return tuple(numbers), np.array(found, np.int32)


def _without(formulas: Formulas, atom: Atom) -> int:
    return FALSE if atom[0] == "strings" else formulas.atom(atom)
