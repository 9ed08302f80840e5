"""``make release-check``: what would be uploaded, built, installed and used as a stranger does.

Builds the source distribution and the wheel, and checks their metadata. Installs each, with what it needs, into an empty environment
outside the checkout, and there loads every entry point, runs ``guided --help``, compiles a bundled grammar, and runs the Python of the
README. Only torch, transformers and what reads the default model's file are borrowed from the environment that runs this, since torch
takes gigabytes. With files as arguments, these are checked, such as wheels with compiled kernels, and nothing is built.
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Runs in the environment. Exits with a message where something is not as it should be.
USE = """
import sys
from importlib.metadata import distribution
from pathlib import Path

import guided

prefix = Path(sys.prefix).resolve()
here = Path(guided.__file__).resolve()
if not here.is_relative_to(prefix):
    sys.exit(f"guided is imported from {here}, not from {prefix}")
found = distribution("guided-decoding")
if found.version != guided.__version__:
    sys.exit(f"the metadata say {found.version}, the package {guided.__version__}")
for point in found.entry_points:
    point.load()
    print("loads", point.group, point.value)
vocabulary = guided.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=[256])
if not guided.compile(guided.Grammar("json"), vocabulary).accepts('{"a": [1, 2]}'):
    sys.exit("the bundled grammar of JSON does not accept JSON")
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed, without this process's import path; return and show what it writes."""
    print("$", *(word if "\n" not in str(word) else "..." for word in command), flush=True)
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MAKE", "VIRTUAL"))}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=outside | environment, check=True, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    return done.stdout


def readme() -> tuple[str, str]:
    """The Python of the README, and what it says that it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    ((code, output),) = re.findall(
        r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL
    )
    return code, output


def check(distribution: Path, folder: Path) -> None:
    """Install a distribution into an empty environment in the folder, and use it."""
    print(f"\n{distribution.name}", flush=True)
    place = folder / distribution.name.replace(".", "_")
    venv.create(place, with_pip=True)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run(*pip, "install", "-c", ROOT / "constraints.txt", distribution, cwd=folder)
    run(*pip, "check", cwd=folder)
    kernels = {"NUMBA_CACHE_DIR": str(folder / "kernels")}
    run(python, "-c", USE, cwd=folder, **kernels)
    if not run(scripts / "guided", "--version", cwd=folder).startswith("guided "):
        sys.exit("guided --version names no version")
    run(scripts / "guided", "--help", cwd=folder)
    # A line in a .pth file adds a folder to the end of the import path, so what is installed here comes first.
    (site,) = place.glob("**/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    code, output = readme()
    if run(python, "-c", code, cwd=folder, **kernels) != output:
        sys.exit(f"the README says that its Python prints\n{output}")


def main() -> None:
    """Build if there is nothing to check; check all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("distribution", nargs="*", type=Path, help="files to check instead of building")
    files = [file.resolve() for file in parser.parse_args().distribution]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not files:
            run(
                sys.executable,
                "-m",
                "build",
                "--outdir",
                folder / "dist",
                ROOT,
                cwd=folder,
                GUIDED_COMPILED_KERNELS="0",
            )
            files = sorted((folder / "dist").iterdir())
        run(sys.executable, "-m", "twine", "check", "--strict", *files, cwd=folder)
        for file in files:
            check(file, folder)
    print(f"\n{len(files)} distributions can be released")


if __name__ == "__main__":
    main()
