#!/bin/bash
# Measures the cost of a running agent: bytes written to the disk, wakeups and processor time, from /proc, in total and by thread. Simulated
# drive in real time, default settings, a local mosquitto.
#
# Usage: agent-cost.sh ODOGRAPHD [SECONDS [--offline] [KEY=VALUE ...]]
#   --offline    run without a broker, so that everything has to be stored
#   KEY=VALUE    settings other than the defaults
# The store is in a folder below TMPDIR, which should be on a disk: the kernel counts no writes to a tmpfs.
set -euo pipefail
agent=$1
seconds=${2:-300}
shift $(($# > 1 ? 2 : 1))
offline=no
settings=()
for argument in "$@"; do
  if [ "$argument" = --offline ]; then offline=yes; else settings+=(--set "$argument"); fi
done
# Seconds before the measurement, in which the store is created and the attitude filter settles.
settling=20

folder=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
  rm -rf "$folder"
}
trap cleanup EXIT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'listener %s 127.0.0.1\nallow_anonymous true\npersistence false\n' "$port" >"$folder/mosquitto.conf"
if [ "$offline" = no ]; then
  mosquitto -c "$folder/mosquitto.conf" >"$folder/mosquitto.log" 2>&1 &
  pids+=($!)
fi
mkdir "$folder/store"
printf '[vehicle]\nid = "cost"\n' >"$folder/odograph.toml"
"$agent" run --config "$folder/odograph.toml" --set input.mode=simulation --set input.speed=1 \
  --set "mqtt.broker=mqtt://127.0.0.1:$port" --set "store.path=$folder/store/outbox.sqlite" \
  --set "regions.state=$folder/store/regions.state" --set "control.socket=$folder/control.socket" \
  "${settings[@]}" >"$folder/agent.log" 2>&1 &
pid=$!
pids+=("$pid")

# Prints "thread wakeups ticks" of each thread, and the written bytes and write calls of the process.
look() {
  for task in /proc/"$pid"/task/*; do
    awk -v id="${task##*/}" -v ticks="$(sed 's/.*) //' "$task/stat" | awk '{ print $12 + $13 }')" '
      /^Name:/ { name = $2 } /^voluntary_ctxt_switches:/ { print "thread", id, name, $2, ticks }' "$task/status"
  done
  awk '/^(write_bytes|syscw|syscr):/ { sub(":", "", $1); print "io", $1, $2 }' /proc/"$pid"/io
}

sleep "$settling"
kill -0 "$pid" 2>/dev/null || { cat "$folder/agent.log"; exit 1; }
began=$(date +%s.%N)
look >"$folder/before"
sleep "$seconds"
look >"$folder/after"
ended=$(date +%s.%N)
awk -v span="$(echo "$ended - $began" | bc)" -v hertz="$(getconf CLK_TCK)" '
  FNR == NR { before[$1 $2] = ($1 == "io") ? $3 : $4; ticks[$2] = $5; next }
  $1 == "io" { io[$2] = $3 - before[$1 $2] }
  $1 == "thread" {
    wakeups = $4 - before[$1 $2]; used = $5 - ticks[$2]
    total += wakeups; work += used
    lines[++count] = sprintf("  %-12s %7.2f wakeups/s %8.1f s/h", $3, wakeups / span, used / hertz / span * 3600)
  }
  END {
    printf "over %.0f s\n", span
    printf "disk writes     %8.1f MB/day\n", io["write_bytes"] / span * 86400 / 1e6
    printf "wakeups         %8.1f /s\n", total / span
    printf "processor time  %8.1f s/h\n", work / hertz / span * 3600
    printf "write calls     %8.1f /s\n", io["syscw"] / span
    for (i = 1; i <= count; i++) print lines[i]
  }' "$folder/before" "$folder/after"
