"""docs/grammars.md says what the grammars are."""

from tests.grammars.table import DOCUMENT, document


def test_the_table_equals_the_output_of_the_command() -> None:
    assert document() == DOCUMENT.read_text(encoding="utf-8"), "python -m tests.grammars.table --write"
