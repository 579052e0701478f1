#!/usr/bin/env bash
# Builds the programs and shows them on this machine: a broker, three simulated vehicles and one that replays a drive
# with a tunnel, a recorder with the web page, a geofence, an alert, and the live table in this terminal. Ctrl-C (or
# q) stops and removes all of it.
#
# usage: Deploy/demo.sh [--seconds N]   N: stop automatically after N seconds (for tests and recordings)
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
command -v swift >/dev/null || { echo "Swift toolchain not found in PATH; install it from https://swift.org/install" >&2; exit 1; }

folder=$(mktemp -d)
pids=()
# shellcheck disable=SC2317 # reached through the trap
finish() {
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# step N NAME COMMAND...: runs a command, shows the progress of its build, and its output if it fails.
step() {
  local number=$1 name=$2 started=$SECONDS status=0 now
  shift 2
  "$@" >"$folder/step" 2>&1 &
  local pid=$!
  pids+=("$pid")
  while kill -0 "$pid" 2>/dev/null; do
    now=$(tr '\r' '\n' <"$folder/step" | grep -o '^\[[0-9]*/[0-9]*\]' | tail -n 1 || true)
    if [ -t 1 ]; then printf '\r[%s of 2] %s %s %d s ' "$number" "$name" "$now" $((SECONDS - started)); fi
    sleep 1
  done
  wait "$pid" || status=$?
  unset 'pids[-1]'
  if [ -t 1 ]; then printf '\r\033[K'; fi
  if [ "$status" -ne 0 ]; then cat "$folder/step" >&2; return "$status"; fi
  printf '[%s of 2] %s: %d s\n' "$number" "$name" $((SECONDS - started))
}

install_packages "${build_packages[@]}" "${run_packages[@]}" python3
# A debug build lasts less than half as long as a release build, and is fast enough for four vehicles. The separate
# folder leaves other builds unchanged.
build=(swift build --scratch-path .build/demo --disable-index-store -debug-info-format none)
step 1 "build odographd, the agent" "${build[@]}" --product odographd
step 2 "build odograph, the fleet's command line" "${build[@]}" --product odograph
bin=$("${build[@]}" --show-bin-path)

started=$SECONDS
port=$(free_port)
page=$(free_port)
broker=mqtt://127.0.0.1:$port
printf 'listener %s 127.0.0.1\nallow_anonymous true\npersistence false\n' "$port" >"$folder/mosquitto.conf"
mosquitto -c "$folder/mosquitto.conf" >"$folder/mosquitto.log" 2>&1 &
pids+=($!)
wait_for_port "$port"

cat >"$folder/serve.toml" <<TOML
[server]
listen = "127.0.0.1:$page"
recording = "$folder/fleet.sqlite"
record = true
[alerts]
store = "$folder/alerts.sqlite"
[rules.on-the-way]
when = "left"
regions = ["depot"]
TOML
"$bin/odograph" serve --config "$folder/serve.toml" --broker "$broker" >"$folder/serve.log" 2>&1 &
pids+=($!)

# The simulated drive starts in the depot. Each vehicle leaves it within a minute, which raises an alert.
cat >"$folder/depot.geojson" <<'GEOJSON'
{"type": "FeatureCollection", "features": [{"type": "Feature", "id": "depot", "properties": {"radius": 120},
  "geometry": {"type": "Point", "coordinates": [11.57255, 48.13375]}}]}
GEOJSON

# agent ID OPTION...: runs one vehicle until SIGTERM.
agent() {
  local id=$1
  shift
  exec "$bin/odographd" run --set vehicle.fleet=demo --set "vehicle.id=$id" --set "mqtt.broker=$broker" \
    --set "state.path=$folder/$id" --set log.level=warning "$@"
}
# The recorded drive with times from now on, repeated at its end.
# shellcheck disable=SC2317 # run in the background
replayed_drive() {
  local child=
  trap 'kill "$child" 2>/dev/null; wait "$child"; exit' TERM
  while :; do
    python3 -c '
import datetime, json, sys
reports = [json.loads(line) for line in open("Config/examples/drive/gnss.json")]
time = lambda report: datetime.datetime.fromisoformat(report["time"].replace("Z", "+00:00"))
shift = datetime.datetime.now(datetime.timezone.utc) - time(reports[0])
for report in reports:
    report["time"] = (time(report) + shift).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    print(json.dumps(report))' >"$folder/gnss.json"
    (agent van-4 --config Config/examples/drive/odograph.toml --set input.speed=1 \
      --set "replay.position=$folder/gnss.json") &
    child=$!
    wait "$child" || exit
  done
}
replayed_drive >"$folder/van-4.log" 2>&1 &
pids+=($!)
# With a delay, since all of them drive along the same streets.
for number in 1 2 3; do
  (
    sleep $((15 * (number - 1))) &
    trap 'kill $!; exit' TERM
    wait $!
    agent "van-$number" --set preset=test-bench --set "simulation.seed=$number" \
      --set "regions.path=$folder/depot.geojson"
  ) >"$folder/van-$number.log" 2>&1 &
  pids+=($!)
done
wait_for_port "$page"

cat >"$folder/hints" <<TEXT
The page with map, history and alerts: http://127.0.0.1:$page
While this runs, in another terminal, from this folder:
  $bin/odograph tail --broker $broker                    # every message as a JSON line
  $bin/odograph alerts list --config $folder/serve.toml    # which vehicles have left the depot
  $bin/odograph trips --recording $folder/fleet.sqlite       # the trips so far
TEXT
echo "ready after $((SECONDS - started)) s"
cat "$folder/hints"
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
  xdg-open "http://127.0.0.1:$page" >/dev/null 2>&1 &
fi

status=0
limit=()
if [ -n "$seconds" ]; then limit=(timeout --foreground --preserve-status -s INT "$seconds"); fi
# Pause for reading the hints before the table covers the screen.
if [ -t 1 ]; then sleep 4; fi
"${limit[@]}" "$bin/odograph" watch --broker "$broker" || status=$?
for log in serve van-1 van-2 van-3 van-4; do
  grep -v "the page is at" "$folder/$log.log" | sed "s/^/$log: /" >&2 || true
done
case $status in 130 | 143) status=0 ;; esac
exit $status
