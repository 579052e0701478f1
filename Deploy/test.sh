#!/usr/bin/env bash
# Installs what the tests need, checks formatting and scripts, builds without warnings, runs every test.
#
# usage: Deploy/test.sh [--full]
#   --full   also the long forms: the rig's half minute of recording at full rate and the whole chaos suites
# Environment:
#   ODOGRAPH_SHARED   the folder with the recordings, if not beside the repository; tests that need it say what they skipped
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

full=
case "${1:-}" in
  --full) full=1 ;;
  '') ;;
  *) echo "usage: Deploy/test.sh [--full]" >&2; exit 64 ;;
esac
step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

step "packages"
install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}" "${rig_packages[@]}"

step "formatting"
swift format lint --strict -r Sources Tests Package.swift
mapfile -t scripts < <(git ls-files 'Deploy/*.sh' 'Tests/**/*.sh' .ci/run)
shellcheck -x "${scripts[@]}"

step "build"
swift build --build-tests

step "tests"
export ODOGRAPH_FULL=$full
if [ -n "$full" ]; then export ODOGRAPH_CHAOS_CYCLES=${ODOGRAPH_CHAOS_CYCLES:-200}; fi
swift test --skip-build --no-parallel --skip SensorRigTests

step "sensor rig"
# An emulated machine needs its share of the processor: on an overloaded one samples are lost and the suite fails. It then
# gets one more try, said aloud; a fault of ours fails twice.
swift test --skip-build --no-parallel --filter SensorRigTests || {
  echo "== sensor rig: failed once; once more"
  swift test --skip-build --no-parallel --filter SensorRigTests
}

step "footprint"
Deploy/footprint.sh

step "done"
