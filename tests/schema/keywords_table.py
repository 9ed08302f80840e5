"""The table of keywords in docs/json-schema.md, from the verdicts on the official suite: ``python -m tests.schema.keywords_table``.

The verdicts are those of the ratchet, which `test_official_suite` holds; each file of the suite is about one keyword or format.
"""

import json
import re
import textwrap
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RATCHET = ROOT / "tests" / "data" / "json-schema" / "ratchet.json"
DOCUMENT = ROOT / "docs" / "json-schema.md"
BEGIN, END = "<!-- table: keywords -->", "<!-- end of keywords -->"


def table() -> str:
    """The table, as Markdown: a row for each file with a case that is not right, and a list of the others."""
    verdicts: dict[str, Counter[str]] = {}
    for case, verdict in json.loads(RATCHET.read_text()).items():
        name = case.partition(".json: ")[0]
        verdicts.setdefault(name, Counter())[re.split(r"[ :(]", verdict)[0]] += 1
    for name, found in verdicts.items():
        assert set(found) <= {"right", "refused", "narrowed"}, (name, found)
    total = sum(verdicts.values(), Counter[str]())
    others = {name: found for name, found in sorted(verdicts.items()) if set(found) != {"right"}}
    lines = [
        "Cases of the official suite, draft 2020-12, by file: a case is a schema with its instances, and right where every instance "
        "is judged right. Narrowed: a valid instance is left out on purpose, none that is invalid is accepted. "
        "(`python -m tests.schema.keywords_table`)",
        "",
        "| file of the suite | cases | right | refused by name | narrowed |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, found in [*((f"`{name}`", found) for name, found in others.items()), ("all files", total)]:
        counts = [sum(found.values()), found["right"], found["refused"], found["narrowed"]]
        lines.append(f"| {name} | {' | '.join(f'{count:,}' for count in counts)} |")
    right = [f"`{name}` {found.total()}" for name, found in sorted(verdicts.items()) if name not in others]
    lines += [
        "",
        *textwrap.wrap(f"Right in all cases, with their number: {', '.join(right)}.", 160, break_on_hyphens=False),
    ]
    return "\n".join(lines)


def with_table(text: str) -> str:
    """The document with the table in its place."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2] if END in rest else rest
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text()))
