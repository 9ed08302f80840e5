"""Serialization of `LalrTables` for index files: loading needs neither Lark nor the grammar's text.

Arrays are compressed; all references between arrays and numbers are checked on loading.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from guided.arrays import Int32Array, freeze
from guided.files import pack, unpack
from guided.lalr.tables import Conflict, Indentation, LalrTables, Lexer, LexerContext, Start, Terminal
from guided.limits import Limits

__all__ = ["packed", "unpacked"]

_ARRAYS = ("indptr", "symbol", "value", "context")


def packed(tables: LalrTables) -> dict[str, Any]:
    """Return the tables as JSON-serializable data."""
    lexer = tables.lexer
    return {
        "nonterminals": list(tables.nonterminals),
        "rules": [[origin, *side] for origin, side in tables.rules],
        "arrays": {name: pack(getattr(tables, name).astype("<i4").tobytes(), 6) for name in _ARRAYS},
        "starts": [asdict(start) for start in tables.starts],
        "terminals": [asdict(terminal) for terminal in lexer.terminals],
        "ignored": sorted(lexer.ignored),
        "keywords": [list(pair) for pair in lexer.keywords],
        "contexts": [[list(context.terminals), list(context.keywords)] for context in lexer.contexts],
        "indentation": asdict(tables.indentation) if tables.indentation else None,
        "conflicts": [asdict(conflict) for conflict in tables.conflicts],
        **({"scannerless": True} if lexer.is_scannerless else {}),
        **({"longest": True} if lexer.takes_longest else {}),
    }


def unpacked(content: dict[str, Any], limits: Limits | None = None) -> LalrTables:
    """Restore tables from the output of `packed`.

    Raises
    ------
    ValueError
        The content is malformed or has dangling references.
    """
    most = (limits or Limits()).file_bytes
    try:
        arrays: dict[str, Int32Array] = {
            name: freeze(np.frombuffer(unpack(content["arrays"][name], most), "<i4"), np.int32) for name in _ARRAYS
        }
        lexer = Lexer(
            tuple(Terminal(str(one["name"]), str(one["pattern"]), int(one["flags"])) for one in content["terminals"]),
            frozenset(map(int, content["ignored"])),
            tuple((int(owner), int(word)) for owner, word in content["keywords"]),
            tuple(LexerContext(tuple(map(int, tried)), tuple(map(int, words))) for tried, words in content["contexts"]),
            content.get("scannerless") is True,
            content.get("longest") is True,
        )
        written = content["indentation"]
        indentation = written and Indentation(
            str(written["newline"]), tuple(map(str, written["opening"])), tuple(map(str, written["closing"])),
            str(written["indent"]), str(written["dedent"]), int(written["tab"]),
        )  # fmt: skip
        tables = LalrTables(
            lexer=lexer,
            nonterminals=tuple(map(str, content["nonterminals"])),
            rules=tuple((int(origin), tuple(map(int, side))) for origin, *side in content["rules"]),
            starts=tuple(Start(str(one["name"]), int(one["state"]), int(one["end"])) for one in content["starts"]),
            indentation=indentation or None,
            conflicts=tuple(
                Conflict(*(int(one[name]) for name in ("terminal", "rule", "taken", "n_states")))
                for one in content["conflicts"]
            ),
            **arrays,
        )
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"not the tables of a grammar: {error}") from error
    if not _holds(tables):
        raise ValueError("its tables contain numbers out of range")
    return tables


def _holds(tables: LalrTables) -> bool:
    n_states, n_rules, lexer = tables.n_states, len(tables.rules), tables.lexer
    end, indptr, symbol, value = tables.end, tables.indptr, tables.symbol, tables.value
    numbers = range(end)
    return (
        n_states > 0
        and indptr[0] == 0
        and bool((np.diff(indptr) >= 0).all())
        and len(symbol) == len(value) == indptr[-1]
        and _within(symbol, 0, len(tables.symbols))
        and _within(value, -n_rules, n_states)
        and _within(value[symbol > end], 0, n_states)
        and all(end < origin < len(tables.symbols) for origin, _ in tables.rules)
        and all(0 <= one < len(tables.symbols) and one != end for _, side in tables.rules for one in side)
        and all(len(side) <= n_states for _, side in tables.rules)
        and len(tables.context) == n_states
        and _within(tables.context, 0, len(lexer.contexts))
        and all(0 <= start.state < n_states and 0 <= start.end < n_states for start in tables.starts)
        and all(one.terminal in range(end + 1) and one.rule in range(n_rules) for one in tables.conflicts)
        and all(-1 <= one.taken < n_rules for one in tables.conflicts)
        and all(number in numbers for number in lexer.ignored)
        and all(owner in numbers and word in numbers for owner, word in lexer.keywords)
        and all(number in numbers for context in lexer.contexts for number in context.terminals)
        and all(0 <= word < len(lexer.keywords) for context in lexer.contexts for word in context.keywords)
    )


def _within(array: Int32Array, low: int, end: int) -> bool:
    return array.size == 0 or (int(array.min()) >= low and int(array.max()) < end)
