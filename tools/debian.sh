#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what checks need of Debian 12: all of it, or the named groups. Needs root.
set -eu
device="
  gcc g++ clang llvm libclang-rt-dev clang-19 lld-19 llvm-19 libclang-rt-19-dev cppcheck frama-c-base why3 z3 cvc4
  gcc-arm-none-eabi libstdc++-arm-none-eabi-dev picolibc-arm-none-eabi libnewlib-dev
  gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf gcc-powerpc-linux-gnu libc6-dev-powerpc-cross
  gcc-avr avr-libc simavr arduino-builder arduino-core-avr gcc-xtensa-lx106
  qemu-system-arm qemu-system-misc qemu-user libmbedtls-dev libsodium-dev
"
fleet="mosquitto nginx-light libnginx-mod-stream postgresql patroni etcd-server pgbouncer prometheus prometheus-alertmanager mmdebstrap systemd"
pages="chromium clang-19 lld-19 esbuild"
command -v java >/dev/null || taps="default-jre-headless"
command -v node >/dev/null || device="$device nodejs"
command -v npm >/dev/null || pages="$pages npm"
packages=""
for group in "${@:-device fleet pages taps}"; do
  for name in $group; do
    case $name in
      device) packages="$packages $device" ;;
      fleet) packages="$packages $fleet" ;;
      pages) packages="$packages $pages" ;;
      taps) packages="$packages ${taps:-}" ;;
      *) echo "debian.sh: groups are device, fleet, pages and taps, got $name" >&2 && exit 2 ;;
    esac
  done
done
missing=""
for package in $packages; do
  dpkg-query --show --showformat '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
apt-get update -qq
# shellcheck disable=SC2086 # one word per package
DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
