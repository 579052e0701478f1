#!/usr/bin/env bash
# Follows README.md from a clone to a first vehicle, as a normal user: runs each command of its block unchanged, with
# mosquitto and gpsd in a separate network namespace, until the table shows a location.
#
# usage: Deploy/first-vehicle.sh [--programs DIR]
#   --programs DIR   use odographd and odograph of DIR, without a build
# Prints each command with its time in seconds. Requires root for the namespace.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
# shellcheck source=Deploy/newcomer.sh
. Deploy/newcomer.sh

limit=5
fail() { echo "first vehicle: $1" >&2; exit 1; }

follow() {
  ip link set lo up
  pids=()
  # shellcheck disable=SC2317 # reached through the trap
  end() {
    trap - EXIT
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
  }
  trap end EXIT
  printf 'listener 1883 127.0.0.1\nallow_anonymous true\npersistence false\n' >"$work/mosquitto.conf"
  mosquitto -c "$work/mosquitto.conf" >"$work/mosquitto" 2>&1 &
  pids+=($!)
  gpsd -n -N udp://127.0.0.1:5947 >"$work/gpsd" 2>&1 &
  pids+=($!)
  receiver 5947 &
  pids+=($!)
  wait_for_port 1883 && wait_for_port 2947

  local line commands=0
  SECONDS=0
  while read -r line; do
    case $line in
      swift*) if [ -z "$programs" ]; then $line; fi ;;
      export*) if [ -n "$programs" ]; then export PATH="$programs:$PATH"; else eval "$line"; fi ;;
      *' &')
        as_user "${line% &}" >"$work/agent" 2>&1 &
        pids+=($!)
        ;;
      'odograph watch')
        until as_user "$line --once" >"$work/watch" 2>&1 && shows_location "$work/watch" >"$work/seen"; do
          [ "$SECONDS" -le 90 ] || { cat "$work/agent" "$work/watch" >&2; fail "no location after $SECONDS s"; }
          sleep 0.5
        done
        ;;
      *) as_user "$line" >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "$line: status $?"; } ;;
    esac
    commands=$((commands + 1))
    printf '%4s s  %s\n' "$SECONDS" "$line"
  done < <(readme_commands first-clone)
  cat "$work/seen"
  [ "$commands" -gt 2 ] || fail "README.md has no block first-clone"
  [ "$commands" -le "$limit" ] || fail "$commands commands, at most $limit are permitted"
  echo "commands,$commands"
}

# as_user COMMAND: runs a command with a separate home folder and a clean environment.
as_user() {
  setpriv --reuid nobody --regid nogroup --clear-groups \
    env -i PATH="$PATH" HOME="$work/home" XDG_RUNTIME_DIR="$work/home/run" NO_COLOR=1 bash -c "cd '$work/home' && exec $1"
}

if [ -n "${ODOGRAPH_FIRST_VEHICLE:-}" ]; then
  work=$ODOGRAPH_FIRST_VEHICLE programs=$ODOGRAPH_PROGRAMS
  follow
  exit 0
fi

programs=
case "${1:-}" in
  --programs) programs=$(realpath "${2:?--programs needs a folder}") ;;
  '') ;;
  *) echo "usage: Deploy/first-vehicle.sh [--programs DIR]" >&2; exit 64 ;;
esac
if [ "$(id -u)" -ne 0 ] || ! unshare --net true 2>/dev/null; then
  echo "skipped: a first vehicle from a clone requires root and network namespaces"
  exit 0
fi
for package in "${build_packages[@]}"; do
  sed -n '/^apt-get install pkg-config/,/^```/p' README.md | grep -qw -- "$package" || fail "README.md does not list the package $package for the build"
done
install_packages mosquitto gpsd iproute2 python3 util-linux >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 0755 "$work"
install -d -o nobody -g nogroup "$work/home" "$work/home/run"
ODOGRAPH_FIRST_VEHICLE=$work ODOGRAPH_PROGRAMS=$programs unshare --net --pid --fork --kill-child "$0"
