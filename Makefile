# Every target does its own set-up: a virtual environment in .venv with the package and its tools.
# It needs Python 3.11 or newer (name another one with PYTHON=python3.12) and make.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2

BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help run test bench docs figures lint format clean

help:
	@echo "make run      reproduce the paper: its table, its figures and a page to look at, into results/"
	@echo "make test     run the tests (JOBS=2 at a time)"
	@echo "make bench    run the benchmarks"
	@echo "make docs     build the documentation into site/, which opens without a server"
	@echo "make figures  draw the documentation's pictures and make the README's table afresh"
	@echo "make lint     check style and types"
	@echo "make format   put the code into the house style"
	@echo "make clean    remove the environment and every cache"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "gumdp needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once; again when pyproject.toml changes)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	@touch $@

run: $(READY)
	$(BIN)/gumdp reproduce --out results

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS)

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

figures: $(READY)
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/tables.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
