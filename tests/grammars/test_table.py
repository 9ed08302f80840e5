"""docs/grammars.md says what the grammars are."""

import lark
import pytest

from tests.grammars import table
from tests.grammars.table import DOCUMENT, document


@pytest.mark.slow
def test_the_table_equals_the_output_of_the_command() -> None:
    assert document() == DOCUMENT.read_text(encoding="utf-8"), "python -m tests.grammars.table --write"


def test_the_table_counts_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    dangling = '// A.\n// Standard: none.\n// Start: start.\n\nstart: "a" start ["b" start] | "c"\n'
    monkeypatch.setattr(table, "grammar_names", lambda: ("dangling",))
    monkeypatch.setattr(table, "source", lambda name: dangling)
    monkeypatch.setattr(table, "load", lambda name: lark.Lark(dangling, parser="lalr"))
    assert table.table().splitlines()[-1] == "| `dangling` | A | none | contextual | 1 | 3 | 3 | 7 | 1 |"
