"""Every line of the checklists of ToolDec and of Outlines has a test, and the document says where."""

import re

import pytest

from tests import checklist

IDS = [*(f"T{number}" for number in range(1, 38)), *(f"O{number}" for number in range(1, 22))]


@pytest.mark.slow
def test_every_line_has_a_test() -> None:
    assert set(checklist.files_by_id()) == set(IDS)


def test_the_document_names_the_files_of_the_tests() -> None:
    document = checklist.DOCUMENT.read_text(encoding="utf-8")
    assert re.findall(r"^\| ([OT]\d+) \|", document, flags=re.MULTILINE) == IDS
    assert checklist.tabled(document) == document, "python -m tests.checklist"
