"""Structural tags beside xgrammar's own implementation: the same random tags and texts, and where the verdicts differ.

    python -m benchmarks.structural_tags [--count 300] [--seed 0] [--store FILE]

Needs xgrammar (``make bench`` makes the environment). Texts are samples of each tag's language, made here by walking its structure, with
and without random edits. Every difference is printed with the tag and the text. ``--store`` writes the tags, the texts and xgrammar's
verdicts, with which tests compare where xgrammar is missing (``tests/data/structural_tags.json``).

Grammars are written twice, since guided reads Lark's notation and xgrammar EBNF.
"""

import argparse
import json
import random
from pathlib import Path
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
# Grammars for Lark, and the same in EBNF.
_GRAMMARS = {
    'start: "a" start | "b"': 'root ::= "a" root | "b"',
    'start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/': 'root ::= n ("+" n)*\nn ::= [0-9]+',
    'start: "(" start? ")"': 'root ::= "(" root? ")"',
}
# Schemas of the argument ``v``, and of objects.
_ARGUMENTS: tuple[Any, ...] = (
    {"type": "string"},
    {"type": "string", "minLength": 2},
    {"type": "string", "pattern": "^a+$"},
    {"type": "string", "format": "date"},
    {"type": "integer"},
    {"type": ["string", "null"]},
    {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]},
    {"enum": ["x", 1, None]},
    {"const": "x y"},
    {"type": "array", "items": {"type": "string"}},
    {"$ref": "#/$defs/text"},
    {},
)
_PLAIN = ("x", "", "aa", '"aa"', "1", "null", "2024-02-29", "[1]", '["a"]', "x y", "a<b", "true")
_SPELLED = {
    "qwen_xml": ("<parameter={}>", "</parameter>"),
    "minimax_xml": ('<parameter name="{}">', "</parameter>"),
    "glm_xml": ("<arg_key>{}</arg_key><arg_value>", "</arg_value>"),
    "deepseek_xml": ('<\uff5cDSML\uff5cparameter name="{}" string="MARK">', "</\uff5cDSML\uff5cparameter>"),
}
_STRINGS = ("ab", "<a>", "</a>", "<f=1>", "<f=2>", "</f>", "x", ",", "--")


class _Maker:
    """Random formats, and random texts of a format."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def format(self, depth: int = 3) -> dict[str, Any]:
        """A random format."""
        draw = self._draw
        kinds = ["const_string", "json_schema", "regex", "any_text", "style", "grammar"]
        if depth:
            kinds += [
                "sequence",
                "or",
                "tag",
                "triggered_tags",
                "tags_with_separator",
                "dispatch",
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
                if draw.random() < 0.2:
                    found["any_order"] = True
            case "style":
                found = self._styled()
            case "grammar":
                found["grammar"] = draw.choice(list(_GRAMMARS))
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
                    "excludes": draw.choice([[], [], ["x"], ["yy"]]),
                }
            case "dispatch":
                rules = draw.sample(["<f=1>", "<f=2>", "!"], draw.randint(1, 2))
                found |= {
                    "rules": [[pattern, self.format(depth - 1)] for pattern in rules],
                    "loop": draw.random() < 0.7,
                    "excludes": draw.choice([[], [], ["x"]]),
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
        end = self._draw.choice(("</a>", "</f>", ["</a>", "</f>"]))
        return {"begin": begin, "content": self.format(depth - 1), "end": end}

    def _styled(self) -> dict[str, Any]:
        """Arguments in a model's own style."""
        draw = self._draw
        schema: dict[str, Any] = {"type": "object", "$defs": {"text": {"type": "string"}}}
        if draw.random() < 0.9:
            schema["properties"] = {name: draw.choice(_ARGUMENTS) for name in ("v", "w")[: draw.randint(1, 2)]}
            schema["required"] = [name for name in schema["properties"] if draw.random() < 0.6]
        if draw.random() < 0.3:
            schema["additionalProperties"] = draw.choice([True, False, {"type": "integer"}])
        found = {"type": "json_schema", "json_schema": schema, "style": draw.choice(list(_SPELLED))}
        return found if draw.random() < 0.8 else {**found, "any_order": True}

    def older(self) -> dict[str, Any]:
        """A random tag of the older form."""
        draw = self._draw
        begins = draw.sample(["<f=1>", "<f=2>", "<a>"], draw.randint(1, 3))
        tags = [{"begin": begin, "schema": draw.choice(_SCHEMAS), "end": draw.choice(("</f>", ""))} for begin in begins]
        return {"structures": tags, "triggers": ["<f=", "<a"] if "<a>" in begins else ["<f"]}

    def text(self, given: dict[str, Any]) -> str:
        """A random text, mostly of the format."""
        draw = self._draw
        match given["type"]:
            case "const_string":
                return str(given["value"])
            case "json_schema" if "style" in given:
                return self._written(given)
            case "json_schema":
                return draw.choice(_VALUES)
            case "grammar":
                return draw.choice(["b", "aab", "1", "1+22", "()", "(())", "a", "1+", ")"])
            case "dispatch":
                pieces = [draw.choice(["", "x", "t<"])]
                for _ in range(draw.randint(0, 2)):
                    pattern, inner = draw.choice(given["rules"])
                    pieces += [pattern, self.text(inner), draw.choice(["", "y"])]
                return "".join(pieces)
            case "regex":
                return draw.choice(["1", "007", "a", "bc", "xyxy", "", "abc", "ab"])
            case "any_text":
                return draw.choice(["", "x", "hello", "a b", "é", "<"])
            case "sequence":
                return "".join(map(self.text, given["elements"]))
            case "or":
                return self.text(draw.choice(given["elements"]))
            case "tag":
                end = given["end"] if isinstance(given["end"], str) else draw.choice(given["end"])
                return str(given["begin"] + self.text(given["content"]) + end)
            case "triggered_tags":
                pieces = [draw.choice(["", "x", "t<"])] if not given.get("at_least_one") else []
                for _ in range(draw.randint(0, 2)):
                    tag = {"type": "tag", **draw.choice(given["tags"])}
                    pieces += [self.text(tag), draw.choice(["", "y", "<f"])]
                return "".join(pieces)
            case "tags_with_separator":
                return given["separator"].join(self.text(draw.choice(given["tags"])) for _ in range(draw.randint(0, 2)))
        count = {"optional": (0, 1), "star": (0, 2), "plus": (1, 2)}.get(given["type"], (given.get("min", 0), 3))
        return "".join(self.text(given["content"]) for _ in range(draw.randint(*count)))

    def _written(self, given: dict[str, Any]) -> str:
        """Arguments, mostly those of the schema."""
        draw = self._draw
        schema = given["json_schema"]
        names = [name for name in schema.get("properties", {}) if name in schema["required"] or draw.random() < 0.5]
        if schema.get("additionalProperties", "properties" not in schema) or draw.random() < 0.1:
            names += ["other"] * draw.randint(0, 2)
        if draw.random() < 0.2:
            draw.shuffle(names)
        begin, end = _SPELLED[given["style"]]
        pieces = []
        for name in names:
            mark = draw.choice(("true", "false"))
            pieces += [draw.choice(["", "", "\n"]), begin.format(name).replace("MARK", mark), draw.choice(_PLAIN), end]
        return "".join(pieces)

    def edited(self, text: str) -> str:
        """The text with one random edit."""
        draw = self._draw
        at = draw.randint(0, len(text))
        return text[:at] + draw.choice(["", *_STRINGS, "1"]) + text[at + draw.randint(0, 1) :]


def _theirs(given: Any) -> Any:
    """A tag as xgrammar reads it: grammars in EBNF, and the older form as triggered tags."""
    if isinstance(given, list):
        return [_theirs(each) for each in given]
    if not isinstance(given, dict):
        return given
    if "structures" in given:
        tags = [
            {
                "type": "tag",
                "begin": tag["begin"],
                "content": {"type": "json_schema", "json_schema": tag["schema"]},
                "end": tag["end"],
            }
            for tag in given["structures"]
        ]
        form = {"type": "triggered_tags", "triggers": given["triggers"], "tags": tags}
        return {"type": "structural_tag", "format": form}
    if given.get("type") == "grammar":
        return {**given, "grammar": _GRAMMARS[given["grammar"]]}
    return {key: _theirs(value) for key, value in given.items()}


def main() -> None:
    """Print the verdicts and their differences."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--store", type=Path, help="write the verdicts to this file")
    options = arguments.parse_args()
    import xgrammar
    from xgrammar.testing import _is_grammar_accept_string

    maker, same, differ, refused = _Maker(options.seed), 0, 0, 0
    stored: list[dict[str, Any]] = []
    for number in range(options.count):
        tag = maker.older() if number % 10 == 9 else {"type": "structural_tag", "format": maker.format()}
        made = _theirs(tag)
        try:
            theirs = xgrammar.Grammar.from_structural_tag(json.dumps(made))
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
        verdicts: dict[str, bool] = {}
        differing: list[str] = []
        for _ in range(10):
            text = maker.text(made["format"] if "structures" in tag else tag["format"])
            for one in (text, maker.edited(text)):
                ours, other = index.accepts(one), _is_grammar_accept_string(theirs, one)
                same, differ = same + (ours == other), differ + (ours != other)
                verdicts[one] = other
                if ours != other:
                    differing.append(one)
                    print(f"{one!r}: guided {ours}, xgrammar {other}; {json.dumps(tag)}")
        stored.append({"tag": tag, "texts": verdicts, "differing": sorted(set(differing))})
    print(f"{options.count} tags, {refused} refused by either; {same} verdicts equal, {differ} different")
    if options.store:
        lines = ",\n".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in stored)
        options.store.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
