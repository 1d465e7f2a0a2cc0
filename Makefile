# Everything happens in .venv; a machine needs only python3.11 or newer, pip and make.
#
# The lock holds a hash for every file and no address, so it installs from whatever index pip or uv is set up to use.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
FRESH := .venv/.kernels
SOURCES := $(shell find src benchmarks -name '*.py')
WORKERS ?= 2
SUDO := $(if $(filter 0,$(shell id -u)),,sudo -n)

# Tests are compiled once, not again by each worker, also where the environment says otherwise.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo check test browser database lint types bench wheel lock clean

help: ## Say what there is
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY) ## Create .venv with everything in it

demo: $(FRESH) ## Solve the built-in city: a table, maps and a report to open in a browser
	@$(BIN)/runcard demo

check: lint types $(FRESH) ## Lint, types and the first quick tests of each module: a minute or so, for the desk
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --desk --most 4

test: lint types browser database $(FRESH) ## Lint, types and the whole test suite
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The pages are tested in a real browser. Where it cannot be installed, those tests are skipped and say why.
browser: ## Install Debian's chromium for the tests, where it is missing
	@command -v chromium >/dev/null || { \
	    echo "Installing chromium for the browser tests ..."; \
	    $(SUDO) apt-get update -qq && $(SUDO) apt-get install -qq -y --no-install-recommends chromium >/dev/null; } \
	    || echo "chromium could not be installed: the browser tests will be skipped." >&2

# The audit log is tested in a real PostgreSQL, which the tests start themselves in a folder of their own.
database: ## Install Debian's PostgreSQL for the tests, where it is missing
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
	    echo "Installing PostgreSQL for the audit tests ..."; \
	    $(SUDO) apt-get update -qq && $(SUDO) apt-get install -qq -y --no-install-recommends postgresql >/dev/null; } \
	    || echo "PostgreSQL could not be installed: its tests will be skipped." >&2

lint: $(READY) ## Lint and formatting only
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY) ## Types only
	$(BIN)/mypy

bench: $(FRESH) ## Measure against the targets and the peers, with every answer asserted
	@$(BIN)/python -m benchmarks

# The wheel is built from the source distribution, outside of the project: nothing that lies around can get into it.
wheel: $(READY) ## Build the wheel and the source distribution into dist/
	@rm -rf dist src/*.egg-info
	@$(BIN)/python -c 'from setuptools.build_meta import build_sdist; build_sdist("dist")' >/dev/null
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index \
	    --no-cache-dir --wheel-dir dist dist/*.tar.gz
	@echo "Written:" && ls dist/*

lock: $(READY) ## Resolve the dependencies again and pin the newest
	$(BIN)/uv pip compile pyproject.toml --extra report --extra geo --extra cluster --extra rl --extra service --extra dev \
	    --upgrade --universal --generate-hashes --no-header --no-annotate --quiet --output-file requirements.lock
	echo uv | $(BIN)/uv pip compile - --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-annotate --quiet --output-file requirements-uv.lock

clean: ## Remove .venv and everything the tools made
	rm -rf .venv build dist .hypothesis .benchmarks .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} + -o -name '*.egg-info' -prune -exec rm -rf {} +

# Compiled kernels are cached beside their files. The cache of a kernel notices a change in its own file, but not in a file
# that it calls or takes a constant from. So any change in a source clears the cache.
$(FRESH): $(SOURCES) | $(READY)
	@find src benchmarks -name '*.nb[ci]' -delete
	@touch $@

# Where uv cannot reach an index that only pip is set up for, pip installs the same lock, more slowly.
$(READY): pyproject.toml requirements.lock requirements-uv.lock Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "runcard needs python 3.11 or newer; found: $$($(PYTHON) --version 2>&1)." \
	        "Name another with: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Setting up .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@VIRTUAL_ENV=.venv $(BIN)/uv pip sync --quiet --require-hashes --compile-bytecode requirements.lock \
	    || $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
