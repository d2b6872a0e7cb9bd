#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what CI needs of Debian 12: one apt call, and none if nothing is missing. Needs root.
set -eu
packages="
  gcc g++ clang llvm libclang-rt-dev clang-19 llvm-19 libclang-rt-19-dev cppcheck frama-c-base why3 z3 cvc4
  gcc-arm-none-eabi libstdc++-arm-none-eabi-dev picolibc-arm-none-eabi libnewlib-dev
  gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf gcc-powerpc-linux-gnu libc6-dev-powerpc-cross
  gcc-avr avr-libc simavr arduino-builder arduino-core-avr gcc-xtensa-lx106
  qemu-system-arm qemu-system-misc qemu-user mmdebstrap systemd
  mosquitto postgresql prometheus prometheus-alertmanager chromium
"
command -v java >/dev/null || packages="$packages default-jre-headless"
command -v npm >/dev/null || packages="$packages npm"
missing=""
for package in $packages; do
  dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
apt-get update -qq
# shellcheck disable=SC2086 # one word per package
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
