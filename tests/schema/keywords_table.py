"""The tables of docs/keywords.md: keywords, formats, and the verdicts on the official suite: ``python -m tests.schema.keywords_table``.

Keywords and formats are those of the code. The verdicts are those of the ratchet, which `test_official_suite` holds; each file of the suite
is about one keyword or format.
"""

import inspect
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from guided.schema.formats import FORMATS, REFUSED, draft3
from guided.schema.frontend.dialects import DRAFTS

ROOT = Path(__file__).parent.parent.parent
RATCHET = ROOT / "tests" / "data" / "json-schema" / "ratchet.json"
DOCUMENT = ROOT / "docs" / "keywords.md"

# Keywords by the values that they are about, in the order of the table.
_GROUPS: Mapping[str, str] = {
    "any value": "type enum const $ref $recursiveRef $dynamicRef allOf anyOf oneOf not if then else disallow extends",
    "numbers": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf divisibleBy",
    "strings": "minLength maxLength pattern format",
    "arrays": (
        "items prefixItems additionalItems contains minContains maxContains minItems maxItems uniqueItems unevaluatedItems"
    ),
    "objects": (
        "properties patternProperties additionalProperties propertyNames required minProperties maxProperties dependencies "
        "dependentRequired dependentSchemas unevaluatedProperties"
    ),
}
_YEARS = {3: "3", 4: "4", 6: "6", 7: "7", 2019: "2019-09", 2020: "2020-12"}

# A text of each format, and one that is not. `test_formats` checks them.
EXAMPLES: Mapping[str, tuple[str, str]] = {
    "date": ("2024-02-29", "2023-02-29"),
    "date-time": ("2024-02-29T12:00:00Z", "2024-02-29 12:00:00Z"),
    "duration": ("P1Y2M3DT4H", "P1.5D"),
    "email": ("ada@example.org", "ada@"),
    "hostname": ("www.example.org", "www_example.org"),
    "idn-email": ("adä@example.org", "adä@"),
    "ipv4": ("192.0.2.1", "192.0.2.256"),
    "ipv6": ("2001:db8::1", "2001:db8::1::2"),
    "iri": ("https://example.org/é", "/é"),
    "iri-reference": ("/é", "/a b"),
    "json-pointer": ("/a~1b/0", "a/b"),
    "regex": ("^[a-z]+$", "[a-z"),
    "relative-json-pointer": ("1/a", "/a"),
    "time": ("23:59:60Z", "23:58:60Z"),
    "uri": ("https://example.org/", "/path"),
    "uri-reference": ("/path?q=1", "/a b"),
    "uri-template": ("/users/{id}", "/users/{id"),
    "uuid": ("2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa9811eab4aa73b441d16380"),
}


def keywords() -> str:
    """A row for each keyword that constrains values, with the drafts that define it."""
    enforced = {year: {*dialect.handlers, *dialect.companions} for year, dialect in DRAFTS.items()}
    listed = {keyword for names in _GROUPS.values() for keyword in names.split()}
    assert listed == set[str]().union(*enforced.values()), listed ^ set[str]().union(*enforced.values())
    lines = ["| about | keyword | drafts |", "|---|---|---|"]
    for group, names in _GROUPS.items():
        alike: dict[str, list[str]] = {}
        for keyword in names.split():
            alike.setdefault(_drafts([year for year in DRAFTS if keyword in enforced[year]]), []).append(f"`{keyword}`")
        lines += [f"| {group} | {', '.join(found)} | {drafts} |" for drafts, found in alike.items()]
    return "\n".join(lines)


def _drafts(years: list[int]) -> str:
    every = list(DRAFTS)
    first, last = years[0], years[-1]
    assert years == every[every.index(first) : every.index(last) + 1]
    if len(years) == len(every):
        return "all"
    if first == last:
        return _YEARS[first]
    return f"from {_YEARS[first]}" if last == every[-1] else f"{_YEARS[first]} to {_YEARS[last]}"


def formats() -> str:
    """A row for each format: its definition, the documentation of its function, and the examples."""
    lines = ["| format | texts | accepted | refused |", "|---|---|---|---|"]
    for name, function in FORMATS.items():
        documented = " ".join((inspect.getdoc(function) or "").split()).replace("``", "`")
        documented = documented.replace(" (`LENGTHS`)", "").removesuffix(".")
        accepted, refused = EXAMPLES[name]
        lines.append(f"| `{name}` | {documented} | `{accepted}` | `{refused}` |")
    lines += [f"| `{name}` | a `SchemaError`: {why} | | |" for name, why in REFUSED.items()]
    older = [f"`{old}` is `{new}`" for old, new in draft3.NAMES.items()]
    others = [f"`{name}`" for name in draft3.PATTERNS if name not in FORMATS]
    lines += [
        "",
        f"In draft 3 {', '.join(older)}, a `time` has no offset, and {', '.join(others)} is a color of CSS 2.1.",
    ]
    return "\n".join(lines)


def suite() -> str:
    """How many cases are right, and the files of those that are not."""
    cases = [
        (name.partition(".json: ")[0], re.split(r"[ :(]", verdict)[0])
        for name, verdict in json.loads(RATCHET.read_text()).items()
    ]
    found = Counter(verdict for _, verdict in cases)
    assert set(found) <= {"right", "refused", "narrowed"}, found
    files = {
        verdict: ", ".join(f"`{name}`" for name in sorted({name for name, each in cases if each == verdict}))
        for verdict in ("refused", "narrowed")
    }
    return (
        f"Of {len(cases)} cases of draft 2020-12, {found['right']} are right, {found['refused']} refused "
        f"by name ({files['refused']}),\nand {found['narrowed']} narrowed ({files['narrowed']})."
    )


def with_tables(text: str) -> str:
    """The document with the tables in their places."""
    for name, made in (("keywords", keywords()), ("formats", formats()), ("suite", suite())):
        before, begin, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->\n")
        assert begin, name
        assert end, name
        text = f"{before}{begin}{made}\n{end}{after}"
    return text


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
