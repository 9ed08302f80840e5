# The public names and the modules that define them, for type checkers and for guided/__init__.py, which reads this file.
# One import a line: from MODULE import NAME as NAME

from guided import events as events
from guided import testing as testing
from guided.automata.automaton import Automaton as Automaton
from guided.calls.files import load_index as load_index
from guided.calls.formats.format import Format as Format
from guided.calls.inputs import compile as compile  # noqa: A004
from guided.calls.sources.documents import read_tools as read_tools
from guided.calls.spec import Tools as Tools
from guided.calls.tool import Example as Example
from guided.calls.tool import Tool as Tool
from guided.engine.algebra import FreeText as FreeText
from guided.engine.algebra import Maybe as Maybe
from guided.engine.algebra import Repeat as Repeat
from guided.engine.grammar import Grammar as Grammar
from guided.engine.index import Index as Index
from guided.engine.json_schema import JsonSchema as JsonSchema
from guided.engine.specs import Choice as Choice
from guided.engine.specs import Regex as Regex
from guided.engine.specs import Substring as Substring
from guided.engine.structural_tags import StructuralTag as StructuralTag
from guided.errors import ArgumentError as ArgumentError
from guided.errors import CallError as CallError
from guided.errors import CallRefused as CallRefused
from guided.errors import GrammarError as GrammarError
from guided.errors import GuidedError as GuidedError
from guided.errors import IncompleteError as IncompleteError
from guided.errors import IndexFormatError as IndexFormatError
from guided.errors import LimitError as LimitError
from guided.errors import ModelError as ModelError
from guided.errors import PatternError as PatternError
from guided.errors import SchemaError as SchemaError
from guided.errors import StateEvicted as StateEvicted
from guided.errors import TokenRejected as TokenRejected
from guided.errors import VocabularyError as VocabularyError
from guided.events import Result as Result
from guided.generate.api import generator as generator
from guided.generate.api import tools as tools
from guided.generate.compositions import captures as captures
from guided.generate.conversation import Conversation as Conversation
from guided.generate.function_model import FunctionModel as FunctionModel
from guided.generate.generator import Generator as Generator
from guided.generate.grammars import grammar as grammar
from guided.generate.model import LanguageModel as LanguageModel
from guided.generate.options import Beam as Beam
from guided.generate.options import GenerationOptions as GenerationOptions
from guided.generate.options import Rejection as Rejection
from guided.generate.options import Smc as Smc
from guided.generate.schemas import json as json
from guided.generate.texts import choice as choice
from guided.generate.texts import regex as regex
from guided.guide.batch import fill_masks as fill_masks
from guided.guide.explanation import Explanation as Explanation
from guided.guide.guide import Guide as Guide
from guided.integrations.load import load as load
from guided.integrations.logits_processor import LogitsProcessor as LogitsProcessor
from guided.integrations.transformers import Model as Model
from guided.limits import Limits as Limits
from guided.schema.frontend.callables import Context as Context
from guided.vocabulary.vocabulary import Vocabulary as Vocabulary

__version__: str

def __dir__() -> list[str]: ...
