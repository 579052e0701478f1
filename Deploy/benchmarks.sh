#!/usr/bin/env bash
# Measures the speeds of the project and of comparable programs, and compares the ratios with Tests/Benchmarks/ratios.csv.
#
# usage: Deploy/benchmarks.sh [PAIR...]
#   PAIR   drain, record, tail, stats, guard, regions (default: all)
#
# Builds the benchmarks first, which lasts longer than the measurements. No other program should run at the same time. Prints each
# ratio and that of the table. Fails if a ratio is lower than the table allows, or was not measured.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

pairs=("$@")
if [ $# -eq 0 ]; then pairs=(drain record tail stats guard regions); fi
benchmarks=Tests/Benchmarks
products=()
for pair in "${pairs[@]}"; do
  case $pair in
    drain) products+=(delivery) ;;
    record | tail | stats) products+=(fleet) ;;
    guard) products+=(guard) ;;
    regions) products+=(region) ;;
    *) echo "benchmarks: no pair $pair; the pairs are drain, record, tail, stats, guard, regions" >&2; exit 64 ;;
  esac
done

install_packages "${build_packages[@]}" mosquitto mosquitto-clients postgresql openssl python3-venv
install_python geos $benchmarks/Peers/requirements.txt
# build FOLDER PRODUCT
build() { swift build -c release --package-path "$1" -debug-info-format none --product "$2-benchmark" >&2; }
for product in $(printf '%s\n' "${products[@]}" | sort -u); do
  case $product in
    delivery) ODOGRAPH_BENCHMARKS=1 build . delivery ;;
    guard) build $benchmarks/Guard guard ;;
    *) build $benchmarks "$product" ;;
  esac
done

SECONDS=0
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# run NAME PROGRAM ARGUMENT...: writes the output of the program to the file NAME.
run() {
  local name=$1
  shift
  printf 'measuring %s\n' "$name" >&2
  "$@" >"$results/$name"
}
for pair in "${pairs[@]}"; do
  case $pair in
    drain) run drain .build/release/delivery-benchmark 100000 20 100 200 ;;
    record | tail | stats) run "$pair" $benchmarks/.build/release/fleet-benchmark --messages 200000 --rounds 3 "$pair" ;;
    guard) run guard $benchmarks/Guard/.build/release/guard-benchmark 5 ;;
    regions) PATH=$PWD/.build/geos/bin:$PATH run regions $benchmarks/.build/release/region-benchmark --checks 300000 ;;
  esac
done
printf 'measured in %s s\n' "$SECONDS" >&2
python3 $benchmarks/ratios.py $benchmarks/ratios.csv "$results"
