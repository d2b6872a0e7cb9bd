#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build tcuq.wasm from the device's C: `sh js/build.sh [FILE]`. Needs clang-19 and lld-19.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/js/tcuq.wasm}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
# Hot stages for speed, the rest for size.
for source in "$root"/src/tcuq/runtime/*.c "$root/src/engine/quantize.c" "$root/js/c/tcuq_js.c"; do
  name=$(basename "$source" .c)
  case $name in
    tcuq_features | tcuq_novelty | tcuq_posterior | tcuq_projection | tcuq_score | tcuq_signals | quantize) optimise=-O2 ;;
    *) optimise=-Oz ;;
  esac
  clang-19 --target=wasm32 -std=c99 -Wall -Wextra -Werror $optimise -mbulk-memory -msign-ext -mnontrapping-fptoint \
    -ffreestanding -nostdinc -isystem "$(clang-19 -print-resource-dir)/include" -I"$root/js/c/include" \
    -I"$root/src/tcuq/runtime" -I"$root/src/engine" -fno-trapping-math -ffinite-math-only -fno-signed-zeros \
    -c "$source" -o "$objects/$name.o"
done
# The stack comes first, so that no data lies at address 0, which C takes for null.
wasm-ld-19 --no-entry --gc-sections --strip-all --stack-first -z stack-size=32768 "$objects"/*.o -o "$out"
