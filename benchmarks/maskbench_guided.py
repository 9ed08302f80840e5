"""guided: `JsonSchema` under MaskBench's options. Its set-up is the vocabulary's trie, and kernels taken out of numba's cache."""

from collections.abc import Callable
from typing import Any

from benchmarks.engines import Matcher
from benchmarks.maskbench_engines import NO_VALUE, Refused
from guided.engine.compile import compile as compile_spec
from guided.engine.index import Index
from guided.engine.json_schema import JsonSchema
from guided.errors import GuidedError, LimitError, SchemaError
from guided.generate.warming import warm
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["OPTIONS", "Engine"]

# The instances are texts of json.dumps, whose names come in any order.
OPTIONS = {"whitespace": "flexible", "property_order": "any", "numbers": "any", "format": "assert"}


class Engine:
    def __init__(self, vocabulary: Vocabulary, _cut: Callable[[bytes | str], list[int]], **options: Any) -> None:
        self.vocabulary, self.options = vocabulary, {**OPTIONS, **options}
        self.vocabulary.trie  # noqa: B018 - built on first use
        warm(lambda _: None)

    def compile(self, schema: Any) -> "_Compiled":
        try:
            return _Compiled(compile_spec(JsonSchema(schema, **self.options), self.vocabulary))
        except SchemaError as error:
            raise Refused(NO_VALUE if error.reason == NO_VALUE else error.keyword, str(error)) from error
        except LimitError as error:
            raise Refused(f"limit {error.what}", str(error)) from error
        except GuidedError as error:
            raise Refused(type(error).__name__, str(error)) from error


class _Compiled:
    def __init__(self, index: Index) -> None:
        self.index = index

    def start(self) -> Matcher:
        guide = self.index.guide()
        return Matcher(guide.mask, guide.advance, guide.mask)

    def error(self) -> str:
        return ""
