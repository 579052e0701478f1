#!/usr/bin/env bash
# Tests the broker kit of Config/mosquitto with two mosquittos on loopback: certificates, the access list, replacement
# and revocation of a certificate with a reload, persistent sessions, and the bridge with an interruption.
#
# usage: Deploy/kit-check.sh
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
install_packages mosquitto mosquitto-clients openssl python3 >&2

kit=$PWD/Config/mosquitto
work=$(mktemp -d)
declare -A pids ports
# shellcheck disable=SC2317 # reached through the trap
finish() {
  local status=$?
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ "$status" -ne 0 ]; then tail -n 20 "$work"/*/log >&2 || true; fi
  rm -rf "$work"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() { echo "broker kit: $1" >&2; exit 1; }
done_with() { echo "ok  $1"; }
certificates() { "$kit/certificates.sh" --directory "$work/$1/authority" "${@:2}" >/dev/null; }

# prepare BROKER: creates a folder with the kit, in place of /etc/mosquitto.
prepare() {
  local folder=$work/$1
  mkdir -p "$folder"/{certs,data,bridges}
  ports[$1]=$(free_port)
  certificates "$1" authority "Authority of $1"
  certificates "$1" broker localhost 127.0.0.1
  certificates "$1" member dashboard
  certificates "$1" member dispatch
  certificates "$1" member admin
  deliver "$1"
  cp "$kit/odograph.acl" "$folder"
  sed -e "s,/etc/mosquitto/,$folder/,; s,/var/lib/mosquitto/,$folder/data/,; s/^listener 8883/listener ${ports[$1]} 127.0.0.1/" \
    "$kit/odograph.conf" >"$folder/mosquitto.conf"
  # Runs as the current user instead of the package's user mosquitto.
  printf 'user %s\nlog_type all\n' "$(id -un)" >>"$folder/mosquitto.conf"
}

# deliver BROKER: installs the files as the comment in certificates.sh describes.
deliver() {
  install -m 0644 "$work/$1/authority"/{ca.crt,broker.crt,revoked.pem} "$work/$1/certs"
  install -m 0640 "$work/$1/authority/broker.key" "$work/$1/certs"
}

start() {
  mosquitto -c "$work/$1/mosquitto.conf" >>"$work/$1/log" 2>&1 &
  pids[$1]=$!
  wait_for_port "${ports[$1]}"
}

stop() {
  kill "${pids[$1]}"
  wait "${pids[$1]}" || true
  unset "pids[$1]"
}

# logged BROKER TEXT [TIMES]: waits until the broker has logged a text.
logged() {
  for _ in $(seq 300); do
    if [ "$(grep -c -F "$2" "$work/$1/log")" -ge "${3:-1}" ]; then return 0; fi
    sleep 0.1
  done
  fail "the broker $1 has not logged \"$2\" within 30 s"
}

# as NAME BROKER COMMAND ARGUMENT...: runs a client with the certificate of that name.
as() {
  local authority=$work/$2/authority
  "$3" -V 5 -h localhost -p "${ports[$2]}" --cafile "$authority/ca.crt" --cert "$authority/clients/$1.crt" \
    --key "$authority/clients/$1.key" "${@:4}"
}

# hears NAME BROKER TOPIC TEXT: expects this text in the next message of the topic, within 30 s.
hears() {
  local heard
  heard=$(as "$1" "$2" mosquitto_sub -t "$3" -C 1 -W 30) || fail "$1 receives no message from $2 on $3"
  [ "$heard" = "$4" ] || fail "$1 receives \"$heard\" from $2 on $3, not \"$4\""
}

prepare hub
prepare depot
certificates depot vehicle acme van-1
certificates depot vehicle acme van-2
certificates hub member bridge-depot-1
# The hub's access list needs the lines for the bridge.
sed -i '/^# user bridge-depot-1/,$ s/^# \(user\|topic\)/\1/' "$work/hub/odograph.acl"
start hub
start depot
done_with "two brokers start from odograph.conf"

topic=odograph/v1/acme/van-1
as acme/van-1 depot mosquitto_pub -q 1 -r -t $topic/location -m here
hears dashboard depot $topic/location here
as acme/van-2 depot mosquitto_pub -q 1 -r -t $topic/status -m forged 2>/dev/null || true
logged depot "Denied PUBLISH from"
done_with "a vehicle publishes in its own topics only"

as acme/van-1 depot mosquitto_sub -i van-1 -c -x 3600 -q 1 -t "$topic/command/+" -E
as dispatch depot mosquitto_pub -q 1 -t $topic/command/locate -m while-away
stop depot
start depot
heard=$(as acme/van-1 depot mosquitto_sub -i van-1 -c -x 3600 -q 1 -t "$topic/command/+" -C 1 -W 30)
[ "$heard" = while-away ] || fail "a command for an offline vehicle is lost when the broker restarts"
done_with "a command for an offline vehicle is delivered after a restart of the broker"

cp "$work/depot/authority/clients/acme/van-1.crt" "$work/depot/old.crt"
cp "$work/depot/authority/clients/acme/van-1.key" "$work/depot/old.key"
certificates depot replace acme/van-1
deliver depot
kill -HUP "${pids[depot]}"
logged depot "Reloading config"
old=(mosquitto_pub -V 5 -h localhost -p "${ports[depot]}" --cafile "$work/depot/authority/ca.crt" --cert "$work/depot/old.crt"
  --key "$work/depot/old.key" -q 1 -t "$topic/location" -m old)
for _ in $(seq 50); do
  timeout 10 "${old[@]}" 2>/dev/null || break
  sleep 0.1
done
if timeout 10 "${old[@]}" 2>/dev/null; then fail "a replaced certificate is still accepted"; fi
as acme/van-1 depot mosquitto_pub -q 1 -r -t $topic/location -m there
done_with "after a reload a replaced certificate is refused, and its successor accepted"
certificates depot revoke acme/van-2
[ ! -e "$work/depot/authority/clients/acme/van-2.key" ] || fail "the key of a revoked certificate is not deleted"

mkdir -p "$work/depot/bridges"
cp "$work/hub/authority/ca.crt" "$work/depot/certs/headquarters-ca.crt"
cp "$work/hub/authority/clients/bridge-depot-1.crt" "$work/depot/certs/bridge.crt"
cp "$work/hub/authority/clients/bridge-depot-1.key" "$work/depot/certs/bridge.key"
sed -e "s,/etc/mosquitto/,$work/depot/,; s/^address .*/address localhost:${ports[hub]}/" \
  -e 's/^restart_timeout .*/restart_timeout 1 2/' "$kit/bridge.conf" >"$work/depot/bridges/bridge.conf"
sed -i "s,^# include_dir .*,include_dir $work/depot/bridges," "$work/depot/mosquitto.conf"
stop depot
start depot
hears dashboard hub $topic/location there
done_with "retained messages of the depot's broker cross the bridge"
as dispatch hub mosquitto_pub -q 1 -r -t $topic/config/desired -m wanted
heard=$(as acme/van-1 depot mosquitto_sub -t $topic/config/desired -C 1 -W 30)
[ "$heard" = wanted ] || fail "the vehicle receives \"$heard\" instead of the desired settings"
done_with "settings published at the headquarters' broker reach the vehicle"

# The session exists before the bridge reconnects, so that it receives all messages.
watcher=(mosquitto_sub -i watcher -c -x 3600 -q 1 -t "$topic/motion")
as dashboard hub "${watcher[@]}" -E
stop hub
for number in 1 2 3; do
  as acme/van-1 depot mosquitto_pub -q 1 -t $topic/motion -m "$number"
done
start hub
as dashboard hub "${watcher[@]}" -C 3 -W 60 >"$work/heard" ||
  fail "messages published while the bridge was cut are missing: $(tr '\n' ' ' <"$work/heard")"
[ "$(tr '\n' ' ' <"$work/heard")" = "1 2 3 " ] || fail "wrong messages after the cut: $(tr '\n' ' ' <"$work/heard")"
done_with "messages published while the bridge was cut arrive later, once and in order"
if grep -q "Denied PUBLISH" "$work/hub/log"; then fail "the hub has refused messages of the bridge: $(grep Denied "$work/hub/log")"; fi
done_with "the hub refuses no message of the bridge"

# The first of the retained messages of two topics shows whether the first topic still has one.
retained() { as dashboard depot mosquitto_sub -q 1 --retained-only -t $topic/location -t $topic/config/desired -C 1 -W 30; }
as dispatch depot mosquitto_pub -q 1 -r -n -t $topic/location 2>/dev/null || true
[ "$(retained)" = there ] || fail "dispatch may delete a retained message of a vehicle"
as admin depot mosquitto_pub -q 1 -r -n -t $topic/location
[ "$(retained)" = wanted ] || fail "admin may not delete a retained message of a vehicle"
done_with "only admin deletes retained messages of a vehicle"
