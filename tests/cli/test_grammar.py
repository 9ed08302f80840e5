"""``--grammar`` and ``guided grammar check``."""

from pathlib import Path

import pytest

from tests.cli.programs import call, errors_of, reply, write_ranks

DANGLING = 'start: "i" start ("e" start)? | "x"'


def test_texts_are_checked() -> None:
    assert call("check", "--grammar", "json", '{"a": [1]}').exit_code == 0
    assert call("check", "--grammar", "json", '{"a": [1}').exit_code == 1
    assert call("check", "--grammar", 'start: "a" b\nb: "b"', "-O", "start=b", "b").exit_code == 0
    assert reply("check", "--grammar", "python", "x = 1\n")["accepted"]


def test_conflicts_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "dangling.lark"
    file.write_text(DANGLING, encoding="utf-8")
    assert call("grammar", "check", str(file)).exit_code == 1
    told = reply("grammar", "check", str(file))
    assert [note.partition(":")[0] for note in told["notes"]] == ["conflict on E"]
    assert told["sizes"]["terminals"] == 3
    assert call("grammar", "check", "json").exit_code == 0


def test_gbnf_is_told_by_its_text_and_its_ending(tmp_path: Path) -> None:
    file = tmp_path / "nested.gbnf"
    file.write_text('root ::= "[" inner? "]"\ninner ::= root inner | root', encoding="utf-8")
    assert call("grammar", "check", str(file)).exit_code == 0
    for given in (str(file), file.read_text(encoding="utf-8")):
        assert call("check", "--grammar", given, "[[][]]").exit_code == 0
        assert call("check", "--grammar", given, "[[]").exit_code == 1
    assert call("check", "--grammar", str(file), "-O", "start=inner", "[][]").exit_code == 0
    write_ranks(tmp_path / "ranks")
    options = ["--vocabulary", str(tmp_path / "ranks"), "--eos", "256", "-o", str(tmp_path / "indices")]
    assert call("compile", str(file), *options).exit_code == 0
    assert call("check", str(tmp_path / "indices" / "nested.index"), "[[]]").exit_code == 0


def test_llguidances_dialect_is_told_by_its_text_or_an_option(tmp_path: Path) -> None:
    file = tmp_path / "longest.lark"
    file.write_text("%llguidance {}\nstart: A\nA: /a|ab/", encoding="utf-8")
    for given in (str(file), file.read_text(encoding="utf-8")):
        assert call("check", "--grammar", given, "ab").exit_code == 0
    both = "start: A\nA: /a|ab/"
    assert call("check", "--grammar", both, "ab").exit_code == 1
    assert call("check", "--grammar", both, "-O", "dialect=llguidance", "ab").exit_code == 0
    refused = call("check", "--grammar", "start: %json {}", "ab")
    assert refused.exit_code == 2
    assert "guided.JsonSchema" in refused.stderr


def test_index_files(tmp_path: Path) -> None:
    (tmp_path / "pairs.lark").write_text('start: "a" start "b" | "c"', encoding="utf-8")
    write_ranks(tmp_path / "ranks")
    options = ["--vocabulary", str(tmp_path / "ranks"), "--eos", "256", "-o", str(tmp_path / "indices")]
    done = call("compile", str(tmp_path / "pairs.lark"), "--grammar", "json", "--explore", "20", *options)
    assert done.exit_code == 0, done.output
    assert call("check", str(tmp_path / "indices" / "pairs.index"), "acb").exit_code == 0
    assert call("check", str(tmp_path / "indices" / "json.index"), "[1, 2").exit_code == 1
    assert call("inspect", str(tmp_path / "indices" / "pairs.index")).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("grammar", "check", "nothing"), "unknown grammar"),
        (("grammar", "draw", "json"), "the only action is check"),
        (("grammar", "check", "json", "-O", "start=nowhere"), "nowhere"),
        (("grammar", "check", "json", "-O", "lexer=dynamic"), "lexer must be"),
        (
            ("grammar", "check", 'root ::= "a"', "-O", "lexer=basic"),
            "lexer is an option of grammars in Lark's notation",
        ),
        (
            ("check", "--grammar", 'root ::= "a"', "-O", "max_ignored=1", "a"),
            "max_ignored is an option of grammars in Lark's",
        ),
        (("check", "-O", "start=b", "--regex", "a", "a"), "--option start needs --grammar"),
        (("check", "--grammar", "json", "--regex", "a", "a"), "exclude each other"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], said: str) -> None:
    found = call(*arguments)
    assert found.exit_code == 2
    assert said in errors_of(*arguments)
