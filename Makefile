# Everything runs inside .venv, which is made here from Python 3.11 or later and requirements.lock.

SHELL := /bin/bash
.DEFAULT_GOAL := help

BIN := $(CURDIR)/.venv/bin
STAMP := .venv/.installed
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo $$python; break; fi; done)
CORES ?= all
SNAKEMAKE_FLAGS ?=
# Forks for short jobs, unless a profile (of a cluster, for example) says where jobs run.
EXECUTOR := $(if $(SNAKEMAKE_PROFILE)$(findstring profile,$(SNAKEMAKE_FLAGS)),,--executor sparsekm)

export PATH := $(BIN):$(PATH)
# Any matplotlib, on any machine, draws into files.
export MPLBACKEND := Agg
# An inherited path could put another copy of the package before this one.
unexport PYTHONPATH
unexport PYTHONHOME
# Nothing is imported from this folder, where you may keep files of any name; but the benchmarks are here.
export PYTHONSAFEPATH := 1
bench figures: export PYTHONSAFEPATH :=

# Snakemake and pytest share out the cores by processes. Numerical libraries that each take every core
# would make them fight; a job raises its own limit to the threads its rule was given (scripts/workflow_job.py).
results paper run test test-all test-some test-slurm test-survival lint check docs: export OMP_NUM_THREADS := 1
results paper test test-all test-some test-slurm test-survival lint check docs: export OPENBLAS_NUM_THREADS := 1
results paper test test-all test-some test-slurm test-survival lint check docs: export MKL_NUM_THREADS := 1

.PHONY: help env run results paper test smoke test-all test-some test-slurm test-survival lint check sizes docs settings bench figures plan-allen check-allen lock clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

env: $(STAMP) ## make the environment .venv

run: $(STAMP) ## cluster your own table: make run TABLE=tumours.csv ARGS="--labels kind"
	@test -n "$(TABLE)" || { echo 'Say which: make run TABLE=tumours.csv ARGS="--labels kind"' >&2; exit 2; }
	@"$(BIN)/sparsekm" run "$(TABLE)" --cores $(CORES) $(ARGS)

results: $(STAMP) ## run the workflow of config.yaml to results/report.html
	@"$(BIN)/python" -m sparsekm.pipeline.stale_lock
	"$(BIN)/snakemake" --cores $(CORES) $(EXECUTOR) $(SNAKEMAKE_FLAGS)
	@echo "The report: results/report.html"

paper: $(STAMP) ## the paper's experiments with all repetitions, to results/simulation/report.html
	@"$(BIN)/python" -m sparsekm.pipeline.stale_lock
	"$(BIN)/snakemake" paper --cores $(CORES) $(EXECUTOR) $(SNAKEMAKE_FLAGS)
	@echo "The report: results/simulation/report.html"

test: lint check ## lint and the tests, in minutes

test-all: test test-survival test-slurm ## all tests, also those that only a release needs: whole runs, wheels, every page, kills, Slurm
	"$(BIN)/python" -m pytest -m release -n 2 --dist loadgroup

test-some: $(STAMP) ## a sixteenth of the tests that only a release needs; each commit runs another sixteenth
	"$(BIN)/python" -m pytest -m release -n 2 --dist loadgroup $$(grep -rl 'mark.release' tests --include='*.py' \
	| sort | awk -v turn=$$((0x$$(git rev-parse --short=6 HEAD) % 16)) 'NR % 16 == turn')

sizes: ## count the lines and files of every folder
	@for room in $(filter-out %__pycache__/,$(wildcard src/sparsekm/*/)) scripts workflow tests; do files=$$(find $$room -name '*.py'); \
	echo "$$(cat $$files | wc -l) lines in $$(echo $$files | wc -w) files: $$room"; done

lint: $(STAMP) ## ruff, snakefmt, snakemake --lint; mypy and numpydoc over the public names
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/snakefmt" --check Snakefile workflow
	"$(BIN)/snakemake" --lint
	"$(BIN)/mypy"
	"$(BIN)/python" -m pytest -q tests/test_public_names.py

check: $(STAMP) ## the tests, without lint
	@mkdir -p results/benchmarks
	"$(BIN)/python" -m pytest -n 2 --dist loadgroup; status=$$?; \
	times > results/benchmarks/tests.times; exit $$status

smoke: ## one small run with every Python (3.11 or later) that is found, each in its own environment
	.ci/smoke

test-slurm: $(STAMP) ## the workflow on a real Slurm, installed and started here (as root, on Debian)
	"$(BIN)/python" -m pytest -m slurm tests/slurm

test-survival: $(STAMP) ## random kills, a full disk, 1, 2 and 16 cores, and mutated files, for minutes
	"$(BIN)/python" -m pytest -m survival -n 2 --dist loadgroup

docs: $(STAMP) ## the site, with an example report, to docs/_build/html
	"$(BIN)/python" docs/example_table.py docs/_build/example
	cd docs/_build/example && "$(BIN)/sparsekm" run tumours.csv --labels kind --cores $(CORES) --quiet
	"$(BIN)/python" -m sphinx -W --keep-going -d docs/_build/doctrees docs docs/_build/html
	cp docs/_build/example/sparsekm-tumours/results/report.html docs/_build/html/tumours_report.html
	@echo "The site: docs/_build/html/index.html"

dist: $(STAMP) ## build the source archive, and from it the wheel, to dist/, and check both
	rm -rf dist
	"$(BIN)/python" -c 'from setuptools.build_meta import build_sdist; build_sdist("dist")' > /dev/null
	"$(BIN)/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
		--wheel-dir dist dist/*.tar.gz
	"$(BIN)/python" -m pytest -m "" tests/test_distribution.py
	@ls dist

bench: $(STAMP) ## ratios against scikit-learn and between our own variants
	"$(BIN)/python" -m benchmarks

figures: $(STAMP) ## measure a few CPU ratios, for a row of benchmarks/figures.csv and docs/performance.md
	"$(BIN)/python" -m benchmarks.figures

plan-allen: $(STAMP) ## list how many files and gigabytes of the real atlas are to be downloaded
	"$(BIN)/snakemake" --cores 1 --config 'atlas={"source": "allen"}' --forcerun plan_retrieval -- plan_retrieval

check-allen: $(STAMP) ## ask the servers of the real atlas whether they answer as expected (40 requests at most)
	"$(BIN)/python" scripts/check_allen.py $(CHECK_FLAGS)

settings: $(STAMP) ## write config.yaml and docs/options.md from the schema and the table of settings
	"$(BIN)/python" docs/write_settings.py

lock: $(STAMP) ## renew requirements.lock (needs uv)
	sed '/^[^#]/,$$d' requirements.lock > .lock.new
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
		--generate-hashes --no-header --upgrade --quiet >> .lock.new
	! grep -nE '://|--(extra-)?index|--find-links' .lock.new
	mv .lock.new requirements.lock

clean: ## remove the environment and the files that the workflow made; your own files stay
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 found; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	"$(PYTHON)" scripts/remove_made.py
	rm -rf .venv .snakemake docs/_build docs/gallery docs/generated dist
	@echo "What was downloaded stays in data/raw/allen and data/raw/fetched."

# The stamp is written last: an installation that was cut short is made again.
$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "No Python >= 3.11 found; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x "$(BIN)/python" || "$(PYTHON)" -m venv .venv
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@echo "Compiling the kernels (a minute, once)"
	"$(BIN)/python" -m sparsekm.pipeline.warm_imports
	touch $(STAMP)
