"""The options that say what may be said, and the vocabulary it is said in; shared by all commands.

Exactly one source of a spec is given per command. A further kind of source is one more option here and one more line in
`spec_of`.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from guided.cli.boundary import UsageError

if TYPE_CHECKING:
    from guided.engine.specs import Spec
    from guided.vocabulary.vocabulary import Vocabulary

__all__ = [
    "ChoiceOption",
    "EosOption",
    "JsonOption",
    "RegexOption",
    "VocabularyOption",
    "only_one",
    "plain_text",
    "read_vocabulary",
    "spec_of",
]

RegexOption = Annotated[
    str | None,
    typer.Option("--regex", metavar="PATTERN", help="A regular expression, matched from end to end (Python's syntax)."),
]
ChoiceOption = Annotated[
    list[str] | None,
    typer.Option("--choice", metavar="TEXT", help="One of several texts; give the option once for each."),
]
VocabularyOption = Annotated[
    Path | None,
    typer.Option(
        "--vocabulary",
        metavar="FILE",
        help="The tokenizer's file (tokenizer.json, SentencePiece .model, tiktoken ranks, tekken.json, GGUF), "
        "or a folder with a tokenizer.json.",
    ),
]
EosOption = Annotated[
    list[int] | None,
    typer.Option(
        "--eos", min=0, metavar="ID", help="A token that ends a text, if the file names none; may be repeated."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, one document per line.")]


def only_one(**given: object) -> None:
    """Refuse none and more than one of some options."""
    names = " or ".join(f"--{name}" for name in given)
    present = [f"--{name}" for name, value in given.items() if value]
    if not present:
        raise UsageError(f"say what may be said: give {names}")
    if len(present) > 1:
        raise UsageError(f"{' and '.join(present)} can not go together: give one of them")


def spec_of(regex: str | None, choice: Sequence[str] | None) -> "Spec":
    """The spec that the options give.

    Raises
    ------
    UsageError
        None or several were given.
    SchemaError
        The choices are no choice.
    """
    from guided.engine.specs import Choice, Regex

    # Why not its truth: the empty pattern is a pattern.
    only_one(regex=regex is not None, choice=choice)
    return Regex(regex) if regex is not None else Choice(plain_text(option, "--choice") for option in choice or ())


def plain_text(text: str, name: str) -> str:
    """An argument that must be text: the shell passes bytes, and those that are no UTF-8 are refused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name}: {os.fsencode(text)!r} is not UTF-8") from None
    return text


def read_vocabulary(path: Path | None, eos: Sequence[int] | None = None) -> "Vocabulary":
    """The vocabulary of a file or a folder; without a path, of the default model, fetched if need be.

    Raises
    ------
    VocabularyError
        It can not be read, or names no token that ends a text.
    ModelError
        The default model can not be fetched.
    """
    from guided.errors import VocabularyError
    from guided.vocabulary.vocabulary import Vocabulary

    if path is None:
        from guided.integrations.load import default_model_folder

        path = default_model_folder()
    if path.is_dir():
        path = path / "tokenizer.json"
    # Why names: a file of ranks holds no special tokens, so an id may lie beyond its ids; a named one is added.
    ends = {f"<end {token}>": token for token in eos or ()}
    vocabulary = Vocabulary.from_file(path, eos=eos or None, special=ends)
    if not vocabulary.eos:
        raise VocabularyError(f"{path} names no token that ends a text: give its id with --eos")
    return vocabulary
