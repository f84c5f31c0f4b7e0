# Every target sets up what it needs in .venv: Python >= 3.11, pip and make suffice.

PYTHON ?= python3
# `make test TORCH=` does without torch; the tests that need it are then skipped.
TORCH ?= torch==2.13.0
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
STAMPS := $(VENV)/.stamps

.PHONY: install demo test lint dist docs clean

install: $(STAMPS)/full

demo: $(STAMPS)/demo
	$(BIN)/manyview demo

# One BLAS thread per test process, or two processes on two cores get in each
# other's way.
test: $(STAMPS)/full
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest \
		-n 2 --dist loadscope --doctest-modules $(PYTEST_ARGS) src/manyview tests

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

dist: $(STAMPS)/dist
	rm -rf dist
	$(BIN)/python -m build

docs: $(STAMPS)/full
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# Removes what the targets wrote, but keeps .venv.
clean:
	rm -rf build dist demo-output docs/_build docs/gallery docs/api/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + \
		2>/dev/null || true

# Dependency groups came with pip 25.1. Some systems ship Python without ensurepip;
# there the system's own pip fills the new environment.
$(STAMPS)/pip:
	$(PYTHON) -m venv $(VENV) || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && \
		$(PYTHON) -m pip --quiet --python $(BIN)/python install pip; }
	$(PIP) install --upgrade 'pip>=25.1'
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo: pyproject.toml $(STAMPS)/pip
	$(PIP) install --editable '.[plot]'
	touch $@

$(STAMPS)/lint: pyproject.toml $(STAMPS)/pip
	$(PIP) install --editable . --group lint
	touch $@

$(STAMPS)/dist: pyproject.toml $(STAMPS)/pip
	$(PIP) install build
	touch $@

# torch first: whatever could ask for another build of it finds it in place.
$(STAMPS)/full: pyproject.toml $(STAMPS)/pip
	[ -z '$(TORCH)' ] || $(PIP) install '$(TORCH)' || \
		echo 'torch could not be installed: tests that need it will be skipped'
	$(PIP) install --editable '.[plot,dask,zarr,singlecell,report]' \
		--group test --group lint --group docs
	touch $@ $(STAMPS)/demo $(STAMPS)/lint $(STAMPS)/dist
