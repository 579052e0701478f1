#!/usr/bin/env bash
# Runs the commands of Config/quickstarts: each page in its own namespaces, with copies of /etc and /dev and a
# separate network, so that the commands run unchanged and do not change this machine. mosquitto, gpsd, PostgreSQL,
# odographd and odograph are real. A simulated receiver writes to a pseudo-terminal.
#
# usage: Deploy/quickstarts-check.sh [--programs DIR] [PAGE...]
#   --programs DIR   use odographd and odograph of DIR (default: .build/debug)
#   PAGE             name of a page, such as owntracks (default: all)
# Prints each command with its time, and each command that does not run with the reason. Requires root for the
# namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

# Runs inside the namespaces: prepares a machine on which the commands of a page change only copies.
prepare() {
  mount --make-rprivate /
  mount -t proc proc /proc
  ip link set lo up
  mkdir "$work"/{dev,etc,bin,packages,clone,pids}
  cp -a /etc/. "$work/etc"
  rm -rf "$work/etc/odographd"
  mount -t tmpfs -o mode=0755 tmpfs "$work/dev"
  local node
  for node in null zero full random urandom tty; do
    touch "$work/dev/$node"
    mount --bind "/dev/$node" "$work/dev/$node"
  done
  mkdir "$work"/dev/{pts,shm}
  mount -t devpts -o newinstance,ptmxmode=0666,mode=0666 devpts "$work/dev/pts"
  mount -t tmpfs tmpfs "$work/dev/shm"
  ln -s pts/ptmx "$work/dev/ptmx"
  ln -s /proc/self/fd "$work/dev/fd"
  mount --rbind "$work/dev" /dev
  mount --bind "$work/etc" /etc
  mount --bind /var/lib/dpkg "$work/packages"
  for node in /var/lib /var/log /run /boot; do mount -t tmpfs -o mode=0755 tmpfs "$node"; done
  mkdir /var/lib/dpkg /boot/firmware
  mount --bind "$work/packages" /var/lib/dpkg
  install -d -o mosquitto -g mosquitto /var/lib/mosquitto /var/log/mosquitto /run/mosquitto
  install -d /var/lib/odographd /run/odographd /etc/prometheus /etc/grafana/provisioning/dashboards /etc/telegraf/telegraf.d
  cp -a Config Deploy "$work/clone"
  install -d "$work/home"
}

if [ -n "${ODOGRAPH_QUICKSTART:-}" ]; then
  work=$ODOGRAPH_WORK
  prepare
  exec python3 Tests/Documentation/quickstarts.py "$work" "$ODOGRAPH_PROGRAMS" "$ODOGRAPH_QUICKSTART"
fi

programs=.build/debug
if [ "${1:-}" = --programs ]; then programs=${2:?--programs needs a folder}; shift 2; fi
case "${1:-}" in -*) echo "usage: Deploy/quickstarts-check.sh [--programs DIR] [PAGE...]" >&2; exit 64 ;; esac
if [ "$(id -u)" -ne 0 ] || ! unshare --net --mount true 2>/dev/null; then
  echo "skipped: the quickstarts require root and namespaces"
  exit 0
fi
[ -x "$programs/odograph" ] || { echo "no odograph in $programs: build it first, or set --programs" >&2; exit 1; }
programs=$(realpath "$programs")
install_packages mosquitto mosquitto-clients gpsd gpsd-clients iproute2 util-linux openssl postgresql-15 python3 python3-yaml >&2
pages=("$@")
if [ $# -eq 0 ]; then
  for page in Config/quickstarts/*.md; do
    page=$(basename "$page" .md)
    if [ "$page" != README ]; then pages+=("$page"); fi
  done
fi

all=$(mktemp -d)
pids=()
# shellcheck disable=SC2317 # reached through the trap
finish() {
  local status=$? pid
  trap - EXIT
  # Each page is a process group. Its namespace ends with its first process.
  for pid in "${pids[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
  wait
  rm -rf --one-file-system "$all"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 0755 "$all"
run() {
  local page=$1
  mkdir -m 0755 "$all/$page"
  if ODOGRAPH_QUICKSTART=$page ODOGRAPH_WORK=$all/$page ODOGRAPH_PROGRAMS=$programs \
    unshare --net --mount --pid --fork --kill-child timeout -k 15 100 "$0" >"$all/$page.out" 2>&1; then
    cat "$all/$page.out"
  else
    cat "$all/$page.out" >&2
    touch "$all/$page.failed"
  fi
}
for page in "${pages[@]}"; do
  [ -f "Config/quickstarts/$page.md" ] || { echo "no such page: $page" >&2; exit 64; }
done
# Two pages at a time, since they mostly wait for a receiver.
running=0
for page in "${pages[@]}"; do
  if [ "$running" -ge 2 ]; then wait -n; else running=$((running + 1)); fi
  set -m
  run "$page" &
  set +m
  pids+=($!)
done
wait
failed=$(find "$all" -maxdepth 1 -name '*.failed' -printf ' %f')
[ -z "$failed" ] || { echo "quickstarts:$failed" >&2; exit 1; }
echo "quickstarts: ${#pages[@]} pages in $SECONDS s"
