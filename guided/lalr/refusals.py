"""Errors in the text of a grammar: the cause, the rule or terminal, line and column, and a suggested fix.

`refusal` converts any exception of Lark, `re` or this package, raised while a text was read, to a `GrammarError`. Lark's messages give a
line, a name or neither; the rest is located in the text. Notations of other tools are recognized after Lark has refused the text.
"""

import ast
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from lark.exceptions import LarkError

from guided.errors import GrammarError, PatternError
from guided.lalr.lexers import parsed_pattern
from guided.lalr.size import TOKEN
from guided.limits import Limits
from guided.patterns.parse import parse_in_order

__all__ = ["WHOLE", "refusal"]

# What explains a message of Lark that its pattern matches; None if it does not.
_Explain: TypeAlias = "Callable[[re.Match[str], _Text], GrammarError | None]"
# Name used in errors that concern the whole grammar.
WHOLE = "grammar"
_LINE = re.compile(r"\bline (\d+),? column (\d+)")
# A symbol quoted in one of Lark's messages.
_QUOTED = re.compile(r"[`'\"<(*{]\s*'?([^\W\d]\w*)\b")
# Names that are compared to find the one that was meant, and their length.
# The terminals of Lark's library ``common``.
_COMMON_TERMINALS = (
    "CNAME", "CPP_COMMENT", "CR", "C_COMMENT", "DECIMAL", "DIGIT", "ESCAPED_STRING", "FLOAT", "HEXDIGIT", "INT", "LCASE_LETTER", "LETTER",
    "LF", "NEWLINE", "NUMBER", "SH_COMMENT", "SIGNED_FLOAT", "SIGNED_INT", "SIGNED_NUMBER", "SQL_COMMENT", "UCASE_LETTER", "WORD", "WS",
    "WS_INLINE",
)  # fmt: skip
_NAMES_COMPARED, _LONGEST_NAME = 1_000, 40
# A code point in braces, as in JavaScript.
_BRACED = re.compile(r"\\u\{([0-9A-Fa-f]{1,6})\}")
# The parts of a name before a dash and from it on.
_BEFORE, _BEHIND = re.compile(r"\b[^\W\d]\w*\Z"), re.compile(r"(?:-\w+)+")
_DEFINED = re.compile(r"[^\W\d]\w*")

_OTHER_NOTATIONS = (
    (
        re.compile(r"^[ \t]*%import[ \t]+[\w.]*[/\\:~\"'<]", re.MULTILINE),
        "%import",
        "%import takes a dotted name: `%import common.WORD`, or `%import .words.WORD` for words.lark beside a grammar's file",
    ),
    (
        re.compile(r"^[ \t]*<?[A-Za-z][\w -]*+>?\s*::=", re.MULTILINE),
        "::=",
        "this looks like BNF; guided reads Lark grammars: write `name: ...` in place of `name ::= ...`, and begin with `start: ...`",
    ),
    (
        re.compile(r"^[ \t]*[A-Za-z]\w*\s*(?:<-|\u2190)", re.MULTILINE),
        "<-",
        "this looks like a PEG; guided reads Lark grammars: write `name: ...` in place of `name <- ...`, and `|` in place of `/`",
    ),
    (
        re.compile(r"^[ \t]*(?:(?:lexer|parser)\s+)?grammar\s+\w+\s*;", re.MULTILINE),
        "grammar",
        "this looks like a grammar for ANTLR; guided reads Lark grammars: remove `grammar ...;` and the `;` at the end of rules, and write "
        "strings in double quotes",
    ),
    (
        re.compile(r"^[ \t]*[A-Za-z]\w*[ \t]*:?=(?!=)", re.MULTILINE),
        "=",
        "this looks like EBNF (ISO 14977, W3C); guided reads Lark grammars: write `name: ...` in place of `name = ...`",
    ),
    (
        re.compile(r"^[ \t]*<[A-Za-z][\w -]*>\s*:", re.MULTILINE),
        "<",
        "names of rules are written without < and >: `name: ...`",
    ),
    (
        re.compile(r"^[ \t]*[A-Za-z]\w*[ \t]*(?:->|\u2192|=>)", re.MULTILINE),
        "->",
        "a rule is written `name: ...`, with a colon in place of the arrow",
    ),
)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    offset: int


class _Text:
    """A grammar's text, its tokens, and the positions of definitions."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        position = 0
        while position < len(text):
            found = TOKEN.match(text, position)
            assert found is not None, "any character is a token"
            if found["skipped"] is None:
                self.tokens.append(_Token("\n" if found["newline"] else found[0], position))
            position = found.end()
            # Why: a literal that is not closed has no tokens, and a search for the end of each sign in it is quadratic.
            if found["sign"] in ('"', "/"):
                break
        # The first name of each line, and of each line with a colon.
        first, heads, line = dict[int, _Token](), dict[int, _Token](), 0
        for token in self.tokens:
            if token.text == "\n":
                line += 1
            elif token.text == ":" and line in first:
                heads.setdefault(line, first[line])
            elif line not in first and _DEFINED.fullmatch(token.text):
                first[line] = token
        self.heads = list(heads.values())
        self._definitions = {head.offset for head in self.heads}
        self._literals = [token for token in self.tokens if token.text[0] in '"/' and len(token.text) > 1]

    @property
    def names(self) -> list[str]:
        """The defined names, without repeats."""
        return list(dict.fromkeys(head.text for head in self.heads))

    @property
    def imported(self) -> list[str]:
        """The names of terminals in ``%import`` statements."""
        found: list[str] = []
        is_import = False
        for token in self.tokens:
            is_import = token.text == "%import" or (is_import and token.text != "\n")
            if is_import and token.text.isidentifier() and token.text.lstrip("_")[:1].isupper():
                found.append(token.text)
        return found

    def around(self, offset: int) -> str:
        """Return the rule or terminal whose definition contains an offset."""
        return next((head.text for head in reversed(self.heads) if head.offset <= offset), WHOLE)

    def place(self, line: int, column: int) -> int:
        """Return the offset of a line and column, both from 1."""
        start = 0
        for _ in range(line - 1):
            start = self.text.find("\n", start) + 1
        return start + column - 1

    def use(self, name: str, within: str | None) -> int | None:
        """Return the offset where a name is used, within the definition of a rule or terminal if one is given."""
        is_within = within is None
        for place, token in enumerate(self.tokens):
            if token.offset in self._definitions:
                is_within = within is None or token.text == within
                continue
            if is_within and token.text == name and self.tokens[place - 1 : place] != []:
                return token.offset
        return None if within is None else self.use(name, None)

    def is_inside(self, offset: int) -> bool:
        """Return whether a line's first character is inside a literal; comments start with a sign of their own."""
        place = bisect_left(self._literals, offset, key=lambda token: token.offset) - 1
        return place >= 0 and offset < self._literals[place].offset + len(self._literals[place].text)

    def statement(self, directive: str, beginning: str) -> int | None:
        """Return the offset of a statement such as ``%import`` whose text starts with `beginning`."""
        for place, token in enumerate(self.tokens):
            if token.text == directive:
                rest = "".join(other.text for other in self.tokens[place + 1 : place + 30])
                if rest.lstrip(".").startswith(beginning.lstrip(".")):
                    return token.offset
        return None

    def definition(self, name: str, number: int = 0) -> int | None:
        """Return the offset of a name's first definition, or of the definition with this number, counted from 0."""
        found = [head.offset for head in self.heads if head.text == name]
        return found[min(number, len(found) - 1)] if found else None

    def patterns(self) -> Iterator[tuple[_Token, str, str]]:
        """Yield the regular expressions: token, text between the slashes, and flags."""
        for place, token in enumerate(self.tokens):
            if token.text.startswith("/") and len(token.text) > 1:
                behind = self.tokens[place + 1] if place + 1 < len(self.tokens) else _Token("", -1)
                is_flags = behind.offset == token.offset + len(token.text) and behind.text.strip("imslux") == ""
                yield token, token.text[1:-1], behind.text if is_flags else ""


def refusal(error: Exception, text: str, source: str | None = None) -> GrammarError:
    """Convert an exception raised while a text was read.

    Parameters
    ----------
    error : Exception
        Raised by Lark, by `re`, or by this package.
    text : str
        The grammar; empty for a Lark object.
    source : str, optional
        Its file.
    """
    original = getattr(error, "orig_exc", None) or error
    found = _Text(text)
    other = _other_notation(found)
    if other is not None:
        return other
    if not isinstance(original, LarkError) and getattr(original, "line", None) is None:
        located = _bad_pattern(found) or _ranges(found)
        if located is not None:
            return located
    if isinstance(original, GrammarError):
        if original.line is not None:
            return original
        if original.reason.startswith("%import"):
            return _at(found, original.reason, original.rule, found.statement("%import", original.rule))
        return _at(found, original.reason, original.rule, found.definition(original.rule))
    return _of_lark(original, found, source or "<string>")


def _at(found: _Text, reason: str, rule: str, offset: int | None) -> GrammarError:
    if offset is None or offset > len(found.text):
        return GrammarError(reason, rule)
    return GrammarError.at(found.text, reason, rule, offset)


def _other_notation(found: _Text) -> GrammarError | None:
    # Why: text inside literals and comments does not identify a notation.
    for pattern, sign, advice in _OTHER_NOTATIONS:
        for match in pattern.finditer(found.text):
            offset = match.start() + len(match[0]) - len(match[0].lstrip())
            if found.is_inside(offset):
                continue
            name = re.match(r"<?([\w-]+)", found.text[offset:])
            rule = name[1] if name and sign not in ("%import", "grammar") else WHOLE
            return _at(found, advice, rule, offset)
    return None


def _bad_pattern(found: _Text) -> GrammarError | None:
    """Return the error of the first regular expression that `re` or this package refuses."""
    for token, body, flags in found.patterns():
        pattern = body.replace("\\/", "/")
        reason, position = "", 0
        try:
            parse_in_order(pattern, 0, Limits())
            parsed_pattern(pattern, 0)
        except PatternError as refused:
            reason, position = refused.reason, refused.position
            if "x" in flags:
                position = 0
        except re.error as refused:
            reason, position = refused.msg, refused.pos or 0
        except (RecursionError, OverflowError):
            reason = "it is nested too deeply"
        if reason:
            rule = found.around(token.offset)
            return _at(found, f"the regular expression is refused: {reason}", rule, token.offset + 1 + position)
    return None


def _of_lark(error: Exception, found: _Text, source: str) -> GrammarError:
    """Convert an exception of Lark."""
    if len(error.args) == 2 and isinstance(error.args[1], SyntaxError):
        return _bad_escape(str(error.args[0]), found)
    message = str(error).strip() or type(error).__name__
    for pattern, explain in _MESSAGES:
        match = pattern.search(message)
        if match is not None:
            explained = explain(match, found)
            if explained is not None:
                return explained
    line = _LINE.search(message)
    if line is not None and _is_here(message, line, found, source):
        reason = message[: line.start()].rstrip(" ,\n").removesuffix(" at").rstrip(" ,")
        return _unexpected(found, reason, min(found.place(int(line[1]), int(line[2])), len(found.text)))
    quoted = _QUOTED.search(message)
    rule = quoted[1] if quoted is not None else WHOLE
    offset = found.definition(rule)
    if offset is None and quoted is not None:
        offset = found.use(rule, None)
        rule = found.around(offset) if offset is not None else rule
    if isinstance(error, AssertionError):
        ranges = _ranges(found)
        if ranges is not None:
            return ranges
        message = f"Lark cannot read it ({message})"
    if offset is None:
        # The longest token that the message quotes, such as a literal.
        quoted_tokens = [token for token in found.tokens if len(token.text) > 1 and token.text in message]
        if quoted_tokens:
            offset = max(quoted_tokens, key=lambda token: len(token.text)).offset
            rule = found.around(offset)
    if rule == WHOLE and offset is None and found.heads:
        # Unknown position: point to the first definition.
        offset, rule = found.heads[0].offset, found.heads[0].text
    return _at(found, message, rule, offset)


def _bad_escape(body: str, found: _Text) -> GrammarError:
    """Return the error of a string or pattern with an escape that Python, by which Lark reads it, does not have."""
    braced = _BRACED.search(body)
    advice = r"as in Python, a character is written \x41, \u0041 or \U00000041, or as itself"
    if braced is not None and int(braced[1], 16) <= sys.maxunicode:
        advice = rf"write \U{int(braced[1], 16):08x} in place of {braced[0]}, or the character itself"
    token = next((token for token in found.tokens if token.text[0] in '"/' and body in token.text), None)
    if token is None:
        return _at(found, f"an escape is malformed: {advice}", WHOLE, None)
    place = token.offset + 1 + (0 if braced is None else braced.start())
    return _at(found, f"an escape is malformed: {advice}", found.around(token.offset), place)


def _is_here(message: str, line: "re.Match[str]", found: _Text, source: str) -> bool:
    """Return whether a position in Lark's message refers to this text and not to an imported file."""
    lines = found.text.split("\n")
    if message.startswith(" in ", line.end()) and not message.startswith(f" in {source}", line.end()):
        return False
    return int(line[1]) <= len(lines) + 1 and int(line[2]) <= len((*lines, "")[int(line[1]) - 1]) + 1


def _unexpected(found: _Text, reason: str, offset: int) -> GrammarError:
    """Return the error of an unexpected character or token."""
    text, rule = found.text, found.around(offset)
    here = text[offset : offset + 1]
    begin = text.rfind("\n", 0, offset) + 1
    line = text[begin:].partition("\n")[0]
    word = re.match(rf"[ \t]*[?!]*({_NAME})", line)
    name = word[1] if word else ""
    lacks_colon = bool(name) and ":" not in line and rule != name and not line.lstrip().startswith(("|", "%"))
    # Lark reports the end of the line if something is missing on it.
    if here in ("", "\n", "\r"):
        reason = "the line ends too early: a parenthesis is not closed, or something is missing"
    elif here == "'":
        reason = "strings are written in double quotes"
    elif here == ";":
        reason = "Lark grammars have no `;`: a rule ends at the end of its line"
    elif here == ")" or here == "]":
        reason = f"unmatched {here!r}"
    elif here == "=":
        reason = "a rule is written `name: ...`, with a colon"
    elif here == "-" and (dashed := _dashed(text, offset)):
        reason = f"names have no dashes: write {dashed.replace('-', '_')} in place of {dashed}"
    elif here == "{" and "Unexpected" in reason:
        reason = "braces are for templates, `name{x}: ...`: for repeats write *, +, ? or ~1..3 behind an item"
    elif word and rule in (name, WHOLE) and offset <= begin + word.end() and not name.islower() and not name.isupper():
        reason = f"{name!r} mixes lower and upper case: names of rules are lower-case (start), names of terminals upper-case (NAME)"
        rule, offset = name, begin + word.start(1)
    elif "missing colon" in reason or lacks_colon:
        rule, reason = name or rule, "a rule or terminal is written `name: ...`: the colon is missing"
    elif here == "%":
        reason = "the statements of a grammar are %import, %ignore, %declare, %override and %extend"
    elif reason.startswith("Unexpected input"):
        reason = f"{here!r} cannot come here"
    elif reason.startswith("Unexpected token"):
        token = _DEFINED.match(text, offset)
        reason = f"{token[0] if token else here!r} cannot come here"
    return _at(found, reason, rule, offset)


def _dashed(text: str, offset: int) -> str:
    """Return the name with dashes of which a dash is a part; empty if it is not."""
    begin = max(text.rfind("\n", 0, offset) + 1, offset - _LONGEST_NAME)
    before, behind = _BEFORE.search(text, begin, offset), _BEHIND.match(text, offset)
    return before[0] + behind[0] if before and behind else ""


def _ranges(found: _Text) -> GrammarError | None:
    """Return the error of a range whose ends are not single characters or numbers, or not in their order."""
    for place, token in enumerate(found.tokens[1:-1], 1):
        if token.text != "..":
            continue
        first, last = found.tokens[place - 1], found.tokens[place + 1]
        ends = [re.fullmatch(r'"(?:[^"\\]|\\.[^"]*)"', end.text) for end in (first, last)]
        reason = ""
        if first.text.isdecimal() and last.text.isdecimal():
            # Why by their lengths: they may have more digits than Python converts.
            low, high = ((len(text), text) for text in (first.text.lstrip("0"), last.text.lstrip("0")))
            reason = "a count is from the lower number to the higher, as in ~1..3" if high < low else ""
        elif first.text.startswith('"') and None in ends:
            reason = 'a range is between two single characters, as in "a".."z"'
        elif None not in ends and _character(first.text) > _character(last.text):
            reason = 'a range is from the lower character to the higher, as in "a".."z"'
        if reason:
            return _at(found, reason, found.around(token.offset), first.offset)
    return None


def _character(literal: str) -> str:
    """Return the character of a literal; the empty string if that is not known."""
    try:
        return str(ast.literal_eval(literal))
    except (SyntaxError, ValueError):
        return ""


def _undefined(match: "re.Match[str]", found: _Text) -> GrammarError:
    name, rule = match["name"], match.groupdict().get("rule") or WHOLE
    offset = found.use(name, rule if rule in found.names else None)
    if rule == WHOLE and offset is not None:
        rule = found.around(offset)
    is_terminal = name.lstrip("_")[:1].isupper()
    kind = "terminal" if is_terminal else "template" if match[0].startswith("Template") else "rule"
    library = _imported_from(found, name)
    if library is not None:
        return _at(found, f"%import: the grammar {library!r} has no {name}", name, found.use(name, None))
    others = [other for other in found.names if other.lower() == name.lower()]
    if others:
        advice = f"did you mean {others[0]}? Lower-case names are rules, upper-case names are terminals"
    elif close := _close(name, [*found.names, *found.imported], 0.75):
        advice = f"did you mean {close[0]}?"
    elif is_terminal and (close := _close(name, _COMMON_TERMINALS, 0.75)):
        is_exact = close[0] == name
        advice = (
            f"add `%import common.{name}`" if is_exact else f"did you mean {close[0]}? Add `%import common.{close[0]}`"
        )
    elif is_terminal:
        advice = f"add `{name}: ...`, or `%import common.{name}` if Lark's common terminals have it"
    else:
        advice = f"add `{name}: ...`"
    return _at(found, f"the {kind} {name} is used but not defined: {advice}", name, offset)


def _close(name: str, names: Sequence[str], cutoff: float) -> list[str]:
    """Return the most similar name, if there is one."""
    # Why: a comparison is cubic in the lengths of the names at worst.
    compared = [one for one in names if len(one) <= _LONGEST_NAME][:_NAMES_COMPARED]
    return get_close_matches(name, compared, 1, cutoff) if len(name) <= _LONGEST_NAME else []


def _imported_from(found: _Text, name: str) -> str | None:
    """Return the grammar that a name is imported from."""
    for place, token in enumerate(found.tokens):
        if token.text == "%import":
            statement = []
            for other in found.tokens[place + 1 :]:
                if other.text == "\n":
                    break
                statement.append(other.text)
            if name in statement:
                path = "".join(statement).partition("(")[0].partition("->")[0]
                return path.removesuffix(f".{name}")
    return None


def _no_start(match: "re.Match[str]", found: _Text) -> GrammarError:
    rules = [name for name in found.names if not name.lstrip("_")[:1].isupper()]
    name = match["name"]
    close = [other for other in found.names if other.lower() == name.lower()] or _close(name, rules, 0.6)
    if name in close:
        return _at(found, f"the start {name!r} is a terminal: add `start: {name}`", name, found.definition(name))
    if close:
        advice = f"did you mean {close[0]}? Rename it" + (f", or give start={close[0]!r}" if close[0] in rules else "")
    elif rules:
        advice = f"add `{name}: ...`, or give the name of another rule as start: {', '.join(rules[:8])}"
    else:
        advice = f"add `{name}: ...`"
    offset = found.definition(close[0] if close else rules[0]) if close or rules else None
    return _at(found, f"the start rule {name!r} is not defined: {advice}", name, offset)


def _ignored(match: "re.Match[str]", found: _Text) -> GrammarError:
    name = min(re.findall(r"[^\W\d]\w*", match["names"]))
    reason = f"%ignore: the terminal {name} is not defined: add `{name}: ...`, or `%import common.{name}`"
    return _at(found, reason, name, found.use(name, None))


def _empty(found: _Text) -> GrammarError | None:
    """Return the error of an empty string."""
    token = next((token for token in found.tokens if token.text == '""'), None)
    if token is None:
        return None
    reason = 'a terminal cannot be the empty string: leave it out, as in `name: "a" |`, or write `"a"?` for what may be absent'
    return _at(found, reason, found.around(token.offset), token.offset)


def _explained(reason: str, *, is_definition: bool = False) -> "_Explain":
    """Return what explains a message by a reason with its groups, at a use of ``name`` or its second definition."""

    def explain(match: "re.Match[str]", found: _Text) -> GrammarError:
        names = match.groupdict()
        name, within = names["name"], names.get("within")
        kind = "terminal" if name.lstrip("_")[:1].isupper() else "rule"
        offset = found.definition(name, 1) if is_definition else found.use(name, names.get("rule", within))
        return _at(found, reason.format(**names, kind=kind, upper=name.upper()), names.get("rule", name), offset)

    return explain


def _import_failed(match: "re.Match[str]", found: _Text) -> GrammarError:
    name = match["path"].replace("/", ".").replace("\\", ".").removesuffix(".lark")
    offset = found.statement("%import", name)
    return _at(found, f"%import: unknown grammar {name!r}: give its folder in import_paths", name, offset)


_NAME = r"[^\W\d]\w*"
_MESSAGES: tuple[tuple[re.Pattern[str], _Explain], ...] = (
    (re.compile(rf"(?:Rule|Terminal|Template) '(?P<name>{_NAME})' used but not defined \(in \w+ (?P<rule>{_NAME})"), _undefined),
    (re.compile(rf"Terminal used but not defined: (?P<name>{_NAME})"), _undefined),
    (re.compile(rf"Using an undefined rule: (?P<name>{_NAME})"), _no_start),
    (
        re.compile(rf"(?:Rule|Terminal|Template) '(?P<name>{_NAME})' defined more than once"),
        _explained(
            "the {kind} {name} is defined twice: join the definitions with `|`, or write `%override {name}: ...`", is_definition=True
        ),
    ),
    (
        re.compile(rf"Cannot override a nonexisting \w+ (?P<name>{_NAME})"),
        _explained("{name} is not defined, and only what is defined can be replaced: add `{name}: ...`"),
    ),
    (
        re.compile(r"^Empty terminals are not allowed"),
        lambda _, found: _empty(found),
    ),
    (re.compile(r"Terminals (?P<names>\{.*\}) were marked to ignore"), _ignored),
    (
        re.compile(
            rf"arguments used for (?P<name>{_NAME}) \(expected (?P<expected>\d+), got (?P<got>\d+)\) \(in \w+ (?P<within>{_NAME})"
        ),
        _explained("the template {name} takes {expected} arguments, not {got}"),
    ),
    (
        re.compile(rf"inside terminals \((?:NonTerminal\(')?(?P<name>{_NAME})(?:'\))? in (?P<rule>{_NAME})"),
        _explained(
            "the terminal {rule} uses the rule {name}, but terminals are made of terminals: define {upper}, or make {rule} a rule"
        ),
    ),
    (
        re.compile(r"Terminals cannot be empty \(__IGNORE_"),
        lambda _, found: _at(found, "%ignore needs a terminal or a pattern: %ignore / +/", "%ignore", found.statement("%ignore", "")),
    ),
    (re.compile(r"^Bad Range for "), lambda _, found: _ranges(found)),
    (re.compile(r"No such file or directory: '(?P<path>[^']*)'"), _import_failed),
)  # fmt: skip
