"""The explorer of an index: one self-contained HTML page, in which a person enters tokens and sees what is allowed and why.

The page holds the token bytes of the vocabulary and a byte automaton, and runs tokens through it as the index does. For a regular index
this is the index's own automaton with its token distances, so every answer is exact. Other indices have unboundedly many states: the
page holds those with short texts and shallow stacks, up to ``max_states``. Transitions beyond them are marked, and the page says so
where a text or token reaches them.

Invariant: within the explored part, the page allows exactly the tokens that `Index.allowed` returns. Budgets of parts of a composition
are not counted.

Complexity: O(max_states x 256) steps of the index; the page's size is about that of the vocabulary.
"""

import base64
import html
import json
import re
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np

from guided.arrays import Int32Array
from guided.automata.automaton import Automaton
from guided.automata.drawing import to_svg
from guided.automata.graph import graph_of, least_nodes
from guided.errors import LimitError
from guided.index.composition import CompositionIndex
from guided.index.pushdown import PushdownIndex
from guided.index.regular import RegularIndex
from guided.schema.frontend.json_reader import JsonReader
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["drawing_of", "explorer_page"]

_TEMPLATE = Path(__file__).with_name("explorer.html")
_NODES_DRAWN = 60
_DEAD, _UNEXPLORED = -1, -2
# A cell of the stack counts as much as this many bytes where states are explored.
_PER_CELL = 16


def explorer_page(
    tables: RegularIndex | PushdownIndex | CompositionIndex,
    vocabulary: Vocabulary,
    next_state: Callable[[int, int], int],
    title: str,
    max_states: int,
) -> str:
    """Return the page.

    ``next_state``: state and token to state, or -1. ``title``: a short form of the spec. ``max_states``: of an index with a stack.

    Raises
    ------
    LimitError
        Exploring a state exceeded a budget.
    """
    if isinstance(tables, RegularIndex):
        numbers = list(range(tables.n_states))
        rows = tables.automaton.table[:, tables.automaton.classes]
        data: dict[str, Any] = {"kind": "regular", "distance": tables.distance.tolist()}
        if drawing := drawing_of(tables.automaton):
            data["drawing"] = drawing
    else:
        numbers, rows, texts = _explored(tables, max_states)
        data = {"kind": "composition" if isinstance(tables, CompositionIndex) else "stack"}
        if isinstance(tables, PushdownIndex):
            data["stack"] = [_cells(text, _depth(tables, state)) for text, state in zip(texts, numbers, strict=True)]
    place = {state: number for number, state in enumerate(numbers)}
    distinct, classes = np.unique(rows, axis=1, return_inverse=True)
    names = {token: name for name, token in vocabulary.special.items()}
    data |= {
        "title": title,
        "rows": base64.b64encode(distinct.astype("<i4").tobytes()).decode(),
        "classes": classes.reshape(-1).tolist(),
        "accepting": [int(tables.is_accepting(state)) for state in numbers],
        "tokens": [None if token is None else token.decode("latin-1") for token in vocabulary],
        "eos": [token for token in vocabulary.eos if token < len(vocabulary)],
        "names": names,
        "named": {
            token: [place.get(after, _UNEXPLORED) if (after := next_state(state, token)) >= 0 else _DEAD for state in numbers]
            for token in names
            if vocabulary[token] is None and token not in vocabulary.eos and tables.reads(token)
        },
    }  # fmt: skip
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    contents = {"TITLE": html.escape(title), "DATA": written}
    # Why in one pass: the title may contain a placeholder.
    return re.sub("__(TITLE|DATA)__", lambda found: contents[found[1]], _TEMPLATE.read_text(encoding="utf-8"))


def drawing_of(automaton: Automaton) -> str | None:
    """Return a small automaton as SVG; None if it has more than 60 nodes."""
    graph = graph_of(automaton) if least_nodes(automaton) <= _NODES_DRAWN else None
    return to_svg(graph) if graph is not None and len(graph.nodes) <= _NODES_DRAWN else None


def _explored(tables: PushdownIndex | CompositionIndex, max_states: int) -> tuple[list[int], Int32Array, list[bytes]]:
    """Explore by bytes: short texts first, and shallow stacks before deep ones, which may nest without end.

    Returns
    -------
    numbers : list of int
        The explored states; the first is the initial one.
    rows : ndarray[int32], shape (len(numbers), 256)
        Positions in ``numbers``; -1: not allowed, -2: allowed, and beyond the explored part.
    texts : list of bytes
        A text that leads to each state.
    """
    place: dict[int, int] = {}
    texts: list[bytes] = []
    onward: list[dict[int, int]] = []
    queue, seen = [(0, b"", tables.initial)], {tables.initial}
    while queue and len(place) < max_states:
        _, text, state = heappop(queue)
        place[state] = len(place)
        texts.append(text)
        row = {}
        for byte in tables.onward(state):
            after, count = tables.trace(state, bytes([byte]))
            if count:
                row[byte] = after
                if after not in seen:
                    seen.add(after)
                    heappush(queue, (len(text) + _PER_CELL * _depth(tables, after), text + bytes([byte]), after))
        onward.append(row)
    rows = np.full((len(place), 256), _DEAD, np.int32)
    for number, row in enumerate(onward):
        for byte, after in row.items():
            rows[number, byte] = place.get(after, _UNEXPLORED)
    return list(place), rows, texts


def _depth(tables: PushdownIndex | CompositionIndex, state: int) -> int:
    return tables.stacks.depth(tables.configuration(state)[1]) if isinstance(tables, PushdownIndex) else 0


def _cells(text: bytes, depth: int) -> list[str]:
    """Names of the cells of a stack: the open objects and arrays of a JSON text if they are as many, else numbers."""
    reader = JsonReader()
    with suppress(ValueError, LimitError):
        reader.feed(text.decode(errors="replace"))
    names = ["object" if bracket == "}" else "array" for bracket in reversed(reader.closing)]
    return names if len(names) == depth else [f"cell {number}" for number in range(1, depth + 1)]
