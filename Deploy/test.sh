#!/usr/bin/env bash
# Installs what the tests need, checks formatting and scripts, builds without warnings, runs every test.
#
# usage: Deploy/test.sh [--full]
#   --full   also the long forms: the rig's half minute of recording at full rate, the whole chaos suites, the packages in a
#            fresh Debian and in containers (needs root)
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
install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}" "${rig_packages[@]}" \
  "${packaging_test_packages[@]}"

step "formatting"
swift format lint --strict -r Sources Tests Package.swift
mapfile -t scripts < <(git ls-files 'Deploy/*.sh' 'Config/*.sh' 'Tests/**/*.sh' .ci/run Deploy/systemd/back-off Deploy/udev/iio-access)
shellcheck -x "${scripts[@]}"

step "build"
swift build --build-tests

# run_tests ARGUMENT...: the chosen tests one after the other. What failed gets one more try by itself, said aloud and
# again at the end: the tests talk to real daemons and an emulated machine, and an overloaded host starves those. A fault
# of ours fails twice. After a crash all of them are tried once more.
once_failed=$(mktemp)
trap 'rm -f "$once_failed"' EXIT
run_tests() {
  local log status=0
  log=$(mktemp)
  swift test --skip-build --no-parallel "$@" 2>&1 | tee "$log" | grep --line-buffered -v '^◇' || status=$?
  if [ "$status" -ne 0 ]; then
    local failed
    failed=$(sed -nE 's/^✘ Test ([A-Za-z0-9_]+)\(.*\).* (recorded an issue|failed after).*/\1/p' "$log" | sort -u | paste -sd '|')
    grep -E '^✘ Test [A-Za-z0-9_]+\(.* recorded an issue' "$log" | sed 's,^✘,failed:,' | tee -a "$once_failed" || true
    local ended
    # No brackets: without a locale these are several characters each.
    ended=$(grep -cE '^(✘|✔) Test run with' "$log" || true)
    rm -f "$log"
    if [ "$ended" -eq 0 ]; then
      echo "failed: the test process ended before its time" | tee -a "$once_failed"
      echo "== once more, all of them"
      swift test --skip-build --no-parallel "$@" | grep --line-buffered -v '^◇'
      return
    fi
    if [ -z "$failed" ]; then return "$status"; fi
    echo "== once more, by themselves: $failed"
    swift test --skip-build --no-parallel --filter "/($failed)\\(" | grep --line-buffered -v '^◇'
    return
  fi
  rm -f "$log"
}

step "tests"
export ODOGRAPH_FULL=$full
if [ -n "$full" ]; then export ODOGRAPH_CHAOS_CYCLES=${ODOGRAPH_CHAOS_CYCLES:-200}; fi
run_tests --skip SensorRigTests

step "sensor rig"
run_tests --filter SensorRigTests

step "documentation"
pages=$(mktemp -d)
Deploy/documentation.sh "$pages"
rm -rf "$pages"

step "footprint"
Deploy/footprint.sh

step "unit, rules, broker kit"
Deploy/unit-check.sh
Deploy/kit-check.sh

if [ -n "$full" ]; then
  step "installation"
  Deploy/package.sh
  Deploy/install-check.sh --packages .build-packages
  Deploy/container-check.sh --build --packages .build-packages
fi

step "done"
if [ -s "$once_failed" ]; then
  echo "passed at the second try:"
  cat "$once_failed"
fi
