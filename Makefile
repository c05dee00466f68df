# Every target does its own set-up: a virtual environment in .venv with the package and its tools.
# It needs Python 3.11 or newer (name another one with PYTHON=python3.12) and make.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
STUDY ?= results/study
TESTS ?=

BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
# pip would translate to byte code on one core, other packages' tests too.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
BYTECODE = $(BIN)/python -W ignore -m compileall -q -j $(JOBS) -x '[/\\]tests?[/\\]' $(VENV)/lib >/dev/null || true

.PHONY: help run test test-thorough test-slow test-all chaos coverage bench study docs figures lint format clean

help:
	@echo "make run      reproduce the paper: its table, its figures and a page to look at, into results/"
	@echo "make test     run the tests (JOBS=2 at a time); make test-thorough what CI runs besides; make test-all everything"
	@echo "make chaos    attack it: kills, lost folders, damaged and hostile stores, fuzz, stale code; prints counts"
	@echo "make coverage run them and show which lines no test runs (TESTS=… for some of them only)"
	@echo "make bench    run the benchmarks"
	@echo "make study    measure the planner again, overnight, and write docs/planning.md from it"
	@echo "make docs     build the documentation into site/, which opens without a server"
	@echo "make figures  make the documentation's pictures, outputs and the README's table afresh"
	@echo "make lint     check style, types, imports, spelling and prose"
	@echo "make format   put the code into the house style"
	@echo "make clean    remove the environment and every cache"

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "gumdp needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once; again when pyproject.toml changes)"
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) --editable .
	@$(BYTECODE)
	@touch $@

$(TOOLS): $(READY)
	@echo "Adding what tests and documentation need"
	@$(INSTALL) --editable '.[dev,docs]'
	@$(BYTECODE)
	@touch $@

run: $(READY)
	$(BIN)/gumdp reproduce --out results

test: $(TOOLS)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow and not thorough" $(TESTS)

# The rest of what must pass before a change goes in: checks that take long to compile, every page's code, the attacks in full.
test-thorough: $(TOOLS)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "thorough and not slow" $(TESTS)

# What takes long, or proves again with more trials what the quick tests show.
test-slow: $(TOOLS)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m slow $(TESTS)

test-all: test test-thorough test-slow

chaos: $(TOOLS)
	$(BIN)/python -m pytest -q tests/chaos tests/test_stale.py --durations=10

# Compiled code counts as not run, since coverage can't see into it. Interpreted it can, a few tests at a time, for instance
# NUMBA_DISABLE_JIT=1 make coverage TESTS=tests/test_exact.py
coverage: $(TOOLS)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --cov --cov-report=term --cov-report=html:build/coverage $(TESTS)
	@echo "build/coverage/index.html"

# gymcts asks for a matplotlib that is too old for us, and needs none to search.
bench: $(READY)
	@$(INSTALL) --editable '.[bench]' || echo "Packages to compare with can't be installed; without them"
	@$(INSTALL) --no-deps 'gymcts>=1.5' || echo "gymcts can't be installed; without it"
	$(BIN)/python -m benchmarks

# Trials that are there already are kept. Those whose time counts are played one at a time: each has the machine to itself.
study: $(READY)
	for each in settings others once-unseen unseen ablation candidates; do \
		$(BIN)/gumdp run studies/$$each.toml --out $(STUDY)/$$each || exit 1; done
	$(BIN)/gumdp run studies/settings.toml --out $(STUDY)/pace --trials 3 --workers 1
	$(BIN)/gumdp run studies/candidates.toml --out $(STUDY)/candidates-pace --trials 10 --workers 1
	for each in time-1ms time-10ms time-100ms ablation-1ms candidates-1ms leaves; do \
		$(BIN)/gumdp run studies/$$each.toml --out $(STUDY)/$$each --workers 1 || exit 1; done
	mkdir -p $(STUDY)/certificates
	for each in m1-entropy m2-imitation m3-adversarial taxi-entropy; do \
		$(BIN)/gumdp certify $$each --iterations 4000 --trials 200 --seed 1 --json > $(STUDY)/certificate || exit 1; \
		mv $(STUDY)/certificate $(STUDY)/certificates/$$each.json; done
	$(BIN)/python -m studies.report $(STUDY)

docs: $(TOOLS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

figures: $(TOOLS)
	$(BIN)/python docs/figures.py
	$(BIN)/python docs/tables.py
	$(BIN)/python docs/snippets.py

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell
	$(BIN)/python docs/prose.py

format: $(TOOLS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage build dist site
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
