import pytest

from guided.schema.frontend.uris import resolve_uri, split_fragment

# RFC 3986, sections 5.4.1 and 5.4.2; fragments are split off before.
EXAMPLES = {
    "g:h": "g:h", "g": "http://a/b/c/g", "./g": "http://a/b/c/g", "g/": "http://a/b/c/g/", "/g": "http://a/g", "//g": "http://g",
    "?y": "http://a/b/c/d;p?y", "g?y": "http://a/b/c/g?y", ";x": "http://a/b/c/;x", "g;x": "http://a/b/c/g;x", "g;x?y": "http://a/b/c/g;x?y",
    "": "http://a/b/c/d;p?q", ".": "http://a/b/c/", "./": "http://a/b/c/", "..": "http://a/b/", "../": "http://a/b/", "../g": "http://a/b/g",
    "../..": "http://a/", "../../": "http://a/", "../../g": "http://a/g", "../../../g": "http://a/g", "/./g": "http://a/g",
    "/../g": "http://a/g", "g.": "http://a/b/c/g.", ".g": "http://a/b/c/.g", "g..": "http://a/b/c/g..", "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/", "g/./h": "http://a/b/c/g/h", "g/../h": "http://a/b/c/h", "g;x=1/./y": "http://a/b/c/g;x=1/y",
    "g;x=1/../y": "http://a/b/c/y", "g?y/../x": "http://a/b/c/g?y/../x",
}  # fmt: skip


@pytest.mark.parametrize("reference", EXAMPLES)
def test_the_examples_of_rfc_3986(reference):
    assert resolve_uri("http://a/b/c/d;p?q", reference) == EXAMPLES[reference]


@pytest.mark.parametrize(
    ("base", "reference", "expected"),
    [
        ("", "other.json", "other.json"),
        ("", "", ""),
        ("folder/one.json", "two.json", "folder/two.json"),
        ("http://host", "x", "http://host/x"),
        ("urn:uuid:1", "", "urn:uuid:1"),
        ("urn:uuid:1", "urn:uuid:2", "urn:uuid:2"),
        ("tag:a,2024:b/c", "d", "tag:a,2024:b/d"),
    ],
)
def test_bases_that_are_not_web_addresses(base, reference, expected):
    assert resolve_uri(base, reference) == expected


def test_fragments_are_split_off_at_the_first_hash():
    assert split_fragment("a#b#c") == ("a", "b#c")
    assert split_fragment("a") == ("a", "")
