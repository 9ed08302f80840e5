"""The wording of the package: phrases that plain technical English replaced do not return (ADR 0047)."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import guided

PACKAGE = Path(guided.__file__).resolve().parent
TEXTS = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}

# Kinds of tokens that contain prose.
PROSE = frozenset({tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)})

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


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each comment and string."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in PROSE:
            yield token.start[0], token.string


@pytest.mark.parametrize("phrase", PHRASES)
def test_prose_is_plain_technical_english(phrase: str) -> None:
    pattern = re.compile(phrase, re.IGNORECASE)
    found = [
        (f"{path.relative_to(PACKAGE.parent)}:{line}", words[max(match.start() - 30, 0) : match.end() + 30])
        for path, text in TEXTS.items()
        if pattern.search(text)  # code may match, too
        for line, words in prose(text)
        for match in pattern.finditer(words)
    ]
    assert not found, f"write {PHRASES[phrase]!r} or similar"


def test_packages_describe_their_input_and_output() -> None:
    """A package says in a paragraph or more what it does, and in which order to read it."""
    packages = {path: text for path, text in TEXTS.items() if path.name == "__init__.py" and path.parent != PACKAGE}
    short = [
        str(path.parent.relative_to(PACKAGE))
        for path, text in packages.items()
        if len((re.match(r'"""(.*?)"""', text, re.DOTALL) or [""])[0]) < 200
    ]
    assert not short
