"""The official suite, case by case: what was right stays right, no verdict is ever wrong, and what is refused is refused by name.

``tests/data/json-schema/ratchet.json`` holds the outcome of each case: "right", "narrowed", or "refused: KEYWORD". After the engine has
learnt more, ``GUIDED_RATCHET=write python -m pytest tests/schema/test_official_suite.py`` writes it anew; wrong verdicts are not written.
"""

import json
import os
from pathlib import Path

import pytest

from guided.errors import LimitError, SchemaError
from tests.schema import keywords_table, official
from tests.schema.engine import compiled, is_empty, refusal

RATCHET = Path(__file__).parent.parent / "data" / "json-schema" / "ratchet.json"
WRITING = os.environ.get("GUIDED_RATCHET") == "write"


def outcome(case: official.Case) -> str:
    """ "right", "refused: KEYWORD", or "wrong: DESCRIPTIONS"."""
    mode = "assert" if case.kind == "format" or case.file == "optional/format-assertion.json" else "annotate"
    try:
        guide = compiled(
            case.schema,
            registry=official.registry(),
            property_order="any",
            numbers="any",
            escapes="any",
            format=mode,
        ).guide()
        wrong: list[official.Test] = []
        for test in case.tests:
            texts = {json.dumps(test.data, ensure_ascii=ascii_only).encode() for ascii_only in (False, True)}
            wrong += [test for text in texts if guide.accepts(text) != test.valid]
    except (SchemaError, LimitError) as error:
        if is_empty(error):
            return _judged(case, [test for test in case.tests if test.valid])
        return f"refused: {refusal(error)}"
    return _judged(case, wrong)


def _judged(case: official.Case, wrong: list[official.Test]) -> str:
    if case.name in NARROWED and wrong and all(test.valid for test in wrong):
        return "narrowed"
    return f"wrong: {'; '.join(test.description for test in wrong)}" if wrong else "right"


# Formats of which the engine knows a part of the language only, on purpose: valid instances are rejected, none that is invalid is accepted.
NARROWED = {
    "optional/format/hostname.json: validation of A-label (punycode) host names",
    "optional/format/ecmascript-regex.json: ECMA 262 named groups and backreferences are valid",
}


def recorded() -> dict[str, str]:
    found: dict[str, str] = json.loads(RATCHET.read_text()) if RATCHET.exists() else {}
    return found


@pytest.mark.parametrize("case", official.cases("required", "optional", "format"), ids=lambda case: case and case.name)
def test_case(case: official.Case) -> None:
    before, now = recorded().get(case.name, "unknown"), outcome(case)
    assert not now.startswith("wrong")
    if WRITING:
        RATCHET.write_text(
            json.dumps({**recorded(), case.name: now}, ensure_ascii=False, indent=0, sort_keys=True) + "\n"
        )
    else:
        assert now == "right" or before != "right", f"was right, and is {now}"
        assert before != "unknown", "is not in the ratchet file yet"


def test_most_cases_are_right() -> None:
    if official.folder() is None:
        pytest.skip(f"json-schema-test-suite is {official.MISSING}")
    found = recorded()
    every = official.cases("required", "optional", "format")
    sizes = {case.name: len(case.tests) for case in every}
    assert len(sizes) == len(every), "names are unique"
    right = sum(size for name, size in sizes.items() if found.get(name) == "right")
    assert right >= 0.85 * sum(sizes.values()), f"{right} of {sum(sizes.values())}"
    assert not [name for name, told in found.items() if told.startswith("wrong")]


def test_refusals_name_a_keyword() -> None:
    allowed = {"right", "narrowed"} | {f"refused: {keyword}" for keyword in REFUSED}
    assert set(recorded().values()) <= allowed


# What is refused, and why: see docs/keywords.md.
REFUSED = {"format", "limit steps"}


def test_the_document_has_the_verdicts() -> None:
    text = keywords_table.DOCUMENT.read_text(encoding="utf-8")
    assert keywords_table.with_tables(text) == text, "run python -m tests.schema.keywords_table"
