"""Lark grammars that are large or explode, by name: texts of what strangers might send."""

import random
from collections.abc import Callable

__all__ = ["GRAMMARS"]


def chain(count: int, last: str = '"a"', step: str = "r{next}", sign: str = "?") -> str:
    """Rules that each lead to the next one."""
    rules = [f"{sign}r{i}: " + step.replace("{next}", str(i + 1)).replace("{own}", str(i)) for i in range(count)]
    return "\n".join(["start: r0", *rules, f"r{count}: {last}"])


def words(count: int, length: int = 4) -> list[str]:
    """Different words of letters."""
    draw, found = random.Random(count), dict[str, None]()
    while len(found) < count:
        found["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=length))] = None
    return list(found)


def named(patterns: list[str]) -> str:
    """Terminals T0, T1, ..."""
    return "\n".join(f"T{i}: {pattern}" for i, pattern in enumerate(patterns))


def random_rules(count: int, n_terminals: int, seed: int, length: int = 3, sides: int = 2) -> str:
    draw = random.Random(seed)
    symbols = [*(f"r{i}" for i in range(count)), *(f"T{i}" for i in range(n_terminals))]
    rules = [
        f"r{i}: "
        + " | ".join(
            f"T{(i + j) % n_terminals} " + " ".join(draw.choices(symbols, k=draw.randint(0, length)))
            for j in range(sides)
        )
        for i in range(count)
    ]
    return "\n".join(["start: r0", *rules, named([f'"{word}"' for word in words(n_terminals)])])


def squares(count: int, sign: str = "") -> str:
    """Every rule names every other one behind a terminal of its own."""
    rules = [f"{sign}r{i}: " + " | ".join(f'"{i},{j};" r{j}' for j in range(count)) + ' | "."' for i in range(count)]
    return "\n".join(["start: r0", *rules])


def powers(count: int) -> str:
    """An LR(0) automaton with 2^count states: which of the rules are under way."""
    rules = []
    for i in range(count):
        others = " | ".join(f"T{j} r{i}" for j in range(count) if j != i)
        rules.append(f"r{i}: {others} | T{i} | U{i}")
    terminals = "\n".join(f'T{i}: "t{i}."\nU{i}: "u{i}."' for i in range(count))
    return "\n".join(["start: " + " | ".join(f"r{i}" for i in range(count)), *rules, terminals])


def ambiguous(count: int) -> str:
    """Binary operators without precedence, as shifts."""
    return 'start: "x" | ' + " | ".join(f'start "{word}" start' for word in words(count))


def optional(count: int, sign: str = "") -> str:
    """Rules that may be empty, one after the other."""
    rules = "\n".join(f'{sign}r{i}: "{word}" |' for i, word in enumerate(words(count)))
    return "start: " + " ".join(f"r{i}" for i in range(count)) + "\n" + rules


def nested_groups(count: int, sign: str) -> str:
    return "start: " + "(" * count + '"a"' + f"){sign}" * count


GRAMMARS: dict[str, Callable[[], str]] = {
    "3,000 inlined rules, each the next": lambda: chain(3_000),
    "3,000 rules, each the next": lambda: chain(3_000, sign=""),
    "3,000 inlined rules, each the next or a terminal": lambda: chain(3_000, step='r{next} | "a{own}"'),
    "10,000 rules, each the next": lambda: chain(10_000, sign=""),
    "1,000 rules, each the next or a terminal": lambda: chain(1_000, step='r{next} | "a{own};"', sign=""),
    "500 rules, each the next or a terminal": lambda: chain(500, step='r{next} | "a{own};"', sign=""),
    "3,000 rules in a row": lambda: chain(3_000, step='"a" r{next}'),
    "3,000 rules in a row, backwards": lambda: chain(3_000, step='r{next} "a"'),
    "3,000 rules in a row, both": lambda: chain(3_000, step='"a" r{next} "b"'),
    "1,000 levels of operators": lambda: chain(1_000, step='r{next} | r{own} "o{own};" r{next}'),
    "300 levels of operators": lambda: chain(300, step='r{next} | r{own} "o{own};" r{next}'),
    "100 levels of operators": lambda: chain(100, step='r{next} | r{own} "o{own};" r{next}'),
    "300 levels of operators, to the right": lambda: chain(300, step='r{next} | r{next} "o{own};" r{own}'),
    "300 levels of prefixes": lambda: chain(300, step='r{next} | "o{own};" r{own}'),
    "1,000 levels of prefixes": lambda: chain(1_000, step='r{next} | "o{own};" r{own}'),
    "2,000 rules that circle": lambda: chain(2_000, last='"a" | "b" r0', step='r{next} | "c" r0'),
    "2,000 rules, each twice the next": lambda: chain(2_000, step="r{next} r{next}"),
    "500 empty rules in a row": lambda: optional(500),
    "100 empty rules in a row": lambda: optional(100),
    "200 empty rules in a row": lambda: optional(200),
    "2,000 rules that are empty": lambda: chain(2_000, last="", step="r{next} r{next}"),
    "1,000 rules that may be empty": lambda: chain(1_000, step='r{next} "a{own};" |'),
    "10,000 alternatives": lambda: "start: " + " | ".join(f'"{word}"' for word in words(10_000)),
    "10,000 alternatives of two": lambda: "start: " + " | ".join(f'"{word}" "{word[::-1]}"' for word in words(5_000)),
    "10,000 rules": lambda: (
        "start: "
        + " | ".join(f"r{i}" for i in range(10_000))
        + "\n"
        + "\n".join(f'r{i}: "a{i};"' for i in range(10_000))
    ),
    "an alternative of 10,000": lambda: "start: " + '"a" ' * 10_000,
    "an alternative of 300": lambda: "start: " + " ".join(f'"{word}"' for word in words(300)),
    "an alternative of 2,000 rules": lambda: "start: " + "a " * 2_000 + '\na: "b" | "c" a',
    "100 nested groups *": lambda: nested_groups(100, "*"),
    "100 nested groups ?": lambda: nested_groups(100, "?"),
    "100 nested groups + with separators": lambda: (
        "start: " + "(" * 100 + '"a"' + "".join(f' "b{i};")+' for i in range(100))
    ),
    "5,000 nested groups +": lambda: nested_groups(5_000, "+"),
    "2,000 repeats": lambda: "start: " + " ".join(f'("{word}")*' for word in words(2_000)),
    "12 optional repeats": lambda: "start: " + " ".join(f'("{word}")*' for word in words(12)),
    "2,000 templates": lambda: "start: " + " ".join(f't{{"{word}"}}' for word in words(2_000)) + "\nt{x}: x | x t{x}",
    "templates of templates": lambda: (
        "start: "
        + " ".join(f't{{"{word}"}}' for word in words(300))
        + '\nt{x}: u{x} | x t{x}\nu{x}: x t{x} x | v{x, x}\nv{x, y}: x "," y'
    ),
    "LR(0) states 2^10": lambda: powers(10),
    "LR(0) states 2^14": lambda: powers(14),
    "LR(0) states 2^20": lambda: powers(20),
    "LR(0) states 2^60": lambda: powers(60),
    "operators 100": lambda: ambiguous(100),
    "operators 500": lambda: ambiguous(500),
    "operators 1,000": lambda: ambiguous(1_000),
    "operators 3,000": lambda: ambiguous(3_000),
    "squares 20": lambda: squares(20),
    "squares 60": lambda: squares(60),
    "squares 100": lambda: squares(100),
    "squares, inlined 60": lambda: squares(60, "?"),
    "random 100": lambda: random_rules(100, 50, 1),
    "random 300": lambda: random_rules(300, 50, 1),
    "random 1,000": lambda: random_rules(1_000, 300, 1),
    "random 3,000": lambda: random_rules(3_000, 1_000, 1, sides=1),
    "random 300 x 10": lambda: random_rules(300, 300, 1, sides=10),
    "300 regexes that overlap": lambda: (
        "start: ("
        + " | ".join(f"T{i}" for i in range(300))
        + ")*\n"
        + named([f"/[a-z]*{word}[a-z]*/" for word in words(300)])
    ),
    "20 regexes that overlap": lambda: (
        "start: ("
        + " | ".join(f"T{i}" for i in range(20))
        + ")*\n"
        + named([f"/[a-z]*{word}[a-z]*/" for word in words(20)])
    ),
    "300 regexes that look ahead": lambda: (
        "start: ("
        + " | ".join(f"T{i}" for i in range(300))
        + ")*\n"
        + named([f"/[a-z]+(?={word})/" for word in words(300, 2)])
    ),
    "30 regexes that look ahead": lambda: (
        "start: ("
        + " | ".join(f"T{i}" for i in range(30))
        + ")*\n"
        + named([f"/[a-z]+(?={word})/" for word in words(30, 2)])
    ),
    "3,000 keywords": lambda: (
        "start: (NAME | " + " | ".join(f'"{word}"' for word in words(3_000)) + ")*\nNAME: /[a-z]+/"
    ),
    "10,000 keywords": lambda: (
        "start: (NAME | " + " | ".join(f'"{word}"' for word in words(10_000)) + ")*\nNAME: /[a-z]+/"
    ),
    "300 names with 300 keywords": lambda: (
        "start: ("
        + " | ".join(f"T{i}" for i in range(300))
        + ")*\n"
        + named([*(f"/[a-z]{{1,{i + 2}}}/" for i in range(150)), *(f'"{word}"' for word in words(150))])
    ),
    "1,000 terminals that are ignored": lambda: (
        'start: "a"*\n'
        + named([f"/ {word}+/" for word in words(1_000)])
        + "\n"
        + "\n".join(f"%ignore T{i}" for i in range(1_000))
    ),
    "100 comments that are ignored": lambda: (
        'start: "a"*\n'
        + named([f"/{word}.*?{word}/" for word in words(100)])
        + "\n"
        + "\n".join(f"%ignore T{i}" for i in range(100))
    ),
    "200 lexer contexts": lambda: (
        "start: "
        + " | ".join(f'"{i};" r{i}' for i in range(200))
        + "\n"
        + "\n".join(f"r{i}: T{i} r{i} |" for i in range(200))
        + "\n"
        + named([f"/[a-z]+{word}/" for word in words(200)])
    ),
    "1,000 lexer contexts": lambda: (
        "start: "
        + " | ".join(f'"{i};" r{i}' for i in range(1_000))
        + "\n"
        + "\n".join(f"r{i}: T{i} r{i} |" for i in range(1_000))
        + "\n"
        + named([f"/[a-z]+{word}/" for word in words(1_000)])
    ),
    "500 priorities": lambda: (
        "start: ("
        + " | ".join(f"T{i}" for i in range(500))
        + ")*\n"
        + "\n".join(f"T{i}.{i}: /[a-z]{{{i % 7 + 1}}}{word}/" for i, word in enumerate(words(500)))
    ),
    "200 rules with priorities that reduce alike": lambda: (
        "start: " + " | ".join(f"r{i}" for i in range(200)) + "\n" + "\n".join(f'r{i}.{i}: "a"' for i in range(200))
    ),
    "2,000 rules with priorities that reduce alike": lambda: (
        "start: "
        + " | ".join(f"r{i} T{i}" for i in range(2_000))
        + "\n"
        + "\n".join(f'r{i}.{i}: "a"' for i in range(2_000))
        + "\n"
        + named([f'"{word}"' for word in words(2_000)])
    ),
    "300 reductions x 300 terminals": lambda: (
        "start: "
        + " | ".join(f"r{i} t" for i in range(300))
        + "\n"
        + "\n".join(f'r{i}.{i}: "a"' for i in range(300))
        + "\nt: "
        + " | ".join(f"T{i}" for i in range(300))
        + "\n"
        + named([f'"{word}"' for word in words(300)])
    ),
    "dangling else of 100": lambda: (
        "start: " + " | ".join(f'"if{i}" start | "if{i}" start "else{i}" start' for i in range(100)) + ' | "x"'
    ),
    "dangling else of 500": lambda: (
        "start: " + " | ".join(f'"if{i};" start | "if{i};" start "else{i};" start' for i in range(500)) + ' | "x"'
    ),
    "brackets of 300 kinds": lambda: "start: " + " | ".join(f'"({i}" start ")"' for i in range(300)) + ' | "x"',
    "brackets of 3,000 kinds": lambda: "start: " + " | ".join(f'"({i}." start "{i})"' for i in range(3_000)) + ' | "x"',
    "brackets of 300 kinds with conflicts": lambda: (
        "start: " + " | ".join(f'"({i}." start "{i})" | "({i}." start start' for i in range(300)) + ' | "x"'
    ),
    "palindromes over 100": lambda: "start: " + " | ".join(f'"{w}" start "{w}" | "{w}"' for w in words(100)),
    "palindromes over 300": lambda: "start: " + " | ".join(f'"{w}" start "{w}" | "{w}"' for w in words(300)),
    "rules that end in each other, 1,000": lambda: (
        "start: r0\n"
        + "\n".join(f'r{i}: "a{i};" r{i + 1} | "b{i};" r{(i * 7) % 1_000}' for i in range(1_000))
        + '\nr1000: "z"'
    ),
    "empty rules between, 300": lambda: (
        "start: "
        + " ".join(f'e{i} "{w}"' for i, w in enumerate(words(200)))
        + "\n"
        + "\n".join(f"e{i}: " for i in range(200))
    ),
    "one empty rule in front, 1,000 alternatives": lambda: (
        "start: "
        + " | ".join(f'e{i} "{w}"' for i, w in enumerate(words(1_000)))
        + "\n"
        + "\n".join(f"e{i}.{i}: " for i in range(1_000))
    ),
    "imported python": lambda: "%import python.file_input\n%import python.eval_input\nstart: file_input eval_input\n",
    "imported python and more": lambda: (
        "%import python (file_input, _NEWLINE, eval_input)\n%declare _INDENT _DEDENT\nstart: "
        + " | ".join(f'"{w}" file_input' for w in words(300))
    ),
    "imported lark": lambda: (
        "%import lark.start -> inner\nstart: " + " | ".join(f'"{w}" inner "{w}"' for w in words(300))
    ),
    "2,000 terminals that are ignored, in 500 contexts": lambda: (
        "start: "
        + " | ".join(f'"{i};" r{i}' for i in range(500))
        + "\n"
        + "\n".join(f'r{i}: "a{i}" r{i} |' for i in range(500))
        + "\n"
        + "\n".join(f'%ignore " {word}"' for word in words(2_000))
    ),
    "1,000 rules that are empty in a circle": lambda: chain(1_000, last="r0 |", step='r{next} r{next} "a" |'),
    "100 rules that are empty in a circle": lambda: chain(100, last='r0 | "b"', step='"a{own};" r{next} r{next} |'),
    "300 rules that circle without text": lambda: chain(300, last='r0 | "b"', step='r{next} | "a{own};"'),
    "100 alternatives of 500": lambda: (
        "start: " + " | ".join(" ".join(f'"{word}"' for word in words(500)[i:] + words(500)[:i]) for i in range(100))
    ),
    "30 alternatives of 500 rules": lambda: (
        "start: " + " | ".join(f'"{i}" ' + "a " * 500 for i in range(30)) + '\na: "b" | "c" a'
    ),
    "(a|b)*a(a|b){20} by rules": lambda: (
        'start: "a" start | "b" start | "a" r0\n'
        + "\n".join(f'r{i}: "a" r{i + 1} | "b" r{i + 1}' for i in range(20))
        + '\nr20: "c"'
    ),
    "5,000 strings that begin alike": lambda: (
        "start: (" + " | ".join('"' + "a" * i + 'b"' for i in range(1, 400)) + ")~1..3"
    ),
    "a list of 500 kinds of items": lambda: (
        "start: item+\nitem: " + " | ".join(f'"{word}" NAME' for word in words(500)) + "\nNAME: /[0-9]+/"
    ),
    "500 names of 500 rules": lambda: (
        "start: ("
        + " | ".join(f"r{i}" for i in range(400))
        + ")*\n"
        + "\n".join(f'r{i}: "{word}" (NAME | "{word[::-1]};")*' for i, word in enumerate(words(400)))
        + "\nNAME: /[0-9]+/"
    ),
}
