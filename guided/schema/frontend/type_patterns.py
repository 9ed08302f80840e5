r"""Patterns of Python types, in the syntax of ECMA-262.

Pydantic reads the pattern of a type by Rust's ``regex``, or by Python's `re`; a JSON Schema is read as ECMA-262. `type_pattern` writes
the type's reading in the syntax of ECMA-262: ``\d \w \s \b`` and their complements are those of Unicode, ``.`` is anything but a line
feed, Python's ``$`` also stands before a last line feed, and what only one dialect has (``[[:digit:]]``, ``\x{41}``, ``[]a]``) is spelled
out.

Characters that are unassigned in Python's tables are in no complement of a set of Unicode, since Rust may have newer tables.

Complexity: one pass over the pattern. Refused, as None: set operations and nested classes of Rust, a ``{`` without a count, its ``\<``,
``\>`` and ``\b{start}``, flags other than ``i`` and ``s``, and Python's ``\N{...}``.

`TextPattern` is metadata for ``Annotated[str, ...]``: a pattern tree that the whole string matches, in the syntax of ECMA-262.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from guided.errors import SchemaError
from guided.patterns.render import render_ecma
from guided.patterns.tree import Alternate, Complement, Intersect, Literal, Node

__all__ = ["WHITE_SPACE", "TextPattern", "TypePattern", "narrowed", "pattern_schema", "type_pattern"]

# Members of a class: Unicode's property White_Space.
WHITE_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ENCLOSED_LETTERS = r"\u24b6-\u24e9\u{1f130}-\u{1f149}\u{1f150}-\u{1f169}\u{1f170}-\u{1f189}"
_RUST = {
    "d": r"\p{Nd}",
    "w": rf"\p{{L}}\p{{M}}\p{{Nd}}\p{{Nl}}\p{{Pc}}\u200c\u200d{_ENCLOSED_LETTERS}",
    "s": WHITE_SPACE,
}
_PYTHON = {"d": r"\p{Nd}", "w": r"\p{L}\p{N}_", "s": rf"\x1c-\x1f{WHITE_SPACE}"}
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-\/:-@\[-`{-~", "space": r"\t-\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_UNASSIGNED = r"\p{Cn}"
_POSIX_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")
_CODE = re.compile(r"\\[xuU]\{([0-9A-Fa-f]{1,8})\}|\\U([0-9A-Fa-f]{8})")
_PROPERTY = re.compile(r"\\([pP])(?:\{([^}]*)\}|([A-Za-z]))")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(-[a-zA-Z]*)?[:)]")
_COUNT = re.compile(r"\d+(?:,\d*)?\}")
# Intersections and complements within each other.
_DEEPEST = 20
_OPERATORS = ("&&", "--", "~~")


class TypePattern(NamedTuple):
    """A pattern of a type.

    Attributes
    ----------
    source : str
        The type's reading of it, in the syntax of ECMA-262.
    is_narrower : bool
        Whether it may refuse texts that ECMA-262's reading of the pattern allows.
    is_other_syntax : bool
        Whether ECMA-262 reads the pattern as something else or not at all.
    """

    source: str
    is_narrower: bool
    is_other_syntax: bool


def type_pattern(source: str, *, is_rust: bool) -> TypePattern | None:
    """Return a type's pattern in the syntax of ECMA-262; None if that is not possible."""
    reader = _Reader(source, is_rust=is_rust)
    try:
        text = reader.read()
    except _Unsupported:
        return None
    return TypePattern(text, reader.is_narrower, reader.is_other_syntax)


@dataclass(frozen=True, slots=True)
class TextPattern:
    """Metadata of a string that a pattern matches in full.

    Attributes
    ----------
    node : Node
    """

    node: Node

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the schema of the type with the pattern, for pydantic."""
        return narrowed(handler(core_schema), pattern_schema(self.node), "pattern")


def pattern_schema(node: Node, depth: int = 0) -> dict[str, Any]:
    """Return the keywords for strings that a pattern matches in full.

    Raises
    ------
    SchemaError
        Intersections or complements are within other parts of the pattern, for which ECMA-262 has no syntax.
    """
    match node:
        case Intersect() | Complement() if depth == _DEEPEST:
            raise SchemaError(f"intersections and complements nest more than {_DEEPEST} deep", "", "pattern")
        case Intersect(items):
            return {"allOf": [pattern_schema(item, depth + 1) for item in items]}
        case Complement(item):
            return {"not": pattern_schema(item, depth + 1)}
        case _:
            return _written(node)


def _written(node: Node) -> dict[str, Any]:
    options = node.items if isinstance(node, Alternate) else (node,)
    texts = [item.text for item in options if isinstance(item, Literal)]
    if len(texts) == len(options):
        return {"enum": texts}
    try:
        return {"pattern": f"^(?:{render_ecma(node)})$"}
    except ValueError as error:
        reason = "an intersection or complement within a pattern has no syntax in JSON Schema"
        raise SchemaError(reason, "", "pattern") from error


def narrowed(schema: Mapping[str, Any], keywords: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the schema of a string with more keywords.

    Raises
    ------
    SchemaError
        The schema is one of other values.
    """
    kind = schema.get("type", "string")
    if kind != "string":
        raise SchemaError(f"does not apply to values of type {kind}, only to strings", "", name)
    if schema.keys().isdisjoint(keywords):
        return {**schema, **keywords}
    return {**schema, "allOf": [*schema.get("allOf", ()), dict(keywords)]}


class _Unsupported(Exception):
    pass


class _Reader:
    def __init__(self, source: str, *, is_rust: bool) -> None:
        self.source, self.is_rust = source, is_rust
        self.sets = _RUST if is_rust else _PYTHON
        self.at = 0
        # What a negative lookaround allows more, the pattern allows less.
        self.is_negated = "(?!" in source or "(?<!" in source
        self.is_narrower = self.is_other_syntax = False
        self.dot_is_any = False

    def read(self) -> str:
        written: list[str] = []
        while self.at < len(self.source):
            sign = self.source[self.at]
            if sign == "\\":
                written.append(self._escape())
                continue
            if sign == "[":
                written.append(self._class())
                continue
            self.at += 1
            if sign == "(":
                self._check_flags()
            elif sign == "{" and self.is_rust and _COUNT.match(self.source, self.at) is None:
                raise _Unsupported
            elif sign == "." and not self.dot_is_any:
                sign = r"[^\n]"
                self.is_narrower |= self.is_negated
            elif sign == "$" and not self.is_rust:
                sign = r"(?=\n?$)"
                self.is_narrower |= self.is_negated
            written.append(sign)
        return "".join(written)

    def _check_flags(self) -> None:
        flags = _FLAGS.match(self.source, self.at - 1)
        if flags is None:
            return
        if flags[2] or not set(flags[1]) <= {"i", "s"}:
            raise _Unsupported
        if "s" in flags[1]:
            if flags.start() > 0:
                raise _Unsupported
            self.dot_is_any = True

    def _escape(self) -> str:
        """Read an escape outside classes."""
        letter = self.source[self.at + 1 : self.at + 2]
        if letter in "bB" and letter:
            self.at += 2
            if self.source.startswith("{", self.at):
                raise _Unsupported
            self.is_narrower = True
            word, either = f"[{self.sets['w']}]", f"[{self.sets['w']}{_UNASSIGNED}]"
            if letter == "b":
                return f"(?:(?<={word})(?!{either})|(?<!{either})(?={word}))"
            # Before Python 3.14, \B is nowhere in the empty text.
            somewhere = "" if self.is_rust else "(?:(?<=[^])|(?=[^]))"
            return f"(?:(?<={word})(?={word})|(?<!{either})(?!{either}){somewhere})"
        if self.is_rust and letter in "<>" and letter:
            raise _Unsupported
        members, is_complement, is_set = self._members()
        if not is_set:
            return members
        if is_complement:
            return f"[^{members}{_UNASSIGNED}]"
        return f"[{members}]"

    def _members(self) -> tuple[str, bool, bool]:
        """Read an escape: the members of its class, whether it is their complement, and whether it is a set of several characters."""
        start = self.at
        letter = self.source[start + 1 : start + 2]
        self.at += 2
        if letter and letter.lower() in self.sets:
            is_complement = letter.isupper()
            self.is_narrower |= is_complement or letter == "s" or self.is_negated
            return self.sets[letter.lower()], is_complement, True
        code = _CODE.match(self.source, start)
        if code is not None:
            self.at = code.end()
            self.is_other_syntax = True
            return rf"\u{{{int(code[1] or code[2], 16):x}}}", False, False
        prop = _PROPERTY.match(self.source, start)
        if prop is not None and self.is_rust:
            self.at = prop.end()
            name = prop[2] or prop[3]
            self.is_other_syntax |= bool(prop[3])
            self.is_narrower |= prop[1] == "P"
            return rf"\p{{{name}}}", prop[1] == "P", True
        if letter == "a":
            self.is_other_syntax = True
            return r"\x07", False, False
        if letter == "N" and not self.is_rust:
            raise _Unsupported
        return self.source[start : self.at], False, False

    def _class(self) -> str:
        source = self.source
        self.at += 1
        is_negated = source.startswith("^", self.at)
        self.at += is_negated
        members: list[str] = []
        complements: list[str] = []
        has_sets = False
        first = self.at
        while not source.startswith("]", self.at) or self.at == first:
            if self.at >= len(source):
                raise _Unsupported
            sign = source[self.at]
            posix = _POSIX_CLASS.match(source, self.at) if self.is_rust else None
            if posix is not None:
                self.at = posix.end()
                self.is_other_syntax = True
                if posix[2] not in _POSIX:
                    raise _Unsupported
                (complements if posix[1] else members).append(_POSIX[posix[2]])
            elif self.is_rust and (sign == "[" or source.startswith(_OPERATORS, self.at)):
                raise _Unsupported
            elif sign == "\\":
                found, is_complement, is_set = self._members()
                has_sets |= is_set
                (complements if is_complement else members).append(found)
            else:
                self.at += 1
                self.is_other_syntax |= sign == "]"
                is_hyphen = sign == "-" and (self.at == first + 1 or source.startswith("]", self.at))
                members.append("\\" + sign if sign in "[]^" or is_hyphen else sign)
        self.at += 1
        self.is_narrower |= has_sets and is_negated
        if not complements:
            unassigned = _UNASSIGNED if is_negated and has_sets else ""
            return f"[{'^' if is_negated else ''}{''.join(members)}{unassigned}]"
        parts = [f"[{''.join(members)}]"] if members else []
        parts += [f"[^{each}{'' if is_negated else _UNASSIGNED}]" for each in complements]
        if is_negated:
            return rf"(?:(?!{'|'.join(parts)})[^\p{{Cn}}])"
        return f"(?:{'|'.join(parts)})"
