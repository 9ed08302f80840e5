"""xgrammar on the grammars that its EBNF can say, JSON and arithmetic, written by hand to the same languages; and on Lark's syntax.

Its EBNF has no lexer: what a grammar ignores stands in the rules. Names that are no keywords (SQL, GraphQL) and indentation (Python) it
cannot say: those are refused. How a grammar is written decides what a mask costs, by a factor of a thousand, so there are two forms:
``ebnf`` suits its tables (what repeats is a rule that ends in itself, characters and blanks stand in place), ``plain`` is written as one
would (a rule for each thing, repeated by a star). Form ``lark`` gives it the package's grammars as they are.
"""

import time

import numpy as np
from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType

from benchmarks.engines import spelled
from benchmarks.grammars_engines import Step
from benchmarks.grammars_texts import lark_source
from benchmarks.maskbench_engines import Refused
from guided.arrays import mask_words
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["Engine"]

_FORMS = {
    "ebnf": {
        "json": r"""
root ::= [ \t\n\r]* value [ \t\n\r]*
value ::= object | array | "\"" string | number | "true" | "false" | "null"
object ::= "{" [ \t\n\r]* ("}" | member)
member ::= "\"" string [ \t\n\r]* ":" [ \t\n\r]* value [ \t\n\r]* ("}" | "," [ \t\n\r]* member)
array ::= "[" [ \t\n\r]* ("]" | item)
item ::= value [ \t\n\r]* ("]" | "," [ \t\n\r]* item)
string ::= "\"" | [^"\\\x00-\x1f] string | "\\" ["\\/bfnrt] string | "\\u" [0-9A-Fa-f] [0-9A-Fa-f] [0-9A-Fa-f] [0-9A-Fa-f] string
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+\-]? [0-9]+)?
""",
        "arithmetic": r"""
root ::= [ \t]* sum
sum ::= [+\-] [ \t]* sum | number [ \t]* rest | name [ \t]* rest | name [ \t]* "(" [ \t]* call rest | "(" [ \t]* sum ")" [ \t]* rest
rest ::= "" | [+\-*/^] [ \t]* sum
call ::= ")" [ \t]* | sum more
more ::= ")" [ \t]* | "," [ \t]* sum more
number ::= [0-9]+ ("." [0-9]*)? exponent | "." [0-9]+ exponent
exponent ::= "" | [eE] [+\-]? [0-9]+
name ::= [A-Za-z_] [A-Za-z0-9_]*
""",
    },
    "plain": {
        "json": r"""
root ::= ws value ws
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair (ws "," ws pair)* ws)? "}"
pair ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)* ws)? "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1f] | "\\" ["\\/bfnrt] | "\\u" hex hex hex hex
hex ::= [0-9A-Fa-f]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+\-]? [0-9]+)?
ws ::= [ \t\n\r]*
""",
        "arithmetic": r"""
root ::= ws sum
sum ::= product (("+" | "-") ws product)*
product ::= factor (("*" | "/") ws factor)*
factor ::= ("-" | "+") ws factor | atom ("^" ws factor)?
atom ::= number ws | name ws ("(" ws (sum ("," ws sum)*)? ")" ws)? | "(" ws sum ")" ws
number ::= ([0-9]+ ("." [0-9]*)? | "." [0-9]+) ([eE] [+\-]? [0-9]+)?
name ::= [A-Za-z_] [A-Za-z0-9_]*
ws ::= [ \t]*
""",
    },
}


class Engine:
    goes_on = False

    def __init__(self, name: str, words: Vocabulary, form: str) -> None:
        if form != "lark" and name not in _FORMS[form]:
            raise Refused("ebnf", "its EBNF has no lexer: no keywords apart from names, no indentation")
        info = TokenizerInfo(spelled(words), VocabType.RAW, vocab_size=words.size, stop_token_ids=list(words.eos))
        compiler = GrammarCompiler(info, max_threads=1, cache_enabled=False)
        source = lark_source(name) if form == "lark" else _FORMS[form][name]
        begin = time.process_time_ns()
        self.grammar = compiler.compile_lark(source) if form == "lark" else compiler.compile_grammar(source)
        self.spec_ms, self.compile_ms = 0.0, (time.process_time_ns() - begin) / 1e6
        self.buffer, self.eos = np.zeros((1, mask_words(words.size)), np.int32), words.eos[0]

    def start(self) -> Step:
        matcher, buffer = GrammarMatcher(self.grammar), self.buffer
        self.matcher, words = matcher, buffer[0]

        def step(token: int) -> tuple[bool, int, int]:
            begin = time.thread_time_ns()
            if not matcher.fill_next_token_bitmask(
                buffer, 0
            ):  # Why: it leaves the buffer alone where every token is allowed
                buffer.fill(-1)
            middle = time.thread_time_ns()
            allowed = bool(words[token >> 5] >> (token & 31) & 1) and matcher.accept_token(token)
            return allowed, middle - begin, time.thread_time_ns() - middle

        return step

    def end(self) -> bool:
        if not self.matcher.fill_next_token_bitmask(self.buffer, 0):
            return True
        return bool(self.buffer[0][self.eos >> 5] >> (self.eos & 31) & 1)
