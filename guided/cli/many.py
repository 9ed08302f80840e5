"""``guided run --input``: a text for each line of a JSONL file.

Each answer is a line of the output, written when its text ends: the number of its prompt and the ``id`` that its line has, a digest of what
was asked of which model, and the result. A later run with the same prompts, model, constraint and options reads the file and generates
only what is missing, with the same seeds; a line that was cut short is dropped.
"""

import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from itertools import takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from guided.cli import interrupts
from guided.cli.boundary import ACCEPTED, REJECTED, UsageError
from guided.cli.output import print_json
from guided.errors import GuidedError
from guided.schema.frontend.json_values import value_of

if TYPE_CHECKING:
    from guided.events import Result
    from guided.generate.generator import Generator
    from guided.generate.options import GenerationOptions

__all__ = ["read_prompts", "write_answers"]

# A line of the input, its prompt, and the beginning of its answer.
Entry = tuple[bytes, Any, dict[str, Any]]


def read_prompts(path: Path, *, chat: bool) -> list[Entry]:
    """Return the prompt of each line: a JSON string, or an object with ``prompt`` or ``messages``, and perhaps an ``id``.

    Raises
    ------
    UsageError
        A line is none of these; with its number.
    """
    found = list[Entry]()
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    value = value_of(line.decode())
                except (ValueError, GuidedError) as error:
                    wanted = "a prompt in quotes, or an object with 'prompt' or 'messages'"
                    raise UsageError(f"{path}, line {number} is not JSON, {wanted}: {error}") from error
                try:
                    prompt = _prompt(value, chat=chat)
                except ValueError as error:
                    raise UsageError(f"{path}, line {number}: {error}") from error
                named = {"id": value["id"]} if isinstance(value, dict) and "id" in value else {}
                found.append((line.strip(), prompt, {"index": len(found), **named}))
    return found


def _prompt(value: Any, *, chat: bool) -> Any:
    if isinstance(value, dict):
        if ("prompt" in value) == ("messages" in value):
            raise ValueError("expected either 'prompt' or 'messages' in the object")
        value = value.get("prompt", value.get("messages"))
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if chat else value
    if not isinstance(value, list):
        raise ValueError(
            f"expected a prompt as a text, or an object with 'prompt' or 'messages', not {type(value).__name__}"
        )
    return value


def write_answers(
    generate: "Generator[Any]",
    prompts: list[Entry],
    path: Path | None,
    data: "Callable[[Result[Any]], dict[str, Any]]",
    width: int,
    options: "GenerationOptions",
    model: str,
) -> int:
    """Generate a text for each prompt, and append the answers to a file, or write them to stdout; return the exit code.

    ``model``: the name of the generator's model, or the path to it.

    Raises
    ------
    UsageError
        The file has answers to other prompts, or of another model, another constraint or other options.
    """
    n_failed = 0
    fingerprint = "" if generate.index is None else generate.index.spec_fingerprint
    request = repr((model, fingerprint, sorted(options.items()))).encode()
    # The prompt as well as the line: ``--chat`` makes another prompt of a line.
    digests = [
        hashlib.sha256(b"\0".join((request, line, repr(prompt).encode()))).hexdigest()[:16]
        for line, prompt, _ in prompts
    ]
    with nullcontext() if path is None else path.open("r+b" if path.exists() else "x+b") as output:
        done = set[int]() if output is None or path is None else _answered(output, digests, path)
        if done:
            print(f"{len(done):,} of {len(prompts):,} prompts have their answers already", file=sys.stderr)
        rest = [None if place in done else prompt for place, (_, prompt, _) in enumerate(prompts)]
        for place, result in generate.map(rest, width, **options):
            n_failed += result.error is not None
            answer = {**prompts[place][2], "input": digests[place], **data(result)}
            if output is None:
                print_json(answer)
            else:
                output.write(json.dumps(answer, default=str).encode() + b"\n")
                output.flush()
            interrupts.check()
    if n_failed:
        print(f"{n_failed:,} texts failed: their answers have an error", file=sys.stderr)
    return REJECTED if n_failed else ACCEPTED


def _answered(output: IO[bytes], digests: list[str], path: Path) -> set[int]:
    """Return the indices of the answers in a file, which is then at its end; a last line without an end is cut off."""
    done, end = set[int](), 0
    for number, line in enumerate(takewhile(lambda line: line.endswith(b"\n"), output), 1):
        try:
            answer = value_of(line.decode())
            place = answer["index"]
            is_own = digests[place] == answer["input"]
        except (ValueError, KeyError, TypeError, IndexError, GuidedError):
            is_own = False
        if not is_own:
            raise UsageError(
                f"{path}, line {number}: not an answer of this model to this input with this constraint and these options; "
                "name another --output"
            )
        done.add(place)
        end += len(line)
    output.seek(end)
    output.truncate()
    return done
