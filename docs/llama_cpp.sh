#!/bin/sh
# Build llama-cpp-python for the CPU and run its tests: docs/llama_cpp.sh (from anywhere; five to ten minutes on two cores, once).
# VENV: the environment, made if it is not there. PYTHON: the interpreter that makes it. CMAKE_ARGS: of the build.
set -eu
cd "$(dirname "$0")/.."
VENV="${VENV:-.venv-llama}"
VERSION=0.3.36
# No OpenMP: its threads spin beside those of torch. No servers, tools and pictures: they are most of what there is to compile.
export CMAKE_ARGS="${CMAKE_ARGS:--DGGML_OPENMP=OFF -DLLAVA_BUILD=OFF -DMTMD_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_CURL=OFF}"

test -x "$VENV/bin/python" || "${PYTHON:-python3}" -m venv "$VENV"
"$VENV/bin/python" -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'
"$VENV/bin/python" -c 'import llama_cpp' 2>/dev/null ||
    nice "$VENV/bin/python" -m pip install --disable-pip-version-check -c constraints.txt "llama-cpp-python==$VERSION"

# The vocabularies in llama.cpp's sources, against which guided's reader is compared.
SOURCES="$(mktemp -d)"
trap 'rm -rf "$SOURCES"' EXIT
"$VENV/bin/python" -m pip download --disable-pip-version-check --no-deps --no-binary llama-cpp-python \
    --dest "$SOURCES" "llama-cpp-python==$VERSION" >/dev/null 2>&1 || true
for archive in "$SOURCES"/*.tar.gz; do
    test ! -f "$archive" || tar xzf "$archive" -C "$SOURCES" --strip-components=4 --wildcards '*/models/ggml-vocab-*.gguf'
done
ls "$SOURCES"/*.gguf >/dev/null 2>&1 && export GUIDED_LLAMA_VOCABULARIES="$SOURCES"

"$VENV/bin/python" -m pytest -q tests/integrations/test_llama_cpp.py tests/integrations/test_llama_processor.py
