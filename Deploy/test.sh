#!/usr/bin/env bash
# Installs the packages for the tests, checks formatting and scripts, builds without warnings, and runs all tests.
#
# usage: Deploy/test.sh [--full]
#        Deploy/test.sh SUITE [FILTER]
#   SUITE    only this test target of Tests (such as PositioningTests), built with its dependencies in .build-suites/SUITE; FILTER
#            selects tests by a regular expression; no package is installed, and no other check runs
#   --full   also long tests: 30 s of the rig at full rate, the complete chaos suites, the feature tables of RabbitMQ and NATS,
#            numeric tests in the release configuration, packages in a fresh Debian and in containers, a release (requires
#            root), Home Assistant (from PyPI, some minutes)
# Environment:
#   ODOGRAPH_SHARED   the folder with the recordings (default: beside the repository); tests are skipped if it is missing
#
# Five lanes run in parallel: tests with daemons and then the documentation, tests that mostly wait, clusters of brokers and then
# the static build, the longest tests and then the sensor rig, and all other tests. Modules that only compute are optimized in all
# of them. The summary at the end lists skipped tests with their reasons, tests that passed only at the second attempt, and failed
# tests. The last line contains the numbers of passed, failed and skipped tests. The run fails if a test failed, if more than one
# passed only at the second attempt, or if a test was skipped although this script installs its packages. SIGTERM stops the run
# with all its processes within 5 s.
set -euo pipefail
cd "$(dirname "$0")/.."
# A shell handles a signal only after its command has ended, which may be minutes later.
if [ -z "${ODOGRAPH_SUPERVISED:-}" ]; then
  ODOGRAPH_SUPERVISED=yes exec Deploy/supervised.py Deploy/test.sh "$@"
fi
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

full='' suite=''
case "${1:-}" in
  --full) full=1 ;;
  '') ;;
  *Tests) suite=$1 ;;
  *) echo "usage: Deploy/test.sh [--full | SUITE [FILTER]]" >&2; exit 64 ;;
esac
# The tests need no debug information. The index is required, since it lists the tests.
build_options=(-debug-info-format none)
export ODOGRAPH_FULL=$full ODOGRAPH_OPTIMIZED=1 NO_COLOR=1
if [ -n "$suite" ]; then
  targets=$(grep -oE '"[A-Za-z]+Tests"' Package.swift | tr -d '"' | sort -u)
  grep -qx "$suite" <<<"$targets" || { printf 'test: no test target %s; the targets are:\n%s\n' "$suite" "$targets" >&2; exit 64; }
  # Tests of complete programs look for them in the default build folder.
  case $suite in
    IntegrationTests | AgentLiveTests) folder=.build ;;
    *) folder=.build-suites/$suite; export ODOGRAPH_TESTED=$suite ;;
  esac
  swift build --build-tests "${build_options[@]}" --scratch-path "$folder"
  exec "$folder/debug/odographPackageTests.xctest" --testing-library swift-testing --no-parallel --filter "^$suite\\.${2:+.*(?:$2)}"
fi
if [ -n "$full" ]; then export ODOGRAPH_CHAOS_CYCLES=${ODOGRAPH_CHAOS_CYCLES:-200}; fi

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

exec 3>&1
results=$(mktemp -d)
declare -A lanes=()
# shellcheck disable=SC2317 # reached through the trap
finish() {
  local status=$?
  trap - EXIT
  # A signal may have interrupted a command whose output is redirected.
  exec >&3 2>&1
  local process
  for process in "${lanes[@]}"; do kill -- "-$process" 2>/dev/null || true; done
  step "done"
  python3 Deploy/test-results.py summary "$results" || status=1
  rm -rf "$results"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# lane NAME COMMAND...: runs in parallel, in a separate process group. Its end is reported with the lanes that still
# run.
lane() {
  local name=$1
  shift
  touch "$results/$name.runs"
  set -m
  in_lane "$name" "$@" >"$results/$name.said" 2>&1 &
  set +m
  lanes[$name]=$!
}
# shellcheck disable=SC2317 # called by its name
in_lane() {
  local name=$1 status=0 left
  shift
  "$@" || status=$?
  rm -f "$results/$name.runs"
  left=$(cd "$results" && for file in *.runs; do [ -e "$file" ] && printf ' %s' "${file%.runs}"; done) || true
  printf '\n== lane %s ended with status %s (%s s); still running:%s\n' "$name" "$status" "$SECONDS" "${left:- none}" >&3
  return "$status"
}

# joined NAME: waits for a lane, and prints its output.
joined() {
  wait "${lanes[$1]}" || failed=1
  unset "lanes[$1]"
  cat "$results/$1.said"
}

# check NAME COMMAND...: counts as one test. The command reports skipped parts in lines "skipped: REASON".
check() {
  local name=$1 status=0 said
  shift
  # Two lanes may run a check at the same time.
  said=$(mktemp "$results/said.XXXXXX")
  "$@" >"$said" 2>&1 || status=$?
  cat "$said"
  sed -n "s,^skipped: ,skipped part of $name: ,p" "$said" >>"$results/checks"
  if [ "$status" -eq 0 ]; then
    echo "passed $name" >>"$results/checks"
  else
    { tail -n 6 "$said" | sed "s,^,said $name: ,"; echo "failed $name"; } >>"$results/checks"
  fi
  return $status
}

# run_tests NAME CONFIGURATION ARGUMENT...: runs the selected tests serially. Failed tests are repeated once and
# listed in the summary: they use real daemons and an emulated machine, which can be too slow on an overloaded host.
# More than one such test fails the run. After a crash all tests are repeated.
run_tests() {
  local name=$1 again
  local -a runner=(".build/$2/odographPackageTests.xctest" --testing-library swift-testing --no-parallel
    --event-stream-version 0)
  shift 2
  if "${runner[@]}" --event-stream-output-path "$results/$name.1" "$@" 2>&1 | grep --line-buffered -v '^◇'; then return; fi
  if again=$(python3 Deploy/test-results.py again "$results/$name.1"); then
    echo "== repeating the failed tests: $again"
    set -- --filter "$again"
  else
    echo "== the test process crashed; repeating all tests"
  fi
  "${runner[@]}" --event-stream-output-path "$results/$name.2" "$@" 2>&1 | grep --line-buffered -v '^◇'
}

step "packages"
install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}" "${rig_packages[@]}" \
  "${packaging_test_packages[@]}"
check "readers of Parquet" install_python python Tests/Parquet/requirements.txt
check "reader of DBC files" install_python cantools Tests/CANTools/requirements.txt
check "reader of MCAP" install_python mcap Tests/MCAP/requirements.txt
check "schemathesis" install_python schemathesis Tests/Schemathesis/requirements.txt
check "browser driver" install_python web Tests/WebTests/requirements.txt
if [ -n "$full" ]; then install_packages "${window_packages[@]}"; fi
if [ -n "$full" ]; then check "Home Assistant" install_python home-assistant Tests/Consumers/home-assistant.txt; fi

# shellcheck disable=SC2317 # called by its name
formatting() {
  local -a scripts
  swift format lint --strict -r Sources Tests Package.swift &&
    python3 Deploy/check-prose.py &&
    Deploy/page-check.sh &&
    Deploy/modules.py &&
    Deploy/time-types.py &&
    git ls-files -z 'Tests/*.swift' | xargs -0 python3 Deploy/silent-tests.py &&
    mapfile -t scripts < <(git ls-files 'Deploy/*.sh' 'Config/*.sh' 'Tests/**/*.sh' .ci/run Deploy/systemd/back-off Deploy/udev/iio-access) &&
    shellcheck -x "${scripts[@]}"
}
step "formatting"
check formatting formatting

step "build"
check build swift build --build-tests "${build_options[@]}"
check Deploy/pure.sh Deploy/pure.sh .build/debug

computing=(
  SpatialTests SensorsTests RecordingsTests SimulationTests MotionTests NavigationTests PositioningTests
  TracesTests
)
# The longest tests with daemons: drives and logs through gpsd, days of messages, output of examples, and estimates of
# `check` for days.
longest=(
  AccuracyThroughGPSDTests AgentDiagnosticsTests DocumentationTests GPSDReplayTests OwnTracksDayTests WireContractTests
)
# Tests that wait for minutes and use only seconds of processor time, and the page in its browser, which lasts as
# long.
waiting=(AgentTraceTests PageTests StatusTests)
# Clusters of brokers, whose nodes wait for each other, and tests that wait for restarts.
clusters=(
  AgentTripKillTests BrokerTableTests ClusterAccessTests ClusterChaosTests ClusterTableTests FleetBeaconsTests ModemTests
  ParkedReceiverTests SimulatedClusterTests WatchdogTests
)
suites() { local IFS='|'; echo "^IntegrationTests\\.($*)/"; }
documentation() {
  local pages=$results/pages status=0
  check Deploy/documentation.sh Deploy/documentation.sh "$pages" "${build_options[@]}" || status=1
  check Deploy/quickstarts-check.sh Deploy/quickstarts-check.sh --programs .build/debug || status=1
  return $status
}
# Lowest priority for computations, so that daemons and their tests are not delayed.
compute() {
  local status=0
  renice -n 19 "$BASHPID" >/dev/null
  if [ -n "$full" ]; then
    step "numeric tests in the release configuration"
    ODOGRAPH_TESTED="${computing[*]}" check "optimized build" \
      swift build --build-tests -c release -Xswiftc -enable-testing || return
    run_tests optimized release || status=1
  fi
  step "unit tests"
  run_tests unit debug --skip '^(IntegrationTests|AgentLiveTests)\.' || status=1
  step "from README to a first vehicle"
  check Deploy/first-vehicle.sh Deploy/first-vehicle.sh --programs .build/debug || status=1
  return $status
}
go_through_clusters() {
  local status=0
  run_tests clusters debug --filter "$(suites "${clusters[@]}")" || status=1
  renice -n 19 "$BASHPID" >/dev/null
  step "footprint"
  check Deploy/footprint.sh Deploy/footprint.sh || status=1
  check Deploy/hardened.sh Deploy/hardened.sh .build-static/release/odographd || status=1
  step "unit, rules, broker kit"
  check Deploy/unit-check.sh Deploy/unit-check.sh || status=1
  check Deploy/kit-check.sh Deploy/kit-check.sh || status=1
  return $status
}
# Lower priority than tests with daemons, but higher than computations: an interrupted example must exit in time. The
# emulated machine of the rig follows with normal priority.
go_through_longest() {
  local status=0
  (
    renice -n 5 "$BASHPID" >/dev/null
    run_tests longest debug --filter "$(suites "${longest[@]}")"
  ) || status=1
  step "sensor rig"
  run_tests rig debug --filter SensorRigTests || status=1
  return $status
}

failed=
lane compute compute
lane longest go_through_longest
lane waiting run_tests waiting debug --filter "$(suites "${waiting[@]}")|^AgentLiveTests\\."
lane clusters go_through_clusters
step "integration tests"
run_tests integration debug --filter '^IntegrationTests\.' --skip "$(suites SensorRigTests "${longest[@]}" "${waiting[@]}" "${clusters[@]}")" ||
  failed=1
step "documentation, Swift examples outside of the repository, and the Python package"
renice -n 19 "$BASHPID" >/dev/null
documentation || failed=1
check Deploy/examples-check.sh Deploy/examples-check.sh || failed=1
check Deploy/python-check.sh Deploy/python-check.sh || failed=1
step "integration tests that wait"
joined waiting
step "clusters and static build"
joined clusters
step "integration tests, the longest, and the sensor rig"
joined longest
step "unit tests"
joined compute

if [ -n "$full" ]; then
  step "installation"
  check Deploy/package.sh Deploy/package.sh
  check Deploy/install-check.sh Deploy/install-check.sh --packages .build-packages || failed=1
  check Deploy/container-check.sh Deploy/container-check.sh --build --packages .build-packages || failed=1
  check Deploy/release-check.sh Deploy/release-check.sh --packages .build-packages || failed=1
fi
[ -z "$failed" ]
