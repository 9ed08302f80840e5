"""Unknown keywords: which are probably misspelled, and what is meant.

JSON Schema ignores unknown keywords, so ``{"requred": ["a"]}`` allows everything. An unknown keyword is taken for a misspelling of a
keyword of the same dialect if they are equal but for case, punctuation and blanks, or if few letters were inserted, dropped, replaced, or
exchanged with the next one (`distance`): one in names of three to six letters, two in longer ones.

Not taken for misspellings: keywords of other drafts, names that other tools give a meaning (`ANNOTATIONS`), and private names: those
with the prefix ``x-``, with a prefix like ``ui:``, or that do not begin with a letter, or ``$`` and a letter (``_format``, ``//``).

Complexity: one comparison with each known keyword, for unknown keywords alone.
"""

from guided.schema.dialects import DRAFTS, Dialect

__all__ = ["ANNOTATIONS", "Misspellings", "distance", "drafts_with", "is_private", "known_keywords", "meant"]

# Keywords of all drafts that enforce nothing by themselves.
_CORE = frozenset({
    "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment", "$defs", "definitions",
    "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
    "contentSchema", "media", "binaryEncoding", "links", "base",
})  # fmt: skip
# Annotations of OpenAPI, of editors, of form generators and of code generators.
ANNOTATIONS = frozenset({
    "nullable", "discriminator", "xml", "externalDocs", "example", "markdownDescription", "markdownEnumDescriptions",
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
# Subschemas that nothing but references reaches: a reference that leads nowhere is an error already.
_DEFINITIONS = frozenset({"$defs", "definitions"})
# Names that look like one keyword and mean another.
_ALIASES = {"inclusiveMinimum": "minimum", "inclusiveMaximum": "maximum"}
_IGNORED = str.maketrans("", "", "_-$ .:")
# Letters of the shorter name from which on so many edits are still a misspelling.
_SHORTEST = ((7, 2), (3, 1))
_MOST_EDITS = 2
# Letters of an unknown name that is looked at.
_LONGEST = 40


def known_keywords(dialect: Dialect) -> frozenset[str]:
    """The keywords that have a meaning in a dialect, and the annotations."""
    return frozenset({*dialect.handlers, *dialect.positions, *dialect.companions, *_CORE, *ANNOTATIONS})


class Misspellings:
    """What `known_keywords` and `meant` give, remembered for one schema.

    Only so many different unknown keywords are compared with the known ones; further ones are not taken for misspellings.
    """

    __slots__ = ("_known", "_meant")

    _MOST_COMPARED = 1000

    def __init__(self) -> None:
        self._known: dict[Dialect, frozenset[str]] = {}
        self._meant: dict[tuple[str, Dialect], str | None] = {}

    def known(self, dialect: Dialect) -> frozenset[str]:
        """Return `known_keywords` of a dialect."""
        found = self._known.get(dialect)
        if found is None:
            found = self._known[dialect] = known_keywords(dialect)
        return found

    def meant(self, keyword: str, dialect: Dialect) -> str | None:
        """Return what `meant` says of an unknown keyword; None after too many."""
        key = keyword, dialect
        if key not in self._meant:
            if len(self._meant) == self._MOST_COMPARED:
                return None
            self._meant[key] = meant(keyword, dialect)
        return self._meant[key]


def is_private(keyword: str) -> bool:
    """Is a name outside of what drafts may define, by its prefix?"""
    begins_plainly = keyword.removeprefix("$")[:1].isalpha()
    return not begins_plainly or keyword.lower().startswith("x-") or ":" in keyword[:-1]


def meant(keyword: str, dialect: Dialect) -> str | None:
    """The keyword of a dialect that an unknown one is a misspelling of; None if it does not look like one."""
    if keyword in _ELSEWHERE or is_private(keyword) or len(keyword) > _LONGEST:
        return None
    if keyword in _ALIASES:
        return _ALIASES[keyword]
    plain = _plain(keyword)
    letters = set(plain)
    best: tuple[int, str] | None = None
    for target, other, others in _TARGETS:
        # A quick look first: an edit changes at most two letters of the set.
        if abs(len(plain) - len(other)) > _MOST_EDITS or len(letters ^ others) > 2 * _MOST_EDITS:
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
    """Names of the drafts in which a keyword is enforced."""
    return [draft.name for draft in DRAFTS.values() if keyword in draft.handlers or keyword in draft.companions]


def distance(one: str, other: str) -> int:
    """Letters to insert, drop, replace, or exchange with the next one, to make one name the other."""
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


# Keywords that may be meant, without case and punctuation, and their letters.
_TARGETS = tuple((keyword, _plain(keyword), frozenset(_plain(keyword))) for keyword in sorted(_ENFORCED - _DEFINITIONS))
