#!/usr/bin/env bash
# Builds the Swift examples in a copy outside of the repository, with the published products only, and runs each of
# them.
#
# usage: Deploy/examples-check.sh [--programs DIR]
#   --programs DIR   use odographd of DIR (default: .build/debug)
# All five share one build, which .build-examples retains for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

programs=.build/debug
if [ "${1:-}" = --programs ]; then programs=${2:?--programs needs a folder}; shift 2; fi
[ $# -eq 0 ] || { echo "usage: Deploy/examples-check.sh [--programs DIR]" >&2; exit 64; }
install_packages "${build_packages[@]}" mosquitto gpsd python3 >&2
[ -x "$programs/odographd" ] || { echo "no odographd in $programs: build it first, or set --programs" >&2; exit 1; }

root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r Tests/Examples/Package.swift Tests/Examples/Sources "$work"
# External packages must link only the dependencies of their products: no outbox, no agent.
started=$SECONDS
build=(--package-path "$work" --scratch-path "$root/.build-examples" -debug-info-format none --disable-index-store)
ODOGRAPH_PACKAGE=$root swift build "${build[@]}" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
binaries=$(ODOGRAPH_PACKAGE=$root swift build "${build[@]}" --show-bin-path)
echo "built in $((SECONDS - started)) s"
for example in motion location regions; do
  if ldd "$binaries/$example-example" | grep -E 'mosquitto|sqlite|libpq' >&2; then
    echo "$example-example links a client or a store that it does not use" >&2
    exit 1
  fi
done
python3 Tests/Examples/check.py "$binaries" "$programs"
