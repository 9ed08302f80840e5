"""Ctrl-C ends every command, in every phase, with status 130 and one line."""

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.cli.programs import write_ranks

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")

# Why it says so: before that a signal meets Python's own start, which no program can handle.
PROGRAM = """
import sys
from guided.cli import interrupts, main

def listen(begin=interrupts.listen):
    begin()
    print("begun", flush=True)

interrupts.listen = listen
sys.argv = ["guided", *sys.argv[1:]]
main()
"""


def interrupted_after(seconds: float, arguments: list[str], cache: Path, **environment: str) -> tuple[int, bytes]:
    """Exit code and stderr of a command that gets SIGINT some time after its start."""
    # Why: what runs the tests in the background may have told all its children to ignore interrupts.
    listen = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Kernels that this machine has not compiled yet are announced.
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "GUIDED_PROGRESS": "0", **environment},
        preexec_fn=listen,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=120)
        return child.returncode, errors


def commands(folder: Path) -> list[list[str]]:
    ranks = write_ranks(folder / "ranks")
    over_ranks = ["--vocabulary", str(ranks), "--eos", "256"]
    return [
        ["check", "--regex", "[a-c]{2,40}x", "abx"],
        ["check", "--grammar", "json", "[1]", *over_ranks],
        ["compile", "--json-schema", "no.json", "--choice", "a", "-o", str(folder / "indices"), *over_ranks],
        ["warmup"],
        ["run", "--regex", "a+", "--model", str(folder), "Say a"],
    ]


# How each ends by itself, which may be before the interrupt: its exit code, and how what it says on stderr begins.
ENDS = [(0, b""), (0, b""), (1, b"failed no: "), (0, b""), (2, b"Error: ")]


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3])
def test_an_interrupt_while_modules_are_imported(tmp_path: Path, seconds: float) -> None:
    found = interrupted_after(seconds, ["check", "--grammar", "json", "-"], tmp_path)
    assert found == (130, b"Interrupted.\n")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_an_interrupt_at_any_moment_of_a_first_use(tmp_path: Path, number: int) -> None:
    moments = random.Random(number)
    for trial in range(4):
        arguments = commands(tmp_path)[number]
        seconds = moments.choice([moments.uniform(0, 1), moments.uniform(1, 8)])
        code, errors = interrupted_after(seconds, arguments, tmp_path / f"cache-{trial}")
        errors = b"".join(line for line in errors.splitlines(True) if not line.startswith(b"guided: compiled "))
        usual, beginning = ENDS[number]
        is_over = code == usual and errors.startswith(beginning) and errors.count(b"\n") == bool(beginning)
        assert is_over or (code, errors) == (130, b"Interrupted.\n"), (seconds, arguments)


# What a module holds is deleted after Python has given up its signal handlers.
SHUTDOWN = """
import os, signal, sys
from guided.cli import main

class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)

late = Late()
sys.argv = ["guided", "--version"]
main()
"""


def test_an_interrupt_while_python_shuts_down_changes_nothing() -> None:
    listen = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    done = subprocess.run(
        [sys.executable, "-c", SHUTDOWN], capture_output=True, text=True, check=False, preexec_fn=listen
    )
    assert (done.returncode, done.stderr) == (0, "")


# The first compilation is interrupted where one of numba's passes begins, and done again in the same process.
AGAIN = """
import os, signal, sys
import numpy as np
from numba.core import event
from guided.kernels.jit import kernel

@kernel
def inner(values):
    total = 0
    for value in values:
        total += value * value
    return total

@kernel
def outer(values):
    return inner(values) + inner(values[1:])

class Interrupt(event.Listener):
    passes = 0
    def on_start(self, _):
        Interrupt.passes += 1
        if Interrupt.passes in moments:
            os.kill(os.getpid(), signal.SIGINT)
    def on_end(self, _):
        pass

moments = [int(number) for number in sys.argv[1:]]
event.register("numba:run_pass", Interrupt())
values, n_interrupts = np.arange(4), 0
while True:
    try:
        print(outer(values))
        break
    except KeyboardInterrupt:
        n_interrupts += 1
print(n_interrupts)
"""


@pytest.mark.slow
def test_a_compilation_that_was_interrupted_can_be_done_again(tmp_path: Path) -> None:
    moments = ["1", "30", "60"]
    (tmp_path / "program.py").write_text(AGAIN)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), *moments],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "GUIDED_PROGRESS": "0",
        },
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    assert (done.stdout, done.stderr) == (f"28\n{len(moments)}\n", "")
    again = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "GUIDED_PROGRESS": "0",
        },
    )
    assert (again.stdout, again.stderr) == ("28\n0\n", ""), "what is in the cache on disk is whole"
