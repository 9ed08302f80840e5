"""Formats against the official suite, against Python's own readers, and by their specifications' examples."""

import calendar
import datetime
import ipaddress
from itertools import product
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.errors import LimitError
from guided.integrations.serving import FRONT_END_LIMITS
from guided.limits import Limits
from guided.schema.formats import FORMATS, LENGTHS, REFUSED
from guided.schema.formats.stored import FOLDER, packed, stored
from guided.schema.strings.ecma import parse_ecma
from guided.schema.strings.languages import known, of_format, truth
from tests.schema import official
from tests.schema.keywords_table import EXAMPLES

# Section 7.3 of draft 2020-12's validation vocabulary.
NAMED = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
]

# Valid, and left out by the formats that say so: Punycode, and names that are referred to.
LEFT_OUT = ("xn--", r"\k<")


def are(name: str, texts: list[str]) -> list[bool]:
    least, most = LENGTHS.get(name, (0, 10_000))
    found = truth(known(("format", name), Limits()).dfa, texts).tolist()
    return [is_found and least <= len(text) <= most for text, is_found in zip(texts, found, strict=True)]


def check(name: str, yes: list[str], no: list[str]) -> None:
    texts = yes + no
    wrong = [text for text, found in zip(texts, are(name, texts), strict=True) if found != (text in yes)]
    assert not wrong


def test_every_name_is_a_format_or_refused() -> None:
    assert set(FORMATS) | set(REFUSED) == set(NAMED)
    assert not set(FORMATS) & set(REFUSED)
    assert set(LENGTHS) <= set(FORMATS)
    for make in FORMATS.values():
        assert make() is make()


@pytest.mark.parametrize("name", FORMATS)
def test_stored_automata_equal_those_of_the_formats(name: str) -> None:
    found, built = stored(name), of_format(name)
    assert found is not None, "python -m guided.schema.formats writes the files"
    assert packed(found)[:20] == packed(built)[:20], "python -m guided.schema.formats writes the files anew"
    assert np.array_equal(found.dfa.table, built.dfa.table)
    assert np.array_equal(found.dfa.accepting, built.dfa.accepting)
    assert np.array_equal(found.dfa.partition.starts, built.dfa.partition.starts)
    assert np.array_equal(found.dfa.partition.classes, built.dfa.partition.classes)
    assert (found.widths, found.dfa.partition.n_classes) == (built.widths, built.dfa.partition.n_classes)
    assert (FOLDER / f"{name}.bin").stat().st_size < 1 << 17


def test_servers_take_every_format_and_narrower_limits_tell() -> None:
    assert stored("no format") is None
    for name in FORMATS:
        assert known(("format", name), FRONT_END_LIMITS).steps < FRONT_END_LIMITS.steps // 8
    with pytest.raises(LimitError):
        known(("format", "email"), Limits(states=500))
    with pytest.raises(LimitError) as caught:
        known(("format", "email"), Limits(steps=100))
    assert caught.value.what == "steps"


@pytest.mark.parametrize("case", official.cases("format"), ids=lambda case: getattr(case, "name", "absent"))
def test_official_suite(case: official.Case) -> None:
    name = case.schema.get("format")
    if name not in FORMATS:
        pytest.skip(f"{name} is refused or unknown")
    tests = [test for test in case.tests if isinstance(test.data, str)]
    verdicts = are(name, [test.data for test in tests])
    wrong = [test.data for test, verdict in zip(tests, verdicts, strict=True) if verdict and not test.valid]
    assert not wrong
    rejected = [test.data for test, verdict in zip(tests, verdicts, strict=True) if test.valid and not verdict]
    assert all(any(mark in text.lower() for mark in LEFT_OUT) for text in rejected), rejected


# ------------------------------------------------------------------------------------------------------- dates and times


def test_dates_are_those_of_the_calendar() -> None:
    years = [0, 1, 4, 96, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9999]
    texts = [f"{year:04}-{month:02}-{day:02}" for year in years for month in range(14) for day in range(33)]

    def is_day(text: str) -> bool:
        year, month, day = map(int, text.split("-"))
        return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year or 400, month)[1]

    assert are("date", texts) == [is_day(text) for text in texts]


@given(st.dates())
def test_every_date_is_one(day: datetime.date) -> None:
    assert are("date", [day.isoformat()]) == [True]


def test_leap_seconds_are_at_midnight_of_utc() -> None:
    clock = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 14, 29, 30, 44, 58, 59)]
    offsets = [f"{hour:02}:{minute:02}" for hour in (0, 1, 5, 12, 23) for minute in (0, 15, 30, 45)]
    texts = [f"{local}:60{end}" for local in clock for end in ("Z", "z", *(s + o for s in "+-" for o in offsets))]

    def is_last(text: str) -> bool:
        local, end = text.split(":60")
        moment = datetime.datetime.strptime(local, "%H:%M")
        if end not in ("Z", "z"):
            hour, minute = end[1:].split(":")
            moment -= datetime.timedelta(hours=int(hour), minutes=int(minute)) * (1 if end[0] == "+" else -1)
        return (moment.hour, moment.minute) == (23, 59)

    assert are("time", texts) == [is_last(text) for text in texts]


def test_times() -> None:
    yes = ["00:00:00Z", "23:59:59.999999999999+23:59", "12:00:00-00:00", "23:59:60.5Z", "00:14:60+00:15"]
    no = ["24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:00", "12:00Z", "12:00:00.Z", "12:00:00+2400", "12:00:00+24:00"]
    check("time", yes, [*no, "12:00:60Z", "٢٣:00:00Z", "12:00:00Z\n", "12:00:00 Z"])
    check("date-time", [f"2024-02-29{t}{time}" for t in "Tt" for time in yes], [f"2024-02-29T{time}" for time in no])
    check("date-time", [], ["2023-02-29T00:00:00Z", "2024-02-29 00:00:00Z", "2024-02-29T", "T00:00:00Z"])


def test_durations() -> None:
    units = [*"YMD", *"HMS"]
    yes, no = [], ["P", "PT", "P1", "P1S", "PT1Y", "1D", "P-1D", "P1.5D", "p1d", "P1WT1H", "P1W1D", "P1DT"]
    for parts in product((False, True), repeat=6):
        dates = [f"1{unit}" for unit, part in zip(units[:3], parts[:3], strict=True) if part]
        times = [f"23{unit}" for unit, part in zip(units[3:], parts[3:], strict=True) if part]
        if not dates and not times:
            continue
        text = "P" + "".join(dates) + ("T" + "".join(times) if times else "")
        gaps = parts[:3] == (True, False, True) or parts[3:] == (True, False, True)
        (no if gaps else yes).append(text)
    check("duration", [*yes, "P12W", "P0D"], no)


# ------------------------------------------------------------------------------------------------- hosts, mail, identifiers


def test_hostnames() -> None:
    longest = "a" * 63
    yes = [
        "a",
        "1",
        "a-b",
        "x",
        "xn",
        "x-n--a",
        "xna--b",
        "r3---sn",
        longest,
        f"{longest}.{longest}.{longest}.{'a' * 61}",
    ]
    no = [
        "",
        "-a",
        "a-",
        "a_b",
        ".a",
        "a.",
        "a..b",
        longest + "a",
        f"{longest}.{longest}.{longest}.{'a' * 62}",
        "é.com",
    ]
    check("hostname", [*yes, "xn-a.b", "x" * 63, "xn" + "a" * 61, "x-" + "a" * 61], no)
    check(
        "hostname", [], ["xn--a", "XN--a", "a.xn--a", "xn-", "x-", "xn--", "x" * 64, "xn" + "a" * 62, "x-" + "a" * 62]
    )


GROUPS = st.one_of(
    st.integers(0, 1 << 128).map(lambda value: str(ipaddress.IPv6Address(value % (1 << 128)))),
    st.lists(st.sampled_from(["1:", "ffff", ":", "::", "0:", "1.2.3.4", ":2", "%1", "12345"]), max_size=9).map("".join),
)


@given(GROUPS)
def test_ipv6_equals_the_addresses_that_python_reads(text: str) -> None:
    try:
        ipaddress.IPv6Address(text)
        expected = "%" not in text
    except ValueError:
        expected = False
    assert are("ipv6", [text]) == [expected]


def test_ipv4_equals_the_addresses_that_python_reads() -> None:
    octets = ["0", "9", "10", "99", "100", "199", "249", "250", "255", "256", "01", "00", "", "300", "1a"]
    texts = [f"{a}.{b}.{c}.1" for a, b, c in product(octets, repeat=3)]

    def is_address(text: str) -> bool:
        try:
            ipaddress.IPv4Address(text)
        except ValueError:
            return False
        return True

    assert are("ipv4", texts) == [is_address(text) for text in texts]


def test_mail() -> None:
    yes = ["a@b", "a.b@c.d", '"a b"@c', r'"\""@c', '""@c', "a@[1.2.3.4]", "a@[IPv6:::1]", "a@[ipv6:1:2:3:4:5:6:7:8]"]
    yes += [f"{'a' * 64}@b", "!#$%&'*+/=?^_`{|}~-@b", "a@b-c.d", "a@[IPv6:1::]", "a@[IPv6:1:2:3:4:5:6:1.2.3.4]"]
    no = ["@b", "a@", "a", ".a@b", "a.@b", "a..b@c", "a b@c", '"a@c', 'a"b"@c', "a@b.", "a@-b", "a@b_c", "a@[1.2.3]"]
    no += [
        f"{'a' * 65}@b",
        "a@[::1]",
        "a@[IPv6:1:2:3:4:5:6:7::]",
        "a@b@c",
        "é@b",
        "a@é",
        "a@[IPv6:1::2::3]",
        f"a@{'b' * 64}",
    ]
    no += ["a@" + ".".join(["b" * 62] * 4) + ".cc"]
    check("email", yes, [*no, '"\n"@c', '"é"@c'])
    check(
        "idn-email",
        [*yes, "é@b", "a@é", '"é"@c', "실례@실례.테스트"],
        [text for text in no if text.isascii() and len(text) < 255],
    )


@given(st.uuids())
def test_uuids(value: UUID) -> None:
    check("uuid", [str(value), str(value).upper()], [value.hex, str(value)[1:], f"{{{value}}}", value.urn])


# ----------------------------------------------------------------------------------------------------- references, pointers

URIS = [
    "a:",
    "a:b",
    "a:/",
    "a://",
    "a://b",
    "a://b:",
    "a://b:1/",
    "a:?",
    "a:#",
    "a:?#",
    "a:b/c?d#e",
    "a://@",
    "a://:@b",
]
URIS += [
    "a://[::1]",
    "a://[v1.a:b]",
    "a+-.1:b",
    "a:%41",
    "a:b:c",
    "a://b//c",
    "a:b//c",
    "a:;=@!$&'()*+,",
    "a://1.2.3.4:80",
]
REFERENCES = [
    "",
    "/",
    "//",
    "//a",
    "a",
    "a/b:c",
    "./a:b",
    "?",
    "#",
    "?a/?:@",
    "a?b#c",
    "%41",
    "/a//b",
    "@",
    "//a@b:1/c",
]
NOT_REFERENCES = [
    "%",
    "%4",
    "%4g",
    "a b",
    "a\\b",
    "a^b",
    "[",
    "a://[",
    "a://[::1",
    "a://[1.2.3.4]",
    "##",
    "a#b#c",
    '"',
    "<>",
]
NOT_REFERENCES += [
    "1:a",
    ":",
    ":a",
    "//[a]",
    "//a:b",
    "//a@b@c",
    "{a}",
    "|",
    "`",
    "a://[v1.]",
    "a://[v.a]",
    "a://b:1x",
    "a\n",
]


def test_references() -> None:
    others = ["é:", "a:é", "a://é", "é", "a:?\ue000", "a:#\U000e1000"]
    check("uri", URIS, [*REFERENCES, *NOT_REFERENCES, *others])
    check("uri-reference", [*URIS, *REFERENCES], [*NOT_REFERENCES, *others])
    check(
        "iri",
        [*URIS, "a:é", "a://é", "a:?\ue000", "a:#\U000e1000"],
        [*REFERENCES, *NOT_REFERENCES, "é:", "é", "a:\ue000"],
    )
    check("iri-reference", [*URIS, *REFERENCES, "a:é", "é", "?\ue000"], [*NOT_REFERENCES, "#\ue000", "\uffff", "\x80"])


def test_templates() -> None:
    yes = [
        "",
        "a",
        "{a}",
        "{+a}",
        "{a,b}",
        "{a*}",
        "{a:1}",
        "{a:9999}",
        "{a.b}",
        "{%41}",
        "x{a}y{b}",
        "é",
        "%41",
        "{?a,b*}",
    ]
    no = [
        "{",
        "}",
        "{}",
        "{a",
        "a}",
        "{a b}",
        "{a:0}",
        "{a:10000}",
        "{a**}",
        "{.}",
        "{a.}",
        "{{a}}",
        "%",
        "%4",
        " ",
        "<",
        "{a,}",
    ]
    check("uri-template", yes, no)


def test_pointers() -> None:
    yes, no = ["", "/", "/a", "/~0~1", "//", "/é\n"], ["a", "/~", "/~2", "#", "#/a"]
    check("json-pointer", yes, no)
    check(
        "relative-json-pointer",
        [f"{n}{end}" for n in ("0", "1", "10") for end in (*yes, "#", "+1", "-12#", "+1/a")],
        no,
    )
    check("relative-json-pointer", [], ["", "01", "-1", "+1", "0##", "0#/a", "0+0", "0+", "1a", "0+01"])


# ------------------------------------------------------------------------------------------------------- regular expressions


def test_expressions() -> None:
    yes = [
        "",
        "a|b",
        "^a$",
        "(a(?:b(c)))*?",
        "[a-z_-]+",
        "[^]",
        "[]",
        r"\d{2,}",
        "a{1,2}?",
        "a{10,12}",
        r"[\w-.]",
        "(?=a)b(?!c)",
    ]
    yes += [
        "(?<n>a)b",
        r"\u00e9[\u0000-\u001f]",
        r"[\x00-\x7f]",
        r"\p{L}",
        r"(a)\1",
        r"\cA\-\/\.",
        "a]",
        "[ -~]",
        "[-a]",
        "[a-]",
    ]
    no = [
        "(",
        ")",
        "a)",
        "[",
        "*",
        "a**",
        "a{2,1}",
        "a{12,10}",
        "[z-a]",
        r"\a",
        r"\Z",
        "(?P<n>a)",
        "(?i)a",
        "(?#a)",
        "(?<1>a)",
        "\\",
    ]
    no += ["^*", r"\b+", "(?<=a)*", r"[\x7f-\x00]", "(?", "(?<n>a)(?<n>b)", "a++", "(?>a)", "[a", "a{3,2}?"]
    check("regex", yes, no)


SIGNS = ["a", "(", ")", "(?:", "(?=", "[", "]", "-", "^", "z", "{1,2}", "{2,1}", "*", "?", "\\d", "\\", "|", "0"]


@given(st.lists(st.sampled_from(SIGNS), max_size=9).map("".join))
def test_expressions_are_read(text: str) -> None:
    if are("regex", [text]) == [True]:
        parse_ecma(text)


def test_the_examples_of_the_document_are_right() -> None:
    assert set(EXAMPLES) == set(FORMATS)
    for name, texts in EXAMPLES.items():
        assert truth(known(("format", name), Limits()).dfa, list(texts)).tolist() == [True, False], name
