#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Pin every dependency group with hashes; lock files of workspaces name package hosts, these do not.
# torch is left out: its CPU build is another file than the registry's, so no hash fits both.
set -eu
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
overrides=$(mktemp)
trap 'rm -f "$overrides"' EXIT
# Later releases of backports-strenum are for Python below 3.11 alone, which the resolver does not see.
printf '%s\n' 'torch ; sys_platform == "never"' 'backports-strenum<1.3' >"$overrides"

compile() { # FILE, then what to resolve
  out=$1
  shift
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
    --no-header --no-emit-package tcuq --no-emit-package tcuq-fleet --override "$overrides" --output-file "constraints/$out.txt" "$@"
}

compile check pyproject.toml --group check
# An environment of its own: it pins another paho-mqtt.
compile esphome --group esphome
compile fleet fleet/pyproject.toml --group fleet/pyproject.toml:check --constraint constraints/check.txt
compile all pyproject.toml fleet/pyproject.toml benchmark/pyproject.toml --group taps --group pages --group spark \
  --group device --group release --group fleet/pyproject.toml:servers --constraint constraints/check.txt
