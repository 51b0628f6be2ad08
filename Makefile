# Two commands matter: `make lab` opens the course, `make test` runs every test. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
PARALLEL := --numprocesses=logical --maxprocesses=4 --dist=worksteal
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help lab test test-fast build lint format record clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"This course needs Python 3.11 or newer; $(PYTHON) is {v[0]}.{v[1]}. Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)

# A stamp per set of extras: installed again only when what is installed changes.
$(VENV)/lab.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[lab]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[lab,teach,test]'
	@touch $@ $(VENV)/lab.stamp

# A profile that cannot be kept is no reason to stop: the course then measures a quick one in memory.
lab: $(VENV)/lab.stamp  ## set up and open the course (ARGS=--no-browser passes through)
	-@$(BIN)/course doctor --if-stale
	@$(BIN)/course lab -- $(ARGS)

# What is timed runs alone and last; all else in parallel, a worker for each processor.
test: $(VENV)/test.stamp  ## set up and run every test
	-@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/course doctor --if-stale
	@failed=0; export PATH="$(CURDIR)/$(BIN):$$PATH"; \
	$(PYTEST) $(PARALLEL) tests $(ARGS) || failed=1; \
	$(PYTEST) --nbval-lax notebooks $(ARGS) || failed=1; \
	exit $$failed

test-fast: $(VENV)/test.stamp  ## the quick tests: some minutes
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PYTEST) $(PARALLEL) tests -m 'not slow and not browser' $(ARGS)

build: $(VENV)/test.stamp  ## lessons/ -> notebooks/, solutions/, exercises/ (ALL=1 executes every unit again)
	-@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/course doctor --if-stale
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/course build $(if $(ALL),--all) $(ARGS)

lint: $(VENV)/test.stamp  ## formatter, linter, import rules, lesson lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/course build --lint

format: $(VENV)/test.stamp  ## format the code and fix what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

record: $(VENV)/lab.stamp  ## measure this machine and write a recording
	@$(BIN)/course record $(ARGS)

clean:  ## remove the environment and caches; my_course/ stays
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
