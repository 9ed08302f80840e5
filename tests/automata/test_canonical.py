"""The canonical form: minimal by Myhill and Nerode, and one array for one language, however the table was given."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.minimize import distinct
from tests.profiles import examples


@dataclass(frozen=True, slots=True)
class Table:
    """Any deterministic automaton over a few columns, dead ends and unreachable states included."""

    rows: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]
    labels: tuple[int, ...]
    start: int
    columns: tuple[int, ...]

    @property
    def classes(self) -> list[int]:
        """Column of each byte."""
        return [self.columns[byte % len(self.columns)] for byte in range(256)]

    def build(self) -> Automaton:
        return Automaton.from_table(
            np.array(self.rows, np.int32),
            np.array(self.classes, np.uint8),
            np.array(self.accepting, np.bool_),
            np.array(self.labels, np.int32),
            self.start,
        )


@st.composite
def tables(draw: st.DrawFn, max_states: int = 9, max_label: int = 0) -> Table:
    n, k = draw(st.integers(1, max_states)), draw(st.integers(1, 4))
    row = st.tuples(*[st.integers(-1, n - 1)] * k)
    labels = st.integers(-1 if max_label else 0, max_label)
    columns = draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=6))
    return Table(
        tuple(draw(row) for _ in range(n)),
        tuple(draw(st.tuples(*[st.booleans()] * n))),
        tuple(draw(st.tuples(*[labels] * n))),
        draw(st.integers(0, n - 1)),
        tuple(columns),
    )


def nerode(table: Table) -> tuple[int, int]:
    """Numbers of states and of columns of the minimal trim automaton, from the definitions.

    States are equivalent when all words lead them to the same verdict: told apart by words of growing length, until nothing changes.
    """
    columns = sorted(set(table.classes))
    n = len(table.rows)
    live = {state for state in range(n) if table.accepting[state]}
    for _ in range(n):
        live |= {state for state in range(n) if any(table.rows[state][c] in live for c in columns)}
    verdict: list[object] = [(table.accepting[s], table.labels[s]) if s in live else None for s in range(n)]
    for _ in range(n):
        further = [
            (verdict[s], *(verdict[t] if (t := table.rows[s][c]) >= 0 else None for c in columns))
            if s in live
            else None
            for s in range(n)
        ]
        numbers = {content: number for number, content in enumerate(dict.fromkeys(further))}
        verdict = [content and numbers[content] + 1 for content in further]
    reached, work = {table.start}, [table.start]
    while work:
        for c in columns:
            target = table.rows[work[-1]][c]
            if target >= 0 and target not in reached:
                reached.add(target)
                work.insert(0, target)
        work.pop()
    kept = {verdict[state]: state for state in reached & live}
    if table.start not in live:
        return 1, 1
    by_column = {
        tuple(verdict[t] if (t := table.rows[state][c]) in live else None for state in kept.values()) for c in columns
    }
    return len(kept), len(by_column)


@settings(max_examples=examples(400))
@given(tables())
@example(Table(((0,),), (False,), (0,), 0, (0,)))
@example(Table(((-1,),), (True,), (0,), 0, (0,)))
def test_automata_are_minimal(table: Table) -> None:
    assert table.build().table.shape == nerode(table)


@settings(max_examples=examples(300))
@given(tables(max_label=2))
def test_labels_keep_states_distinct(table: Table) -> None:
    assert table.build().table.shape == nerode(table)


@settings(max_examples=examples(300))
@given(tables(max_label=1), st.lists(st.binary(max_size=12), min_size=1, max_size=10))
def test_the_canonical_form_reads_as_the_table_does(table: Table, words: list[bytes]) -> None:
    automaton = table.build()
    for word in words:
        state = table.start
        for byte in word:
            state = table.rows[state][table.classes[byte]] if state >= 0 else -1
        assert automaton.accepts(word) == (state >= 0 and table.accepting[state])
        if automaton.accepts(word):
            assert automaton.labels[automaton.run(word)] == table.labels[state]


@settings(max_examples=examples(300))
@given(tables(max_label=1), st.randoms(use_true_random=False))
def test_equal_languages_have_equal_arrays(table: Table, random) -> None:
    """States renumbered and doubled, columns renumbered and doubled: the same arrays come out."""
    n, k = len(table.rows), len(table.rows[0])
    copies = [state for state in range(n) for _ in range(random.randint(1, 3))]
    random.shuffle(copies)
    of = {state: [i for i, copy in enumerate(copies) if copy == state] for state in range(n)}
    columns = [*range(k), *(random.randrange(k) for _ in range(2))]
    random.shuffle(columns)
    places = {column: [i for i, copy in enumerate(columns) if copy == column] for column in range(k)}
    other = Table(
        tuple(
            tuple(random.choice(of[target]) if (target := table.rows[state][column]) >= 0 else -1 for column in columns)
            for state in copies
        ),
        tuple(table.accepting[state] for state in copies),
        tuple(table.labels[state] for state in copies),
        random.choice(of[table.start]),
        tuple(random.choice(places[column]) for column in table.classes),
    )
    first, second = table.build(), other.build()
    assert first == second
    assert hash(first) == hash(second)
    assert first.fingerprint == second.fingerprint


@settings(max_examples=examples(200))
@given(tables(), tables())
def test_different_languages_have_different_arrays(left: Table, right: Table) -> None:
    first, second = left.build(), right.build()
    difference = ((first - second) | (second - first)).witness()
    assert (first == second) == (difference is None) == (first.fingerprint == second.fingerprint)
    if difference is not None:
        assert first.accepts(difference) != second.accepts(difference)


@settings(max_examples=examples(100))
@given(tables(max_label=2))
def test_the_canonical_form_is_a_fixed_point(table: Table) -> None:
    automaton = table.build()
    again = Automaton.from_table(automaton.table, automaton.classes, automaton.accepting, automaton.labels)
    assert again == automaton


@settings(max_examples=examples(200))
@given(tables(max_label=2), st.sets(st.integers(0, 11)))
def test_automata_within_an_alphabet_are_canonical(table: Table, lacking: set[int]) -> None:
    automaton = table.build()
    alphabet = np.array([byte % 12 not in lacking for byte in range(256)])
    rows = automaton.by_byte()
    rows[:, ~alphabet] = -1
    expected = Automaton.from_table(rows, np.arange(256, dtype=np.uint8), automaton.accepting, automaton.labels)
    within = automaton.within(alphabet)
    assert within == expected
    # Nothing is computed where no text is lost.
    assert (within is automaton) == (expected == automaton)


def test_classes_are_numbered_by_their_least_byte_and_states_breadth_first() -> None:
    automaton = Table(((2, 1), (-1, 0), (1, -1)), (True, False, False), (0, 0, 0), 0, (1, 0)).build()
    assert automaton.classes[:4].tolist() == [0, 1, 0, 1]
    discovered = [t for row in automaton.table.tolist() for t in row if t > 0]
    assert list(dict.fromkeys(discovered)) == sorted(set(discovered))


def test_arrays_are_read_only() -> None:
    automaton = Table(((0,),), (True,), (0,), 0, (0,)).build()
    for array in (automaton.table, automaton.classes, automaton.accepting, automaton.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_large_random_tables_are_minimized_as_by_hand() -> None:
    generator = np.random.default_rng(7)
    for n, k in ((400, 2), (2_000, 3)):
        rows = generator.integers(-1, n, (n, k)).astype(np.int32)
        accepting = generator.random(n) < 0.05
        table = Table(tuple(map(tuple, rows.tolist())), tuple(accepting.tolist()), (0,) * n, 0, tuple(range(k)))
        doubled = np.vstack([rows, rows + np.where(rows >= 0, n, 0)]).astype(np.int32)
        other = Automaton.from_table(doubled, np.array(table.classes), np.tile(accepting, 2), start=n)
        assert other == table.build()
        if n == 400:
            assert table.build().table.shape == nerode(table)


TABLE, CLASSES, FINAL = np.zeros((2, 1), np.int32), np.zeros(256, np.uint8), np.ones(2, np.bool_)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 1), np.int32), CLASSES, FINAL[:0]), r"a table has rows for states .*, not the shape \(0, 1\)"),
        ((np.zeros(3, np.int32), CLASSES, FINAL), r"not the shape \(3,\)"),
        ((TABLE, CLASSES[:255], FINAL), r"classes has shape \(255,\), not \(256,\)"),
        ((TABLE, CLASSES, FINAL[:1]), r"accepting has shape \(1,\), not \(2,\)"),
        ((TABLE, CLASSES, FINAL, np.zeros(3, np.int32)), r"labels has shape \(3,\), not \(2,\)"),
        ((TABLE, CLASSES + 1, FINAL), "columns run from 0 to 0, and classes names 1 to 1"),
        ((TABLE, CLASSES.astype(np.int64) - 1, FINAL), "classes names -1 to -1"),
        ((TABLE + 2, CLASSES, FINAL), "states run from 0 to 1, and the table goes to 2, the start is 0"),
        ((TABLE, CLASSES, FINAL, None, 2), "the start is 2"),
        ((TABLE, CLASSES, FINAL, None, -1), "the start is -1"),
    ],
)  # fmt: skip
def test_tables_that_do_not_fit_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Automaton.from_table(*arguments)


@given(st.lists(st.integers(-2, 200), max_size=60), st.integers(1, 1 << 40))
def test_distinct_values_and_their_ranks(values: list[int], scale: int) -> None:
    for some in (values, [value * scale for value in values]):
        found, ranks = distinct(np.array(some, np.int64))
        assert found.tolist() == sorted(set(some))
        assert found[ranks].tolist() == some
