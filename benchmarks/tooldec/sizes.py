"""E6: what documentation in the prompt costs, in tokens, and how alike the names of an inventory are.

Counted by three tokenizers: Mistral's of 32,000 tokens (``mistral-common`` 1.13.1; sentencepiece, as LLaMA's, which the paper counts with
and which is not to be had on PyPI), Llama 3's of 128,256 (``llama-models`` 0.3.0; byte pairs by rank, with the pattern of its source), and
the model's own.
"""

import json
import re
import statistics
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import regex

from benchmarks.tooldec.restbench import NAME_SETS, api
from benchmarks.vocabularies import vocabulary
from tests.real_vocabularies import real_file

__all__ = ["counters", "documents", "name_distances", "sizes"]

Counter = Callable[[str], int]
_LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def sizes(data: Path | None, own: Counter | None) -> dict[str, dict[str, int]]:
    """Tokens of each document by each tokenizer."""
    known = counters() | ({} if own is None else {"model": own})
    return {label: {name: count(text) for name, count in known.items()} for label, text in documents(data)}


def documents(data: Path | None) -> Iterator[tuple[str, str]]:
    """Label and text of each documentation that an approach without tools in its weights would have in every prompt."""
    for name in ("tmdb", "spotify") if data else ("our own",):
        found = api(None if data is None else data / "restbench", name)
        yield f"{name}: {len(found.operations)} operations, paths", "\n".join(item.key for item in found.operations)
        described = "\n".join(f"{item.key}: {item.text}" for item in found.operations)
        yield f"{name}: {len(found.operations)} operations, paths and first lines", described
        sentences = "\n".join(f"{item.key}: {re.split(r'(?<=[.!?]) ', item.text)[0]}" for item in found.operations)
        yield f"{name}: {len(found.operations)} operations, paths and first sentences", sentences
        summaries = "\n".join(f"{item.key}: {item.summary}" for item in found.operations)
        yield f"{name}: {len(found.operations)} operations, paths and summaries", summaries
    if data is None:
        return
    described = json.loads((data / "kamel" / "api_desc.json").read_text(encoding="utf-8"))
    order = json.loads((data / "kamel" / "func_dict.json").read_text(encoding="utf-8"))
    for size in (30, 60, 100, 234):
        chosen = sorted(order, key=order.__getitem__)[:size]
        yield f"KAMEL: {size} relations, signatures and descriptions", "\n".join(described[item] for item in chosen)
    tools: dict[str, Any] = json.loads((data / "funcqa" / "doc_dict.json").read_text(encoding="utf-8"))
    for part in ("overview", "highlevel", "example"):
        yield f"FuncQA: 13 tools, {part}", "\n".join(item[part] for item in tools.values())


def name_distances(data: Path | None) -> dict[str, dict[str, float]]:
    """For each set of names: edit distance of a name to its nearest other, median and mean, and of all pairs, mean."""
    found = api(None if data is None else data / "restbench", "tmdb")
    rows = {}
    for name_set in NAME_SETS:
        names = list(found.names(name_set).values())
        nearest = [min(_distance(name, other) for other in names if other != name) for name in names]
        pairs = [_distance(left, right) for place, left in enumerate(names) for right in names[:place]]
        rows[name_set] = {
            "nearest, median": statistics.median(nearest),
            "nearest, mean": round(statistics.mean(nearest), 2),
            "all pairs, mean": round(statistics.mean(pairs), 2),
        }
    return rows


def counters() -> dict[str, Counter]:
    """Tokenizers by name, each a count of a text's tokens."""
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(real_file("mistral-32k")))
    return {"Mistral 32k": lambda text: len(pieces.encode(text)), "Llama 3": _llama3}


def _llama3(text: str) -> int:
    return sum(_merged(piece.encode()) for piece in regex.findall(_LLAMA3, text))


@cache
def _ranks() -> dict[bytes, int]:
    return {data: rank for rank, data in reversed(list(enumerate(vocabulary("llama3-128k").tokens))) if data}


def _merged(data: bytes) -> int:
    """How many tokens are left when the pair of lowest rank is merged as long as there is one."""
    ranks = _ranks()
    if data in ranks:
        return 1
    parts = [data[place : place + 1] for place in range(len(data))]
    while len(parts) > 1:
        best = min(range(len(parts) - 1), key=lambda place: ranks.get(parts[place] + parts[place + 1], 1 << 30))
        if parts[best] + parts[best + 1] not in ranks:
            break
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return len(parts)


def _distance(left: str, right: str) -> int:
    """Levenshtein's."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
