# Every target sets up what it needs: a virtual environment in .venv and, as root on Debian, the GL libraries and a browser.
# `demo` installs what a user needs, about 720 MB; `test` and `check` add the developers' tools to it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEVELOPER := $(VENV)/.developer

# Hundreds of tests start processes: without compiled files beside the source, each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test check bench gl browser clean

demo: $(INSTALLED) gl
	$(BIN)/graspline demo

test: $(DEVELOPER) gl browser
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(DEVELOPER)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2 -m "not slow"

bench: $(INSTALLED)
	$(BIN)/pip install --quiet --group bench -c requirements.lock
	$(BIN)/python benchmarks/bench.py --full

# pip is not quiet here: it shows which package it downloads and, on a terminal, a bar while it installs.
$(INSTALLED): pyproject.toml requirements.lock
	@echo "Creating a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "Updating pip"
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@echo "Installing graspline and what it needs, about 720 MB"
	@$(BIN)/pip install --editable . -c requirements.lock
	@touch $@

$(DEVELOPER): $(INSTALLED)
	@echo "Installing the developers' tools, about 1.2 GB; this takes a few minutes"
	@$(BIN)/pip install --quiet --group dev -c requirements.lock
	@touch $@

gl:
	@sh scripts/gl.sh

browser:
	@sh scripts/browser.sh

# The documentation site, in out/site; it opens from the folder, too. Tests build it as well.
DOCS := $(VENV)/.docs
# The variable turns off an advertisement that the theme prints at every start.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs

.PHONY: docs docs-serve pictures
docs: $(DOCS)
	$(MKDOCS) build
	@echo "saved: out/site/index.html"

docs-serve: $(DOCS)
	$(MKDOCS) serve

test: $(DOCS)

$(DOCS): $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[serve]' --group docs -c requirements.lock
	touch $@

pictures: $(DOCS) gl browser
	$(BIN)/pip install --quiet playwright -c requirements.lock
	$(BIN)/python scripts/pictures.py

clean:
	rm -rf $(VENV) out build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
