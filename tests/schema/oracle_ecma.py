r"""ECMA-262 patterns by translation to the `regex` package: slow and obvious, for comparison.

``search(pattern, text)`` is ``new RegExp(pattern, "u").test(text)``, or without ``u`` where only that reads the pattern: classes are ASCII
but for ``\s``, the dot stops at four line ends, and the anchors are those of the whole text. Not covered: case-insensitivity, and
quantified assertions.
"""

from functools import cache

import regex

__all__ = ["search", "translated"]

_SPACE = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
_WORD = r"[A-Za-z0-9_]"
_BOUNDARY = rf"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))"
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}


def search(pattern: str, text: str) -> bool:
    """Whether the pattern matches somewhere in the text."""
    return _compiled(pattern).search(text) is not None


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(translated(pattern), regex.VERSION1)


def translated(pattern: str) -> str:
    """The pattern as the `regex` package writes it, in version 1."""
    out, i, in_class = [], 0, False
    while i < len(pattern):
        char = pattern[i]
        if char == "\\":
            piece, i = _escape(pattern, i + 1, in_class)
            out.append(piece)
            continue
        i += 1
        if in_class:
            in_class = char != "]"
            out.append(regex.escape(char) if char in "[&|~^" else char)
        elif char == "[":
            in_class = True
            if pattern.startswith("^]", i):
                out.append(r"[\s\S]")
                i, in_class = i + 2, False
            elif pattern.startswith("]", i):
                out.append(r"(?!)")
                i, in_class = i + 1, False
            elif pattern.startswith("^", i):
                out.append("[^")
                i += 1
            else:
                out.append("[")
        elif char == ".":
            out.append(r"[^\n\r\u2028\u2029]")
        elif char == "^":
            out.append(r"\A")
        elif char == "$":
            out.append(r"\Z")
        elif char == "(" and pattern.startswith("?<", i) and pattern[i + 2 : i + 3] not in ("=", "!"):
            out.append("(?P<")
            i += 2
        else:
            out.append(char)
    return "".join(out)


def _escape(pattern: str, i: int, in_class: bool) -> tuple[str, int]:
    """What stands for the escape whose letter is at i, and where to go on."""
    char = pattern[i]
    lower = char.lower()
    if char in "dDwWsS":
        members = _CLASSES[lower]
        negated = char.isupper()
        if in_class:
            return (f"[^{members}]" if negated else members), i + 1
        return f"[{'^' if negated else ''}{members}]", i + 1
    if char in "bB" and not in_class:
        return (_BOUNDARY if char == "b" else f"(?!{_BOUNDARY})"), i + 1
    if char == "b":
        return r"\x08", i + 1
    if lower == "p" and pattern[i + 1 : i + 2] == "{":
        end = pattern.index("}", i) + 1
        return "\\" + pattern[i:end], end
    if char == "k" and pattern[i + 1 : i + 2] == "<":
        end = pattern.index(">", i) + 1
        return f"(?P={pattern[i + 2 : end - 1]})", end
    if char.isdigit() and char != "0":
        return "\\" + char, i + 1
    if char == "c":
        return regex.escape(chr(ord(pattern[i + 1]) % 32)), i + 2
    if char in _CONTROLS:
        return rf"\x{ord(_CONTROLS[char]):02x}", i + 1
    if char == "x":
        return regex.escape(chr(int(pattern[i + 1 : i + 3], 16))), i + 3
    if char == "u":
        code, end = _code_point(pattern, i + 1)
        return regex.escape(chr(code)), end
    return regex.escape(char), i + 1


def _code_point(pattern: str, i: int) -> tuple[int, int]:
    if pattern[i] == "{":
        end = pattern.index("}", i)
        return int(pattern[i + 1 : end], 16), end + 1
    code = int(pattern[i : i + 4], 16)
    if 0xD800 <= code < 0xDC00 and pattern.startswith("\\u", i + 4):
        low = int(pattern[i + 6 : i + 10], 16)
        if 0xDC00 <= low < 0xE000:
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), i + 10
    return code, i + 4
