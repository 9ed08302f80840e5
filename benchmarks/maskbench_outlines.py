"""outlines-core: a schema becomes one regular expression, and that a whole index of states to tokens."""

from collections.abc import Callable
from json import dumps
from typing import Any

from outlines_core.json_schema import build_regex_from_schema

from benchmarks.engines import Matcher
from benchmarks.engines import outlines_core as patterns
from benchmarks.maskbench_engines import Refused
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]


class Engine:
    def __init__(self, vocabulary: Vocabulary, _cut: Callable[[bytes | str], list[int]], **options: Any) -> None:
        self.engine, self.options = patterns.Engine(vocabulary), options

    def compile(self, schema: Any) -> "_Compiled":
        try:
            pattern = build_regex_from_schema(dumps(schema), **self.options)
            return _Compiled(self.engine.compile(pattern))
        except (TypeError, ValueError, RuntimeError) as error:
            raise Refused(str(error).partition("\n")[0], str(error)) from error


class _Compiled:
    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled

    def start(self) -> Matcher:
        return self.compiled.start()

    def error(self) -> str:
        return ""
