"""Ten compositions beside the peers: xgrammar's structural tags, and llguidance's Lark with JSON Schemas in it.

    python -m benchmarks.compositions [--engine NAME ...] [--vocabulary NAME]

For each composition and engine, in CPU time: the compile, the first mask, the other masks of the first pass along two texts (mean and
largest), and a ready step, the mask and the advance of a second pass along the same texts. Texts are cut greedily into the longest
tokens. Every token must be allowed and the text must be able to end: what is not is counted. A composition that an engine cannot express
is a dash. Each engine first runs all compositions once, unmeasured, with other names in them, so that kernels and imports are ready.
"""

import argparse
import gc
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

import guided
from benchmarks.machine import describe
from benchmarks.tables import table
from benchmarks.vocabularies import MAIN, Cutter, vocabulary
from guided.arrays import mask_words
from guided.vocabulary.vocabulary import Vocabulary

_SQL = r"""
start: "SELECT " COLUMN (", " COLUMN)* " FROM " TABLE (" WHERE " COLUMN " = " NUMBER)? ";"
NUMBER: /[0-9]{1,9}/
"""


class Composition(NamedTuple):
    """One composition for each engine, and texts of it.

    Attributes
    ----------
    spec : callable
        Returns guided's spec.
    tag : dict or None
        The format of xgrammar's structural tag.
    lark : str or None
        llguidance's grammar.
    texts : tuple of str
    """

    spec: Callable[[], Any]
    tag: dict[str, Any] | None
    lark: str | None
    texts: tuple[str, ...]


class _Walk(Protocol):
    """A text being read."""

    def mask(self) -> Any:
        """Compute the mask, and return its words."""

    def advance(self, token: int) -> None:
        """Read a token."""

    def may_end(self) -> bool:
        """Whether the text may end."""


def _person(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"type": "string"},
            "age": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": [name, "age"],
        "additionalProperties": False,
    }


def _schema(schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": schema}


def _const(value: str) -> dict[str, Any]:
    return {"type": "const_string", "value": value}


def _sequence(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "sequence", "elements": list(elements)}


def _until(stop: str) -> dict[str, Any]:
    return {"type": "tag", "begin": "", "content": {"type": "any_text"}, "end": stop}


def _tools(n: int, seed: str) -> dict[str, Any]:
    tags = [
        {
            "type": "tag",
            "begin": f"<function=tool_{seed}{i}>",
            "content": _schema(_person(f"{seed}{i}")),
            "end": "</function>",
        }
        for i in range(n)
    ]
    return {"type": "triggered_tags", "triggers": ["<function="], "tags": tags}


def _definitions(n: int, seed: str) -> list[dict[str, Any]]:
    return [{"name": f"tool_{seed}{i}", "parameters": _person(f"{seed}{i}")} for i in range(n)]


def _lark_tools(n: int, seed: str) -> str:
    calls = "\n".join(
        f'call{i}: "tool_{seed}{i}>" %json {json.dumps(_person(f"{seed}{i}"))} "</function>"' for i in range(n)
    )
    any_call = " | ".join(f"call{i}" for i in range(n))
    return (
        "start: (text call)* REST\ntext[lazy]: /(.|\\n)*<function=/\nREST: /((.|\\n)*)/ & ~/(.|\\n)*<function=(.|\\n)*/\n"
        f"call: {any_call}\n{calls}\n"
    )


def compositions(seed: str) -> dict[str, Composition]:
    """Return the compositions by name; ``seed`` occurs in their names, so that no cache knows them."""
    key = f"name{seed}"
    person = f'{{"{key}": "Ada Lovelace", "age": 36, "tags": ["math", "poetry"]}}'
    schema = _person(key)
    told = f"Let me think about {seed}. The question asks for a person, so I write the name and the age."
    tool = f'<function=tool_{seed}1>{{"{seed}1": "Oslo", "age": 3}}</function>'
    columns = [f"col_{seed}_{i}" for i in range(500)]
    lark_json = f"%json {json.dumps(schema)}"
    think = "think[lazy]: /(.|\\n)*<\\/think>/\n"
    hobby = guided.Regex("[a-z]{3,12}")
    form = (
        f"Name{seed}: "
        + guided.Regex("[A-Z][a-z]{1,11}").named("name")
        + "\nAge: "
        + guided.Regex("[0-9]{1,3}").named("age")
        + "\nMail: "
        + guided.Regex("[a-z.]{1,20}@[a-z]{1,10}\\.(com|org)").named("mail")
        + "\nMember: "
        + guided.Choice(["yes", "no"]).named("member")
        + "\nHobbies: "
        + guided.Repeat(hobby.named("hobby"), 1, 4, ", ")
        + "\n"
    )
    regex = lambda pattern: {"type": "regex", "pattern": pattern}  # noqa: E731
    routes = [(f"{seed}{i}: ", _person(f"{seed}{i}")) for i in range(200)]
    return {
        "reasoning, then JSON": Composition(
            lambda: guided.FreeText(stop="</think>") + guided.JsonSchema(schema),
            _sequence(_until("</think>"), _schema(schema)),
            f"start: think obj\n{think}obj: {lark_json}\n",
            (f"{told}</think>{person}",),
        ),
        "reasoning of 500 tokens, then JSON": Composition(
            lambda: guided.FreeText(stop="</think>", max_tokens=500) + guided.JsonSchema(schema),
            None,
            f"start: think obj\nthink[lazy, max_tokens=500]: /(.|\\n)*<\\/think>/\nobj: {lark_json}\n",
            (f"{told}</think>{person}",),
        ),
        "agent, 3 tools": Composition(
            lambda: guided.StructuralTag({"format": _tools(3, seed)}),
            _tools(3, seed),
            _lark_tools(3, seed),
            (f"{told} {tool} and then {tool} is done.",),
        ),
        "agent, 1,000 tools": Composition(
            lambda: guided.StructuralTag({"format": _tools(1000, seed)}),
            None,
            None,
            (f"{told} {tool} and then {tool} is done.",),
        ),
        "agent, 100 tools": Composition(
            lambda: guided.StructuralTag({"format": _tools(100, seed)}),
            _tools(100, seed),
            _lark_tools(100, seed),
            (f"{told} {tool} and then {tool} is done.",),
        ),
        **{
            f"the same {n} tools by guided.Tools": Composition(
                lambda n=n: guided.Tools(_definitions(n, seed), format="llama-function"),
                None,
                None,
                (f"{told} {tool} and then {tool} is done.",),
            )
            for n in (3, 100, 1000)
        },
        "form, five captures": Composition(
            lambda: form,
            _sequence(
                _const(f"Name{seed}: "), regex("[A-Z][a-z]{1,11}"), _const("\nAge: "), regex("[0-9]{1,3}"), _const("\nMail: "),
                regex("[a-z.]{1,20}@[a-z]{1,10}\\.(com|org)"), _const("\nMember: "), regex("yes|no"), _const("\nHobbies: "),
                regex("[a-z]{3,12}(, [a-z]{3,12}){0,3}"), _const("\n"),
            ),
            f'start: "Name{seed}: " /[A-Z][a-z]{{1,11}}/ "\\nAge: " /[0-9]{{1,3}}/ "\\nMail: " '
            '/[a-z.]{1,20}@[a-z]{1,10}\\.(com|org)/ "\\nMember: " ("yes" | "no") "\\nHobbies: " HOBBY (", " HOBBY){0,3} "\\n"\n'
            "HOBBY: /[a-z]{3,12}/\n",
            (f"Name{seed}: Alice\nAge: 42\nMail: alice@home.org\nMember: yes\nHobbies: chess, hiking\n",),
        ),
        "answer: a choice or a number": Composition(
            lambda: guided.FreeText(stop=f"Answer{seed}: ") + (guided.Choice(["yes", "no"]) | guided.Regex("[0-9]+")),
            _sequence(_until(f"Answer{seed}: "), regex("yes|no|[0-9]+")),
            f'start: think ("yes" | "no" | /[0-9]+/)\nthink[lazy]: /(.|\\n)*Answer{seed}: /\n',
            (f"{told} Answer{seed}: 42", f"{told} Answer{seed}: yes"),
        ),
        "JSON lines": Composition(
            lambda: guided.Repeat(guided.JsonSchema(schema) + "\n", 1),
            {"type": "plus", "content": _sequence(_schema(schema), _const("\n"))},
            f'start: (obj "\\n")+\nobj: {lark_json}\n',
            (f"{person}\n{person}\n",),
        ),
        "text with fenced JSON": Composition(
            lambda: guided.FreeText(stop="```json\n") + guided.JsonSchema(schema) + "\n```" + guided.FreeText(),
            _sequence(_until("```json\n"), _schema(schema), _const("\n```"), {"type": "any_text"}),
            f'start: before obj "\\n```" /(.|\\n)*/\nbefore[lazy]: /(.|\\n)*```json\\n/\nobj: {lark_json}\n',
            (f"{told}\n```json\n{person}\n```\nThat is all.",),
        ),
        "SQL with 500 columns": Composition(
            lambda: "```sql\n"
            + guided.Grammar(f'{_SQL}TABLE: "t{seed}"\nCOLUMN: "c"\n', terminals={"COLUMN": columns})
            + "\n```",
            None,
            'start: "```sql\\n" sql "\\n```"\n'
            + _SQL.replace("start:", "sql:").strip()
            + f'\nTABLE: "t{seed}"\nCOLUMN: {" | ".join(json.dumps(one) for one in columns)}\n',
            (f"```sql\nSELECT {columns[7]}, {columns[123]} FROM t{seed} WHERE {columns[400]} = 12;\n```",),
        ),
        "200 routes to schemas": Composition(
            lambda: _routes(routes),
            {"type": "or", "elements": [_sequence(_const(begin), _schema(one)) for begin, one in routes]},
            "start: " + " | ".join(f"route{i}" for i in range(200)) + "\n"
            + "\n".join(f'route{i}: "{begin}" %json {json.dumps(one)}' for i, (begin, one) in enumerate(routes)) + "\n",
            (f'{seed}77: {{"{seed}77": "x", "age": 1}}',),
        ),
    }  # fmt: skip


def _routes(routes: list[tuple[str, Any]]) -> Any:
    found: Any = None
    for begin, schema in routes:
        route = begin + guided.JsonSchema(schema)
        found = route if found is None else found | route
    return found


class _Guided:
    """guided's compositions."""

    def __init__(self, words: Vocabulary) -> None:
        self._words = words

    def compile(self, given: Composition) -> Callable[[], _Walk] | None:
        """Return what begins a text; None if the composition cannot be expressed."""
        index = guided.compile(given.spec(), self._words)
        return lambda: _GuidedWalk(index.guide())


class _GuidedWalk:
    def __init__(self, guide: guided.Guide) -> None:
        self.mask, self.advance, self._guide = guide.mask, guide.advance, guide

    def may_end(self) -> bool:
        return self._guide.is_accepting


class _Xgrammar:
    """xgrammar's structural tags, with its cache switched off."""

    def __init__(self, words: Vocabulary) -> None:
        import xgrammar

        from benchmarks.engines import spelled

        self._xgrammar, self._words = xgrammar, words
        info = xgrammar.TokenizerInfo(
            spelled(words), xgrammar.VocabType.RAW, vocab_size=words.size, stop_token_ids=list(words.eos)
        )
        self._compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, given: Composition) -> Callable[[], _Walk] | None:
        """As in `_Guided`."""
        if given.tag is None:
            return None
        tag = {"type": "structural_tag", "format": given.tag}
        compiled = self._compiler.compile_structural_tag(json.dumps(tag))
        return lambda: _XgrammarWalk(self._xgrammar.GrammarMatcher(compiled), self._words)


class _XgrammarWalk:
    def __init__(self, matcher: Any, words: Vocabulary) -> None:
        self._matcher, self._eos = matcher, words.eos[0]
        self._buffer = np.zeros((1, mask_words(words.size)), np.int32)

    def mask(self) -> Any:
        if not self._matcher.fill_next_token_bitmask(self._buffer, 0):
            self._buffer.fill(-1)
        return self._buffer[0]

    def advance(self, token: int) -> None:
        self._matcher.accept_token(token)

    def may_end(self) -> bool:
        return bool(self.mask()[self._eos >> 5] >> (self._eos & 31) & 1)


class _Llguidance:
    """llguidance's Lark."""

    def __init__(self, words: Vocabulary) -> None:
        from benchmarks.maskbench_llguidance import Engine

        self._engine = Engine(words, Cutter(words))

    def compile(self, given: Composition) -> Callable[[], _Walk] | None:
        """As in `_Guided`."""
        from llguidance import LLMatcher

        if given.lark is None:
            return None
        matcher = LLMatcher(self._engine.tokenizer, LLMatcher.grammar_from_lark(given.lark), log_level=0)
        if matcher.is_error():
            raise ValueError(matcher.get_error())
        return lambda: _LlguidanceWalk(matcher, self._engine.n_words)


class _LlguidanceWalk:
    def __init__(self, matcher: Any, n_words: int) -> None:
        matcher.reset()
        self._matcher, self._words = matcher, np.zeros(n_words, np.int32)

    def mask(self) -> Any:
        self._matcher.unsafe_compute_mask_ptr(self._words.ctypes.data, self._words.nbytes)
        return self._words

    def advance(self, token: int) -> None:
        self._matcher.consume_token(token)

    def may_end(self) -> bool:
        return bool(self._matcher.is_accepting())


_ENGINES = {"guided": _Guided, "xgrammar": _Xgrammar, "llguidance": _Llguidance}


class _Figures(NamedTuple):
    """CPU times: milliseconds, then microseconds from ``cold_mean`` on."""

    compile: float
    first: float
    cold_mean: float
    cold_largest: float
    ready: float
    n_wrong: int


def measured(engine: Any, given: Composition, cut: Cutter) -> _Figures | str:
    """Return the figures of a composition, or why there are none."""
    clock = time.thread_time_ns
    gc.collect()  # what was compiled before is not collected during this compile
    begin = time.process_time_ns()
    try:
        start = engine.compile(given)
    except Exception as error:  # what a peer raises is its answer
        return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
    if start is None:
        return "not expressible"
    compiled = time.process_time_ns() - begin
    times: list[list[int]] = []
    ready: list[int] = []
    n_wrong = 0
    for again in (False, True):
        for text in given.texts:
            walk, own = start(), []
            for token in cut(text):
                begin = clock()
                words = walk.mask()
                middle = clock()
                if not words[token >> 5] >> (token & 31) & 1:
                    n_wrong += 1
                    break
                before = clock()
                walk.advance(token)
                if again:
                    ready.append(middle - begin + clock() - before)
                own.append(middle - begin)
            else:
                n_wrong += not walk.may_end()
            if not again:
                times.append(own)
    cold = [each for own in times for each in own][1:] or [0]
    return _Figures(
        compiled / 1e6,
        times[0][0] / 1e6 if times[0] else 0.0,
        sum(cold) / len(cold) / 1e3,
        max(cold) / 1e3,
        sum(ready) / max(len(ready), 1) / 1e3,
        n_wrong,
    )


# Heading of a column -> attribute of the figures and digits after the point, by table.
_TABLES: tuple[dict[str, tuple[str, int]], ...] = (
    {"compile, ms": ("compile", 1), "first mask, ms": ("first", 2)},
    {"later masks, us": ("cold_mean", 0), "ready step, us": ("ready", 1)},
    {"largest later mask, us": ("cold_largest", 0)},
)


def _cell(figures: _Figures | None, attribute: str, digits: int) -> str:
    return "-" if figures is None else f"{getattr(figures, attribute):,.{digits}f}"


def main() -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--engine", nargs="*", default=list(_ENGINES), choices=list(_ENGINES))
    arguments.add_argument("--vocabulary", default=MAIN)
    options = arguments.parse_args()
    words = vocabulary(options.vocabulary)
    cut = Cutter(words)
    engines = {name: _ENGINES[name](words) for name in options.engine}
    for engine in engines.values():
        for given in compositions("warm").values():
            measured(engine, given, cut)
    found: dict[str, dict[str, _Figures]] = {}
    reasons = []
    for name, given in compositions("seen").items():
        found[name] = {}
        for label, engine in engines.items():
            figures = measured(engine, given, cut)
            if isinstance(figures, str):
                reasons.append(f"{label}, {name}: {figures}")
                continue
            found[name][label] = figures
            if figures.n_wrong:
                reasons.append(f"{label}, {name}: {figures.n_wrong} texts refused")
    print("CPU time; a dash: no figure, for the reason given below\n")
    for measures in _TABLES:
        heads = [
            label if place else f"{heading}: {label}" for heading in measures for place, label in enumerate(engines)
        ]
        rows = [
            [name, *(_cell(each.get(label), *measure) for measure in measures.values() for label in engines)]
            for name, each in found.items()
        ]
        print(table(["composition", *heads], rows), end="\n\n")
    print("\n".join(reasons))
    print(f"\n{describe()}")


if __name__ == "__main__":
    main()
