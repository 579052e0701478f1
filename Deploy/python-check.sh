#!/usr/bin/env bash
# Builds the wheel of the Python package twice and compares both, installs it into a fresh virtual environment, and runs the
# type check, the tests and the three documented examples with a recording of a replayed drive.
#
# usage: Deploy/python-check.sh [--programs DIR]
#   --programs DIR   use odographd and odograph of DIR (default: .build/debug)
# Requires PyPI once, for the packages of Tests/Python/requirements.txt, which it installs into .build/python-package.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

usage() { echo "usage: Deploy/python-check.sh [--programs DIR]" >&2; exit 64; }
programs=.build/debug
if [ "${1:-}" = --programs ]; then programs=${2:?--programs needs a folder}; shift 2; fi
[ $# -eq 0 ] || usage
install_packages mosquitto python3-venv >&2
for program in odographd odograph; do
  [ -x "$programs/$program" ] || { echo "no $program in $programs: build it first, or set --programs" >&2; exit 1; }
done
requirements=Tests/Python/requirements.txt tools=.build/python-package
install_python python-package "$requirements"
cmp -s "$requirements" "$tools/installed.txt" || exit 0
tools=$PWD/$tools

work=$(mktemp -d)
declare -A pids=()
# shellcheck disable=SC2317 # reached through the trap
finish() {
  local status=$?
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ "$status" -ne 0 ]; then tail -n 20 "$work"/*.log >&2 || true; fi
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
step() { echo "$SECONDS s: $1"; }
# Python writes no compiled files beside the sources.
export PYTHONDONTWRITEBYTECODE=1

# The agent replays the recorded drive in the background.
"$programs/odographd" run --print --config Config/examples/drive/odograph.toml \
  >"$work/messages.jsonl" 2>"$work/odographd.log" &
pids[odographd]=$!

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
# The build of the README, and one in another folder with other file times.
cp -r Sources/Python "$work/package"
build() {
  "$tools/bin/pip" wheel -q --disable-pip-version-check --no-index --no-deps --no-build-isolation -w "$work/$1" "$2"
}
build first ./Sources/Python
build second "$work/package"
wheel=$(cd "$work/first" && echo odograph-*.whl)
cmp "$work/first/$wheel" "$work/second/$wheel"
step "$wheel: two builds are identical"

/usr/bin/python3 -m venv --without-pip "$work/environment"
python=$work/environment/bin/python
"$tools/bin/pip" --python "$python" install -q --disable-pip-version-check --no-index --no-deps "$work/first/$wheel"
(
  cd "$work"
  "$python" -c 'import odograph; odograph.decode("odograph/v1/f/v/command/locate", b"")'
  if "$python" -c 'import odograph; odograph.read_trips("fleet.sqlite")' 2>without.log; then exit 1; fi
  grep -q "pip install 'odograph\[recordings\]'" without.log
)
step "installed; it works without other packages"

# The packages of the extras, without another download.
environment=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$environment/tools.pth"
(
  cd "$work"
  repository=$OLDPWD
  "$python" -m mypy --strict --cache-dir "$tools/types" -p odograph
  "$python" -m mypy --strict --cache-dir "$tools/types" "$repository"/Sources/Python/examples/*.py \
    "$repository/Sources/Python/generate.py"
)
step "types"

port=$(free_port)
printf 'listener %s 127.0.0.1\nallow_anonymous true\npersistence false\nlog_type all\n' "$port" >"$work/mosquitto.conf"
mosquitto -c "$work/mosquitto.conf" >"$work/mosquitto.log" 2>&1 &
pids[mosquitto]=$!
wait_for_port "$port"
echo "$port" >"$work/port"
wait "${pids[odographd]}"
unset "pids[odographd]"
count=$(PYTHONPATH=Tests/Python "$python" Tests/Python/world.py --count "$work/messages.jsonl")
"$programs/odograph" record "$work/fleet.sqlite" --broker "mqtt://127.0.0.1:$port" --profile-file /dev/null \
  --topic 'odograph/v1/examples/#' --client-id python-check --count "$count" --timeout 60 -q 2>"$work/odograph.log" &
pids[odograph]=$!
timeout 20 sh -c "until grep -q 'SUBSCRIBE from python-check' '$work/mosquitto.log'; do sleep 0.1; done"
"$python" Tests/Python/world.py "$port" "$work/messages.jsonl"
wait "${pids[odograph]}"
unset "pids[odograph]"
"$programs/odograph" export "$work/fleet.sqlite" --format parquet -q -o "$work/positions"
"$programs/odograph" export "$work/fleet.sqlite" -q -o "$work/positions.jsonl"
step "recording of $count messages"

ODOGRAPH_PYTHON_WORLD=$work "$python" -m unittest discover -s Tests/Python
step "tests and examples"
