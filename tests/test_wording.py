"""The wording of the package: names and phrases that plain technical English replaced do not return (ADR 0047)."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

import guided

PACKAGE = Path(guided.__file__).resolve().parent
FILES = sorted(PACKAGE.rglob("*.py"))

# Kinds of tokens that contain prose.
PROSE = frozenset({tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})

# Names of this project for which the field has a term, or which had several meanings; also with a leading underscore.
NAMES = frozenset({
    "Adjacent", "Ahead", "Alike", "Around", "Asked", "Assured", "Beneath", "Cell", "Cells", "Course", "FewValues",
    "Job", "Kinds", "Letters", "Liveness", "Living", "Manner", "Place", "PlainObject", "Questions", "Reading",
    "Rests", "Room", "Script", "Spot", "alike", "asked", "been", "goes_on", "is_certain", "is_roomy", "is_told",
    "mended", "may_go_on", "outlasts", "owed", "parted", "said", "spoken_of", "told", "told_apart", "told_by",
    "unending", "way_out", "wish",
})  # fmt: skip

# What a comment, a docstring or a message does not contain, and what it says instead.
PHRASES = {
    r"\bgo(?:es|ing)? on\b": "continues",
    r"\bcomes? to\b": "results in",
    r"\b(?:is|are|was|were) (?:told|spoken of|met)\b": "is reported, mentioned, satisfied",
    r"\bstands? twice\b": "is repeated",
    r"\bsays? nothing\b": "has no effect",
    r"\bhangs? on\b": "depends on",
    r"\bmakes? known\b": "declares",
    r"\b(?:is|are) read for\b": "is checked against",
    r"\bwhat (?:is|are) (?:no|not)\b": "the standard term for it",
    r"\b(?:that|those) which\b": "the noun",
    r"\bnests? too deep\b": "the limit that is exceeded, and by how much",
    r"\bcome along\b": "bundled",
    r"\bmay be said\b": "may be written",
    r"(?<!there )\b(?:is|are) no (?!longer\b|more\b)[a-z]": "is not a",
}


@cache
def tokens() -> list[tuple[str, int, str]]:
    """Return ``file:line``, the type and the text of each name, string and comment."""
    found = []
    for path in FILES:
        with io.StringIO(path.read_text(encoding="utf-8")) as lines:
            for token in tokenize.generate_tokens(lines.readline):
                if token.type == tokenize.NAME or token.type in PROSE:
                    found.append((f"{path.relative_to(PACKAGE.parent)}:{token.start[0]}", token.type, token.string))
    return found


def test_names_are_the_terms_of_the_field() -> None:
    found = [(where, text) for where, kind, text in tokens() if kind == tokenize.NAME and text.lstrip("_") in NAMES]
    assert not found


@pytest.mark.parametrize("phrase", PHRASES)
def test_prose_is_plain_technical_english(phrase: str) -> None:
    pattern = re.compile(phrase, re.IGNORECASE)
    found = [
        (where, text[max(match.start() - 30, 0) : match.end() + 30])
        for where, kind, text in tokens()
        if kind in PROSE
        for match in pattern.finditer(text)
    ]
    assert not found, f"write {PHRASES[phrase]!r} or similar"


def test_packages_describe_their_input_and_output() -> None:
    """A package says in a paragraph or more what it does, and in which order to read it."""
    packages = [path for path in FILES if path.name == "__init__.py" and path.parent != PACKAGE]
    short = [
        str(path.parent.relative_to(PACKAGE))
        for path in packages
        if len((re.match(r'"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL) or [""])[0]) < 200
    ]
    assert not short
