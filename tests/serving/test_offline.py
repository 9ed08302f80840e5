"""`vllm.LLM` without a server, in a process of its own, as docs/serving.md says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.serving_server import number_type

pytest.importorskip("vllm")

# Engines are processes of their own, which import the program again.
PROGRAM = """
import json
import sys

from guided.integrations import vllm as plugin

if __name__ == "__main__":
    plugin.register()

    from vllm import LLM, SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    model, dtype = sys.argv[1:]
    llm = LLM(model, dtype=dtype, max_model_len=512, enforce_eager=True, structured_outputs_config={"backend": "guided"})

    def text(**constraint):
        params = SamplingParams(max_tokens=60, temperature=0.0, structured_outputs=StructuredOutputsParams(**constraint))
        return llm.generate(["The answer: "], params)[0].outputs[0].text

    found = [text(regex="[0-9]{4}-[0-9]{2}"), text(json={"enum": [{"a": 1}]}), text(choice=["yes", "no"])]
    try:
        text(regex="a(")
    except VLLMValidationError as error:
        found.append(str(error))
    print("found:", json.dumps([*found, text(choice=["yes", "no"])]))
"""


def test_the_backend_serves_without_a_server(tmp_path: Path) -> None:
    from guided.integrations.load import default_model_folder

    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    settings = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [sys.executable, str(program), str(default_model_folder()), number_type()],
        env={**settings, **os.environ}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("found: ")]
    date, value, choice, refused, again = json.loads(line.removeprefix("found: "))
    assert len(date) == 7
    assert date[4] == "-"
    assert json.loads(value) == {"a": 1}
    assert choice == again
    assert choice in ("yes", "no")
    assert "PatternError" in refused
