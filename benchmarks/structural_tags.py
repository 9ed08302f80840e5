"""Structural tags beside xgrammar's own implementation: the same random tags and texts, and where the verdicts differ.

    python -m benchmarks.structural_tags [--count 300] [--seed 0]

Needs xgrammar (``make bench`` makes the environment). Texts are samples of each tag's language, made here by walking its structure, with
and without random edits. Every difference is printed with the tag and the text.
"""

import argparse
import json
import random
from typing import Any

from guided.engine.compile import compile as compile_index
from guided.engine.structural_tags import StructuralTag
from guided.errors import GuidedError
from guided.vocabulary.vocabulary import Vocabulary

_BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=[256], size=257)
_SCHEMAS = (
    {"type": "integer"},
    {"type": "boolean"},
    {"enum": ["x", "yz"]},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"type": "array", "items": {"type": "integer"}},
)
_VALUES = ("1", "-20", "true", '"x"', '"yz"', '{"a": 1}', '{"a":2}', "[]", "[1, 2]", "01", "tru", '{"b": 1}')
_STRINGS = ("ab", "<a>", "</a>", "<f=1>", "<f=2>", "</f>", "x", ",", "--")


class _Maker:
    """Random formats, and random texts of a format."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def format(self, depth: int = 3) -> dict[str, Any]:
        """A random format."""
        draw = self._draw
        kinds = ["const_string", "json_schema", "regex", "any_text"]
        if depth:
            kinds += [
                "sequence",
                "or",
                "tag",
                "triggered_tags",
                "tags_with_separator",
                "optional",
                "star",
                "plus",
                "repeat",
            ]
        kind = draw.choice(kinds)
        found: dict[str, Any] = {"type": kind}
        match kind:
            case "const_string":
                found["value"] = draw.choice(_STRINGS)
            case "json_schema":
                found["json_schema"] = draw.choice(_SCHEMAS)
            case "regex":
                found["pattern"] = draw.choice(["[0-9]+", "a|bc", "(xy)*", "[a-c]{2,3}"])
            case "any_text":
                found["excludes"] = draw.choice([[], ["ab"], ["<f", "x"]])
            case "sequence" | "or":
                found["elements"] = [self.format(depth - 1) for _ in range(draw.randint(1, 3))]
            case "tag":
                found |= self._tag(depth, draw.choice(("<a>", "<f=1>", "ab")))
            case "triggered_tags":
                begins = draw.sample(["<f=1>", "<f=2>"], draw.randint(1, 2))
                found |= {
                    "triggers": ["<f="],
                    "tags": [{"type": "tag", **self._tag(depth, begin)} for begin in begins],
                    "at_least_one": draw.random() < 0.3,
                    "stop_after_first": draw.random() < 0.3,
                }
            case "tags_with_separator":
                found |= {
                    "tags": [{"type": "tag", **self._tag(depth, begin)} for begin in ("<f=1>", "<f=2>")],
                    "separator": draw.choice((",", "--")),
                    "at_least_one": draw.random() < 0.5,
                    "stop_after_first": draw.random() < 0.3,
                }
            case _:
                found["content"] = self.format(depth - 1)
                if kind == "repeat":
                    found["min"] = draw.randint(0, 2)
                    found["max"] = draw.choice([-1, found["min"] + draw.randint(0, 2)])
        return found

    def _tag(self, depth: int, begin: str) -> dict[str, Any]:
        return {"begin": begin, "content": self.format(depth - 1), "end": self._draw.choice(("</a>", "</f>"))}

    def text(self, given: dict[str, Any]) -> str:
        """A random text, mostly of the format."""
        draw = self._draw
        match given["type"]:
            case "const_string":
                return str(given["value"])
            case "json_schema":
                return draw.choice(_VALUES)
            case "regex":
                return draw.choice(["1", "007", "a", "bc", "xyxy", "", "abc", "ab"])
            case "any_text":
                return draw.choice(["", "x", "hello", "a b", "é", "<"])
            case "sequence":
                return "".join(map(self.text, given["elements"]))
            case "or":
                return self.text(draw.choice(given["elements"]))
            case "tag":
                return given["begin"] + self.text(given["content"]) + given["end"]
            case "triggered_tags":
                pieces = [draw.choice(["", "x", "t<"])] if not given["at_least_one"] else []
                for _ in range(draw.randint(0, 2)):
                    pieces += [self.text(draw.choice(given["tags"])), draw.choice(["", "y", "<f"])]
                return "".join(pieces)
            case "tags_with_separator":
                return given["separator"].join(self.text(draw.choice(given["tags"])) for _ in range(draw.randint(0, 2)))
        count = {"optional": (0, 1), "star": (0, 2), "plus": (1, 2)}.get(given["type"], (given.get("min", 0), 3))
        return "".join(self.text(given["content"]) for _ in range(draw.randint(*count)))

    def edited(self, text: str) -> str:
        """The text with one random edit."""
        draw = self._draw
        at = draw.randint(0, len(text))
        return text[:at] + draw.choice(["", *_STRINGS, "1"]) + text[at + draw.randint(0, 1) :]


def main() -> None:
    """Print the verdicts and their differences."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    import xgrammar
    from xgrammar.testing import _is_grammar_accept_string

    maker, same, differ, refused = _Maker(options.seed), 0, 0, 0
    for _ in range(options.count):
        tag = {"type": "structural_tag", "format": maker.format()}
        try:
            theirs = xgrammar.Grammar.from_structural_tag(json.dumps(tag))
        except RuntimeError as error:
            refused += 1
            print(f"xgrammar refuses {json.dumps(tag)}: {str(error)[:120]}")
            continue
        try:
            index = compile_index(StructuralTag(tag), _BYTES)
        except GuidedError as error:
            refused += 1
            print(f"guided refuses {json.dumps(tag)}: {error}")
            continue
        for _ in range(10):
            text = maker.text(tag["format"])
            for one in (text, maker.edited(text)):
                ours, other = index.accepts(one), _is_grammar_accept_string(theirs, one)
                same, differ = same + (ours == other), differ + (ours != other)
                if ours != other:
                    print(f"{one!r}: guided {ours}, xgrammar {other}; {json.dumps(tag['format'])}")
    print(f"{options.count} tags, {refused} refused by either; {same} verdicts equal, {differ} different")


if __name__ == "__main__":
    main()
