"""States of token sequences in whatever order a search shows them, against the definition: each sequence read anew."""

import random
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guided.integrations import row_history
from guided.integrations.row_history import History, Rows
from tests.profiles import examples

INITIAL = [7, 11]


def advance(kind: int, state: int, token: int) -> int:
    """Different for any two sequences of tokens, as good as certainly."""
    return hash((kind, state, token))


def read_anew(kind: int, tokens: tuple[int, ...]) -> int:
    state = INITIAL[kind]
    for token in tokens:
        state = advance(kind, state, token)
    return state


def assert_followed(history: History, prompt: tuple[int, ...], rows: list[tuple[int, ...]], kinds: list[int]) -> None:
    tokens = np.array([[*prompt, *row] for row in rows], np.int64).reshape(len(rows), -1)
    followed = history.follow(tokens, kinds)
    assert [node.n_generated for node in followed.nodes] == [len(row) for row in rows]
    assert [node.state for node in followed.nodes] == [
        read_anew(kind, row) for kind, row in zip(kinds, rows, strict=True)
    ]


@settings(max_examples=examples(150))
@given(data=st.data())
def test_any_walk_over_a_tree_of_sequences(data: st.DataObject) -> None:
    """Rows of a call are any sequences shown before, or those and one token more: reordered, repeated, fewer, more, shorter."""
    history = History(INITIAL, advance)
    # Prompts have tokens that no text has, so that none continues another.
    prompt = tuple(data.draw(st.lists(st.integers(90, 99), min_size=1, max_size=3)))
    seen: set[tuple[int, tuple[int, ...]]] = {(0, ()), (1, ())}
    assert_followed(history, prompt, [(), ()], [0, 1])
    for _ in range(data.draw(st.integers(1, 25))):
        length = data.draw(st.integers(0, 1 + max(len(row) for _, row in seen)))
        known = sorted(one for one in seen if length - 1 <= len(one[1]))
        shown = []
        for _ in range(data.draw(st.integers(1, 4))):
            kind, row = data.draw(st.sampled_from(known))
            row = row[:length] if len(row) >= length else (*row, data.draw(st.integers(0, 2)))
            shown.append((kind, row))
        assert_followed(history, prompt, [row for _, row in shown], [kind for kind, _ in shown])
        seen |= set(shown)


def test_texts_under_way_in_turns() -> None:
    """Many prompts in one history, each a step further at random moments; some end, others begin."""
    chosen = random.Random(0)
    history = History(INITIAL, advance)
    prompts = [(*chosen.choices(range(90, 99), k=chosen.randint(1, 3)), 100 + place) for place in range(20)]
    texts: list[tuple[int, ...]] = [() for _ in prompts]
    begun = [False] * len(prompts)
    for _ in range(400):
        place = chosen.randrange(len(prompts))
        if begun[place]:
            texts[place] = (*texts[place], chosen.randrange(3))
            if chosen.random() < 0.2:
                texts[place] = texts[place][: chosen.randint(0, len(texts[place]))]
        begun[place] = True
        assert_followed(history, prompts[place], [texts[place]], [place % 2])


def test_rows_in_place_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """They grow by a token, or roll back over rejected ones and grow by one."""
    history = History(INITIAL, advance)
    rows: list[tuple[int, ...]] = [(), ()]
    assert_followed(history, (90,), rows, [0, 1])
    monkeypatch.delattr(Rows, "found")
    for rejected in (0, 0, 0, 2, 1, 0, 0, 0, 3, 1):
        rows = [(*row[: len(row) - rejected], 5 + rejected + place) for place, row in enumerate(rows)]
        assert_followed(history, (90,), rows, [0, 1])


def test_groups_of_beams_are_shown_one_after_the_other() -> None:
    chosen = random.Random(1)
    history = History(INITIAL, advance)
    groups: list[list[tuple[int, ...]]] = [[()] * 3 for _ in range(4)]
    for _ in range(30):
        for place, rows in enumerate(groups):
            assert_followed(history, (90, 91), rows, [0] * 3)
            groups[place] = [(*row, chosen.randrange(3)) for row in chosen.choices(rows, k=3)]


def test_a_history_shared_by_threads() -> None:
    history = History(INITIAL, advance)
    failed: list[BaseException] = []

    def run(seed: int) -> None:
        chosen = random.Random(seed)
        row: tuple[int, ...] = ()
        try:
            for _ in range(100):
                assert_followed(history, (90,), [row], [0])
                row = (*row, chosen.randrange(3))
                if chosen.random() < 0.1:
                    row = row[:-2]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_kept_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(INITIAL, advance)
    for step in range(300):
        assert_followed(history, (90,), [tuple([1] * step)], [0])
    assert len(history._calls) == 1, "a text that only grows needs its last call alone"
    monkeypatch.setattr(row_history, "_KEPT_CALLS", 8)
    for prompt in range(50):
        assert_followed(history, (1000 + prompt,), [()], [0])
    assert len(history._calls) == 8
    monkeypatch.setattr(row_history, "_KEPT_TOKENS", 3)
    assert_followed(history, (2000,), [()], [0])
    assert len(history._calls) == 4
