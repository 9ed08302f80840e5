"""``guided vocabulary``: report on a tokenizer file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import ACCEPTED
from guided.cli.output import as_text, print_json, print_table, shown, shown_bytes
from guided.cli.specs import EosOption, JsonOption
from guided.cli.vocabularies import read_vocabulary, vocabulary_place
from guided.progress import progress

if TYPE_CHECKING:
    from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["report_vocabulary"]

_WIDEST = 24
# The packages that verify the round trip when a file is read.
_PROVERS = {"tokenizer.json": "tokenizers", "SentencePiece": "sentencepiece"}


def report_vocabulary(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A tokenizer.json, SentencePiece .model, tiktoken ranks, tekken.json or GGUF file, or a model's folder; "
            "default: the default model's (a download of 93 MB on first use).",
        ),
    ] = None,
    eos: EosOption = None,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="Number of entries to show of long lists.")] = 6,
    as_json: JsonOption = False,
) -> int:
    r"""Report on a tokenizer: its kind, tokens, end-of-text tokens, duplicate tokens and missing bytes.

    Duplicates are tokens that spell the same bytes. Missing bytes have no token of their own, so texts that need one may be
    impossible to generate. If the package that implements the tokenizer is installed, texts in many scripts are encoded with
    it, and the tokens must spell the same texts (round trip).

    For example:

      guided vocabulary tokenizer.json
      guided vocabulary ranks.tiktoken --eos 100257
    """
    from guided.vocabulary.files import kind_of_file

    place = vocabulary_place(file)
    path = place / "tokenizer.json" if place.is_dir() else place
    with progress("reading the vocabulary"):
        vocabulary = read_vocabulary(file, eos, must_end=False)
        kind = kind_of_file(path)
    facts = {"file": str(path), "kind": kind, **_facts(vocabulary, top), "round_trip": _proof(kind, vocabulary)}
    if as_json:
        print_json(facts)
    else:
        _show(facts, vocabulary.tokens, top)
    return ACCEPTED


def _proof(kind: str, vocabulary: "Vocabulary") -> dict[str, Any]:
    """The checks that reading the file performed, and the number of sample texts that can be tokenized."""
    from importlib.util import find_spec

    from guided.vocabulary.roundtrip import TEXTS
    from guided.vocabulary.splitting import fewest_tokens

    package = _PROVERS.get(kind)
    proved = package is not None and find_spec(package) is not None
    facts: dict[str, Any] = {"proved": proved, "texts": len(TEXTS)}
    if not proved:
        facts["reason"] = f"there is no encoder for {kind}" if package is None else f"{package} is not installed"
    spelled = sum(fewest_tokens(vocabulary, text.encode()) is not None for text in TEXTS)
    return {**facts, "spelled": spelled}


def _facts(vocabulary: "Vocabulary", top: int) -> dict[str, Any]:
    tokens = vocabulary.tokens
    by_length = sorted((-len(data), token) for token, data in enumerate(tokens) if data)
    silent = {*vocabulary.special.values(), *vocabulary.eos}
    names = {token: name for name, token in reversed(list(vocabulary.special.items()))}
    return {
        "fingerprint": vocabulary.fingerprint,
        "ids": len(vocabulary),
        "size": vocabulary.size,
        "spelled": len(by_length),
        "eos": [{"id": token, "name": names.get(token)} for token in vocabulary.eos],
        "special": dict(vocabulary.special),
        "unused": sum(not data and token not in silent for token, data in enumerate(tokens)),
        "not_utf8": sum(not _is_text(data) for data in tokens if data),
        "duplicates": [{"ids": list(ids), "text": as_text(tokens[ids[0]] or b"")} for ids in vocabulary.duplicates],
        "missing_bytes": list(vocabulary.missing_bytes),
        "longest": [
            {"id": token, "bytes": -size, "text": as_text(tokens[token] or b"")} for size, token in by_length[:top]
        ],
    }


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _show(facts: dict[str, Any], tokens: Sequence[bytes | None], top: int) -> None:
    ends = [f"{end['id']} {shown(end['name'] or '')}".rstrip() for end in facts["eos"]]
    special = [
        f"{token} {shown(name)}" for token, name in sorted((token, name) for name, token in facts["special"].items())
    ]
    duplicates = [
        f"{_cut(tokens, group['ids'][0])} ({' '.join(map(str, group['ids']))})" for group in facts["duplicates"]
    ]
    longest = [f"{entry['id']} {_cut(tokens, entry['id'])} ({entry['bytes']} bytes)" for entry in facts["longest"]]
    proof = facts["round_trip"]
    proved = f"proved on {proof['texts']} texts" if proof["proved"] else f"not proved: {proof['reason']}"
    spelled = f"; {proof['spelled']} of {proof['texts']} sample texts have tokens"
    rows = [
        ("file", facts["file"]),
        ("kind", facts["kind"]),
        ("fingerprint", facts["fingerprint"]),
        ("ids", f"{facts['ids']:,}, of which {facts['spelled']:,} spell something"),
        ("end of text", _listed(ends, len(ends)) or "none known: give its id with --eos"),
        ("special tokens", _counted(special, top)),
        ("unused ids", f"{facts['unused']:,}"),
        ("parts of characters", f"{facts['not_utf8']:,} tokens are not UTF-8 by themselves"),
        ("duplicates", _counted(duplicates, top)),
        ("missing bytes", _hex_ranges(facts["missing_bytes"]) or "none"),
        ("longest", _listed(longest, top) or "none"),
        ("round trip", proved + spelled),
    ]
    print_table(rows)


def _counted(pieces: list[str], top: int) -> str:
    return f"{len(pieces):,}: {_listed(pieces, top)}" if pieces and top else f"{len(pieces):,}"


def _listed(pieces: list[str], top: int) -> str:
    more = [f"{len(pieces) - top:,} more"] if len(pieces) > top else []
    return ", ".join([*pieces[:top], *more])


def _cut(tokens: Sequence[bytes | None], token: int) -> str:
    """The text of a token in quotes, truncated if long."""
    data = tokens[token] or b""
    if not _is_text(data):
        return shown_bytes(data) if len(data) <= _WIDEST else f"{shown_bytes(data[:_WIDEST])}..."
    text = data.decode()
    return repr(text) if len(text) <= _WIDEST else f"{text[:_WIDEST]!r}..."


def _hex_ranges(values: list[int]) -> str:
    """Ascending byte values as hexadecimal ranges."""
    pieces, begin = [], 0
    for place, value in enumerate(values):
        if place + 1 == len(values) or values[place + 1] != value + 1:
            first = values[begin]
            pieces.append(f"0x{first:02X}" if first == value else f"0x{first:02X}-0x{value:02X}")
            begin = place + 1
    return ", ".join(pieces)
