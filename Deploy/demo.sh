#!/usr/bin/env bash
# Installs what is missing, builds, and opens a live table of one simulated vehicle: a loopback mosquitto, odographd on
# the simulated drive, odograph watch. Ctrl-C (or q) ends all three.
#
# usage: Deploy/demo.sh [--seconds N]   N: end by itself after so many seconds (for tests and recordings)
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

seconds=
case "${1:-}" in
  --seconds) seconds=${2:?--seconds needs a number} ;;
  '') ;;
  *) echo "usage: Deploy/demo.sh [--seconds N]" >&2; exit 64 ;;
esac

command -v swift >/dev/null || { echo "no Swift toolchain on the path; get one from https://swift.org/install" >&2; exit 1; }
install_packages "${build_packages[@]}" "${run_packages[@]}" python3
echo "building (a first build takes some minutes)"
log=$(mktemp -d)
swift build -c release --product odographd >"$log/build" 2>&1 || { cat "$log/build" >&2; exit 1; }
swift build -c release --product odograph >"$log/build" 2>&1 || { cat "$log/build" >&2; exit 1; }
bin=$(swift build -c release --show-bin-path)

pids=()
# shellcheck disable=SC2317 # reached through the trap
finish() {
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$log"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

port=$(free_port)
printf 'listener %s 127.0.0.1\nallow_anonymous true\npersistence false\n' "$port" >"$log/mosquitto.conf"
mosquitto -c "$log/mosquitto.conf" >"$log/mosquitto" 2>&1 &
pids+=($!)
wait_for_port "$port"

"$bin/odographd" run --set vehicle.fleet=demo --set vehicle.id=van-1 --set preset=test-bench \
  --set "mqtt.broker=mqtt://127.0.0.1:$port" --set "store.path=$log/outbox.sqlite" \
  --set log.level=warning >"$log/odographd" 2>&1 &
pids+=($!)

status=0
if [ -n "$seconds" ]; then
  timeout --foreground --preserve-status -s INT "$seconds" \
    "$bin/odograph" watch --broker "mqtt://127.0.0.1:$port" || status=$?
else
  "$bin/odograph" watch --broker "mqtt://127.0.0.1:$port" || status=$?
fi
if [ -s "$log/odographd" ]; then cat "$log/odographd" >&2; fi
case $status in 130 | 143) status=0 ;; esac
exit $status
