"""``guided explore``: write a page in which a person enters tokens and sees what is allowed and why."""

from pathlib import Path
from typing import Annotated

import typer

from guided.cli.boundary import ACCEPTED, UsageError
from guided.cli.output import COMPILING, console, print_json
from guided.cli.specs import ConstraintOptions, EosOption, JsonOption, VocabularyOption
from guided.cli.vocabularies import read_vocabulary
from guided.files import replace_file
from guided.progress import progress

__all__ = ["explore"]


def explore(
    index: Annotated[
        str | None,
        typer.Argument(
            metavar="[INDEX]",
            help="An index file, unless one of the options below gives the constraint.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The page to write.")] = Path(
        "explore.html"
    ),
    *,
    given: ConstraintOptions,
    vocabulary: VocabularyOption = None,
    eos: EosOption = None,
    max_states: Annotated[
        int,
        typer.Option(
            "--max-states", min=1, metavar="N", help="Largest number of states to explore of a schema or grammar."
        ),
    ] = 1000,
    as_json: JsonOption = False,
) -> int:
    r"""Write one HTML page in which you enter tokens and see which are allowed, why one is refused, the state, and the tokens to the end.

    The page needs no server and nothing from elsewhere. It holds the whole automaton of a regular expression or choice, and of a schema,
    grammar or composition the states of short texts.

    For example:

      guided explore -O ascii=true --regex '\d{4}-\d{2}-\d{2}' -o date.html
      guided explore --json-schema schema.json --vocabulary tokenizer.json
      guided explore indices/date.index
    """
    what = given.constraint(None if index is None else [index], "INDEX", optional=True)
    if what.text is not None:
        raise UsageError(f"unexpected argument {what.text!r}: an option gives the constraint")
    words = read_vocabulary(vocabulary, eos)
    with progress(COMPILING):
        page = what.index(words).explore_html(max_states)
    replace_file(output, page)
    if as_json:
        print_json({"file": str(output), "bytes": output.stat().st_size})
    else:
        console().print(f"wrote {output} ({output.stat().st_size / 1e6:.1f} MB): open it in a browser")
    return ACCEPTED
