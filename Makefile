# Set-up happens once: a stamp in .venv/ says that it is done. `make demo` is the shortest way to see something.
PYTHON ?= python3
BIN := .venv/bin
MINUTES ?= 30
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check format docs golden bench clean

help:
	@echo "make demo    set up .venv/, fetch the embedded model once, answer questions over examples/"
	@echo "make test    set up .venv/, run the tests"
	@echo "make check   format, lint, types, documentation, tests: all that a change must pass"
	@echo "make docs    write the generated parts of docs/ anew"
	@echo "make golden  write golden traces and prompts anew, with the same replies"
	@echo "make bench   measure for MINUTES=$(MINUTES), going on where the last time stopped"

demo: .venv/.installed
	@bash examples/demo.sh

test: .venv/.dev .venv/.servers .venv/.weights
	$(BIN)/pytest $(ARGS)

check: .venv/.dev .venv/.servers .venv/.weights
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/mypy
	$(BIN)/cog --check -P docs/cli.md docs/json.md
	$(BIN)/pytest $(ARGS)

format: .venv/.dev
	$(BIN)/ruff format src tests
	$(BIN)/ruff check --fix src tests

docs: .venv/.dev
	$(BIN)/cog -r -P docs/cli.md docs/json.md

golden: .venv/.dev
	ROWHOP_GOLDEN=1 $(BIN)/pytest tests/agents

bench: .venv/.dev
	$(BIN)/python -m rowhop.eval.bench --minutes $(MINUTES)

clean:
	rm -rf .venv dist build .pytest_cache .mypy_cache .ruff_cache

# Debian ships a Python without its venv module; virtualenv does the same work there.
.venv/bin/python:
	$(PYTHON) -m venv .venv || { rm -rf .venv; $(PYTHON) -m pip install -q virtualenv && $(PYTHON) -m virtualenv -q .venv; }

.venv/.installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e .
	@touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install -q -e '.[dev]'
	@touch $@ .venv/.installed

.venv/.servers: tests/install_servers.sh | .venv/bin/python
	@bash tests/install_servers.sh
	@touch $@

# The tests load a real, small model and the embedder (120 MB together); a user's `make demo` fetches the default ones.
.venv/.weights: | .venv/.installed
	@for name in smollm2 minilm; do \
	    $(BIN)/rowhop model get $$name || { echo "$$name is missing: tests that need it are skipped."; exit 0; }; \
	done; touch $@
