# Every target sets up what it needs in .venv: Python >= 3.11, pip and make suffice.

PYTHON ?= python3
# `make test TORCH=` does without torch; the tests that need it are then skipped.
TORCH ?= torch==2.13.0
PYTEST_ARGS ?=
# `make install LOCK=` takes the newest versions instead of the locked ones.
LOCK ?= requirements-ci.txt

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
STAMPS := $(VENV)/.stamps
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
EXTRAS := .[plot,dask,zarr,singlecell,report]

# $(call install,WHAT): with the locked versions, or the newest where an index
# does not have those.
install = $(PIP) install $(if $(LOCK),--constraint $(LOCK)) $(1) || { \
	echo 'the locked versions could not be installed: the newest are taken'; \
	$(PIP) install $(1); }

.PHONY: install demo test test-min lint lock dist docs matrix reliability \
	reliability-full coverage mutants clean

install: $(STAMPS)/full

demo: $(STAMPS)/demo
	$(BIN)/manyview demo

# One BLAS thread per test process, or two processes on two cores get in each
# other's way. A third has what the others leave while they wait for a browser or Dask. Files
# with slow tests come first (tests/conftest.py), and not those with many tests.
test: $(STAMPS)/full
	$(ONE_THREAD) $(BIN)/python -m pytest \
		-n 3 --dist loadscope --no-loadscope-reorder --doctest-modules \
		$(PYTEST_ARGS) src/manyview tests

# The tests with the lowest versions that pyproject.toml allows, without torch.
test-min:
	rm -rf .venv-min && $(PYTHON) -m venv .venv-min
	$(PYTHON) reliability/lower_bounds.py > .venv-min/lowest.txt
	.venv-min/bin/python -m pip --quiet install --upgrade 'pip>=25.1'
	.venv-min/bin/python -m pip --quiet install \
		--constraint .venv-min/lowest.txt --editable '$(EXTRAS)' --group test
	$(ONE_THREAD) .venv-min/bin/python -m pytest -n 2 --dist loadscope \
		$(PYTEST_ARGS) tests

lint: $(STAMPS)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m reliability.supply_chain

# Writes down the versions in .venv, less the local part of a build's own.
lock: $(STAMPS)/full
	{ echo "# Versions the continuous integration installs; written by 'make lock'."; \
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+[a-z0-9.]*$$//'; } \
		> requirements-ci.txt

# Every combination of place, input, rows, method and use; writes docs/matrix.md.
matrix: $(STAMPS)/full
	$(BIN)/python -m benchmarks.matrix --docs

# Kills, faults, damaged files, hard numbers and many fits; writes
# docs/reliability.md. The full run adds coverage and mutants.
reliability: $(STAMPS)/full
	$(BIN)/python -m reliability

reliability-full: $(STAMPS)/full
	$(BIN)/python -m reliability --full
	$(MAKE) mutants

coverage: $(STAMPS)/full
	$(BIN)/python -m reliability coverage --full

# In an environment of its own: mutmut does not know the newest pytest.
mutants:
	rm -rf .venv-mutants && $(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python -m pip --quiet install --upgrade 'pip>=25.1'
	[ -z '$(TORCH)' ] || .venv-mutants/bin/python -m pip --quiet install '$(TORCH)' || \
		echo 'torch could not be installed: what only its tests notice will live'
	.venv-mutants/bin/python -m pip --quiet install \
		--editable . --group test --group mutants
	$(ONE_THREAD) .venv-mutants/bin/python -m reliability mutants

dist: $(STAMPS)/dist
	rm -rf dist
	$(BIN)/python -m build

docs: $(STAMPS)/full
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

# Removes what the targets wrote, but keeps .venv.
clean:
	rm -rf build dist demo-output docs/_build docs/gallery docs/api/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find src tests benchmarks examples reliability -name __pycache__ -prune -exec rm -rf {} + \
		2>/dev/null || true

# Dependency groups came with pip 25.1. Some systems ship Python without ensurepip;
# there the system's own pip fills the new environment.
$(STAMPS)/pip:
	$(PYTHON) -m venv $(VENV) || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && \
		$(PYTHON) -m pip --quiet --python $(BIN)/python install pip; }
	$(PIP) install --upgrade 'pip>=25.1'
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/demo: pyproject.toml $(LOCK) $(STAMPS)/pip
	$(call install,--editable '.[plot]')
	touch $@

$(STAMPS)/lint: pyproject.toml $(LOCK) $(STAMPS)/pip
	$(call install,--editable . --group lint)
	$(PIP) install $(if $(LOCK),--constraint $(LOCK)) --group audit || \
		echo 'pip-audit could not be installed: known holes are not looked up'
	touch $@

$(STAMPS)/dist: pyproject.toml $(STAMPS)/pip
	$(PIP) install build
	touch $@

# torch first: whatever could ask for another build of it finds it in place.
$(STAMPS)/full: pyproject.toml $(LOCK) $(STAMPS)/pip
	[ -z '$(TORCH)' ] || $(PIP) install '$(TORCH)' || \
		echo 'torch could not be installed: tests that need it will be skipped'
	$(call install,--editable '$(EXTRAS)' --group test --group lint --group docs)
	touch $@ $(STAMPS)/demo $(STAMPS)/dist
