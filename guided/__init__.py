"""Exact by construction: tool calls, JSON, regular expressions and grammars for language models.

Names are resolved on first use (PEP 562), so ``import guided`` imports neither numpy nor numba nor torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> the module that defines it. A test holds that this is the whole public surface.
_HOMES = {
    "Automaton": "guided.automata.automaton",
    "CallError": "guided.errors",
    "Choice": "guided.engine.specs",
    "Example": "guided.calls.tool",
    "Explanation": "guided.guide.explanation",
    "Format": "guided.calls.formats.format",
    "FunctionModel": "guided.generate.function_model",
    "Generator": "guided.generate.generator",
    "Grammar": "guided.engine.grammar",
    "GrammarError": "guided.errors",
    "Guide": "guided.guide.guide",
    "GuidedError": "guided.errors",
    "Index": "guided.engine.index",
    "IndexFormatError": "guided.errors",
    "JsonSchema": "guided.engine.json_schema",
    "LimitError": "guided.errors",
    "Limits": "guided.limits",
    "LogitsProcessor": "guided.integrations.logits_processor",
    "Model": "guided.integrations.transformers",
    "ModelError": "guided.errors",
    "PatternError": "guided.errors",
    "Regex": "guided.engine.specs",
    "Result": "guided.generate.events",
    "SchemaError": "guided.errors",
    "TokenRejected": "guided.errors",
    "Tool": "guided.calls.tool",
    "Tools": "guided.calls.spec",
    "Vocabulary": "guided.vocabulary.vocabulary",
    "VocabularyError": "guided.errors",
    "choice": "guided.generate.texts",
    "compile": "guided.engine.compile",
    "generator": "guided.generate.api",
    "grammar": "guided.generate.grammars",
    "json": "guided.generate.schemas",
    "load": "guided.integrations.load",
    "load_index": "guided.calls.files",
    "read_tools": "guided.calls.sources.documents",
    "regex": "guided.generate.texts",
    "tools": "guided.generate.api",
}

__all__ = [*sorted(_HOMES), "__version__"]  # noqa: PLE0604, RUF100 - the table above is the one list of names


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'guided' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from guided.automata.automaton import Automaton as Automaton
    from guided.calls.files import load_index as load_index
    from guided.calls.formats.format import Format as Format
    from guided.calls.sources.documents import read_tools as read_tools
    from guided.calls.spec import Tools as Tools
    from guided.calls.tool import Example as Example
    from guided.calls.tool import Tool as Tool
    from guided.engine.compile import compile as compile  # noqa: A004
    from guided.engine.grammar import Grammar as Grammar
    from guided.engine.index import Index as Index
    from guided.engine.json_schema import JsonSchema as JsonSchema
    from guided.engine.specs import Choice as Choice
    from guided.engine.specs import Regex as Regex
    from guided.errors import CallError as CallError
    from guided.errors import GrammarError as GrammarError
    from guided.errors import GuidedError as GuidedError
    from guided.errors import IndexFormatError as IndexFormatError
    from guided.errors import LimitError as LimitError
    from guided.errors import ModelError as ModelError
    from guided.errors import PatternError as PatternError
    from guided.errors import SchemaError as SchemaError
    from guided.errors import TokenRejected as TokenRejected
    from guided.errors import VocabularyError as VocabularyError
    from guided.generate.api import generator as generator
    from guided.generate.api import tools as tools
    from guided.generate.events import Result as Result
    from guided.generate.function_model import FunctionModel as FunctionModel
    from guided.generate.generator import Generator as Generator
    from guided.generate.grammars import grammar as grammar
    from guided.generate.schemas import json as json
    from guided.generate.texts import choice as choice
    from guided.generate.texts import regex as regex
    from guided.guide.explanation import Explanation as Explanation
    from guided.guide.guide import Guide as Guide
    from guided.integrations.load import load as load
    from guided.integrations.logits_processor import LogitsProcessor as LogitsProcessor
    from guided.integrations.transformers import Model as Model
    from guided.limits import Limits as Limits
    from guided.vocabulary.vocabulary import Vocabulary as Vocabulary
