"""Detection of misspelled keywords, with the intended keyword.

JSON Schema ignores unknown keywords, so ``{"requred": ["a"]}`` allows everything. An unknown keyword counts as a misspelling of a
keyword of the same dialect if they are equal except for case, punctuation and blanks, or if few letters were inserted, dropped, replaced
or swapped with the next one (`distance`): one in names of three to six letters, two in longer ones.

Never misspellings: keywords of other drafts, names that other tools define (`ANNOTATIONS`), and private names, which have the prefix
``x-``, a prefix like ``ui:``, or do not begin with a letter, or ``$`` and a letter (``_format``, ``//``).

Complexity: one comparison with each known keyword, for unknown keywords only.
"""

from functools import lru_cache

from guided.schema.frontend.dialect import Dialect
from guided.schema.frontend.dialects import DRAFTS

__all__ = ["ANNOTATIONS", "distance", "drafts_with", "is_private", "known_keywords", "meant", "plain_keywords"]

# Keywords of all drafts that enforce nothing by themselves.
_CORE = frozenset({
    "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment", "$defs", "definitions",
    "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
    "contentSchema", "media", "binaryEncoding", "links", "base",
})  # fmt: skip
# Annotations of OpenAPI, editors, form generators and code generators.
ANNOTATIONS = frozenset({
    "discriminator", "xml", "externalDocs", "example", "markdownDescription", "markdownEnumDescriptions",
    "enumDescriptions", "enumNames", "enumTitles", "enumItemLabels", "defaultSnippets", "deprecationMessage", "errorMessage",
    "errorMessages", "patternErrorMessage", "doNotSuggest", "suggestSortText", "allowComments", "allowTrailingCommas",
    "completionDetail", "tsType", "tsEnumNames", "tsImport", "javaType", "javaInterfaces", "javaName", "existingJavaType", "goType",
    "propertyOrder", "order", "options", "self", "meta", "metadata", "name", "label", "labels", "note", "notes", "comment",
    "comments", "tags", "version", "when", "optional", "sensitive", "secret", "unit", "units", "widget", "placeholder", "hint",
    "hints", "group", "groups", "category", "scope", "since", "see", "source", "types", "constants", "term", "fake", "faker", "mock",
    "headerTemplate", "components",
})  # fmt: skip
_ENFORCED = frozenset(
    keyword
    for draft in DRAFTS.values()
    for table in (draft.handlers, draft.positions, draft.companions)
    for keyword in table
)
_ELSEWHERE = _ENFORCED | _CORE | ANNOTATIONS
# Their subschemas are reached only by references, and a reference without a target is an error already.
_DEFINITIONS = frozenset({"$defs", "definitions"})
# Names that resemble one keyword but mean another, and OpenAPI's name for one more type.
_ALIASES = {"inclusiveMinimum": "minimum", "inclusiveMaximum": "maximum", "nullable": "type"}
_IGNORED = str.maketrans("", "", "_-$ .:")
# (length, edits): from this length of the shorter name on, up to this many edits are a misspelling.
_SHORTEST = ((7, 2), (3, 1))
_EDITS = 2
# Most letters of an unknown name that is checked.
_LONGEST = 40


@lru_cache(maxsize=64)
def known_keywords(dialect: Dialect) -> frozenset[str]:
    """Return the keywords that a dialect defines, and the annotations."""
    return frozenset({*dialect.handlers, *dialect.positions, *dialect.companions, *_CORE, *ANNOTATIONS})


@lru_cache(maxsize=64)
def plain_keywords(dialect: Dialect) -> frozenset[str]:
    """Return those of them that name neither a schema nor its draft."""
    return known_keywords(dialect) - {"$id", "$schema", "id"}


def is_private(keyword: str) -> bool:
    """Return whether a name's prefix puts it outside the names that drafts may define."""
    begins_plainly = keyword.removeprefix("$")[:1].isalpha()
    return not begins_plainly or keyword.lower().startswith("x-") or ":" in keyword[:-1]


def meant(keyword: str, dialect: Dialect) -> str | None:
    """Return the keyword that an unknown one probably misspells; None if it resembles none."""
    if keyword in _ELSEWHERE or is_private(keyword) or len(keyword) > _LONGEST:
        return None
    return _ALIASES.get(keyword) or _nearest(keyword, dialect)


# PERF: schemas share their own keywords, and a comparison takes 0.3 ms (`python -m benchmarks.first_mask`).
@lru_cache(maxsize=1024)
def _nearest(keyword: str, dialect: Dialect) -> str | None:
    """Return the enforced keyword with the fewest edits."""
    plain = _plain(keyword)
    letters = set(plain)
    best: tuple[int, str] | None = None
    for target, other, others in _TARGETS:
        # A cheap filter first: an edit changes at most two letters of the set.
        if abs(len(plain) - len(other)) > _EDITS or len(letters ^ others) > 2 * _EDITS:
            continue
        if plain == other and _enforces(dialect, target):
            return target
        shortest = min(len(plain), len(other))
        most = next((edits for length, edits in _SHORTEST if shortest >= length), 0)
        if target.startswith("$") != keyword.startswith("$") or abs(len(plain) - len(other)) > most:
            continue
        edits = distance(plain, other)
        if edits <= most and (best is None or edits < best[0]) and _enforces(dialect, target):
            best = edits, target
    return None if best is None else best[1]


def drafts_with(keyword: str) -> list[str]:
    """Return the names of the drafts that enforce a keyword."""
    return [draft.name for draft in DRAFTS.values() if keyword in draft.handlers or keyword in draft.companions]


def distance(one: str, other: str) -> int:
    """Return how many letters to insert, drop, replace or swap with the next one to turn one name into the other."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        two_before, before, row = before, row, [i]
        for j, match in enumerate(other, start=1):
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != match))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == match:
                edits = min(edits, two_before[j - 2] + 1)
            row.append(edits)
    return row[-1]


def _enforces(dialect: Dialect, keyword: str) -> bool:
    return keyword in dialect.handlers or keyword in dialect.positions or keyword in dialect.companions


def _plain(keyword: str) -> str:
    return keyword.translate(_IGNORED).lower()


# Candidate keywords, each with its form without case and punctuation and the set of its letters.
_TARGETS = tuple((keyword, _plain(keyword), frozenset(_plain(keyword))) for keyword in sorted(_ENFORCED - _DEFINITIONS))
