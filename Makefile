# Two commands do everything on a fresh machine: `make demo` and `make test`.
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := $(VENV)/.demo
INSTALL := PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: demo test quick test-slow check bench docs dist format mutants clean
PACKAGE ?= step

demo: $(DEMO)  ## the main job, with what it installs itself
	$(BIN)/python -m examples.demo

test: check  ## static checks, then the tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow and not spark'
	$(BIN)/python -m pytest -m 'spark and not slow'

quick: $(READY)  ## what a change to one package needs, in plain Python: make quick PACKAGE=step
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	WINDROW_COMPILE=never $(BIN)/python -m pytest -x -n 2 --dist worksteal -m 'not slow and not spark' \
		tests/query/test_quick.py $(wildcard tests/$(PACKAGE) src/windrow/$(PACKAGE))

test-slow: $(READY)  ## the long checks
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow and not spark'
	$(BIN)/python -m pytest -m 'slow and spark'

mutants: $(READY)  ## breaks the algorithms on purpose; every mutant must be caught
	$(BIN)/python tests/mutants.py

check: $(READY)  ## format, lint, types, the architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)  ## all experiments, small
	$(BIN)/python -m benchmarks --quick

docs: $(READY)  ## the documentation, into site/; a broken link is an error
	$(BIN)/python docs/write_cards.py
	$(BIN)/python docs/draw_windows.py
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

dist: $(READY)  ## wheel and sdist, into dist/
	$(BIN)/python -m build --outdir dist

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml constraints.txt
	python3 -m venv $(VENV)
	$(INSTALL) '.[dev]'
	touch $(DEMO) $@

$(DEMO): pyproject.toml constraints.txt  # less than all, which takes longer
	python3 -m venv $(VENV)
	$(INSTALL) '.[demo]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache bench-results site
