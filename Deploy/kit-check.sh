#!/usr/bin/env bash
# Tries the broker kit of Config/mosquitto with two mosquittos on loopback: certificates, the access list, replacement and
# revocation of a certificate with a reload, persistent sessions, and the bridge, which is cut and comes back.
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

# prepare BROKER: a folder in the place of /etc/mosquitto, with the kit in it.
prepare() {
  local folder=$work/$1
  mkdir -p "$folder"/{certs,data,bridges}
  ports[$1]=$(free_port)
  certificates "$1" authority "Authority of $1"
  certificates "$1" broker localhost 127.0.0.1
  certificates "$1" member dashboard
  certificates "$1" member dispatch
  deliver "$1"
  cp "$kit/odograph.acl" "$folder"
  sed -e "s,/etc/mosquitto/,$folder/,; s,/var/lib/mosquitto/,$folder/data/,; s/^listener 8883/listener ${ports[$1]} 127.0.0.1/" \
    "$kit/odograph.conf" >"$folder/mosquitto.conf"
  # As whoever runs this; in the package it is the user mosquitto.
  printf 'user %s\nlog_type all\n' "$(id -un)" >>"$folder/mosquitto.conf"
}

# deliver BROKER: the files that the head of certificates.sh says, to where it says.
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

# logged BROKER TEXT [TIMES]: waits until the broker has said so.
logged() {
  for _ in $(seq 300); do
    if [ "$(grep -c -F "$2" "$work/$1/log")" -ge "${3:-1}" ]; then return 0; fi
    sleep 0.1
  done
  fail "the broker $1 has not said \"$2\" within 30 s"
}

# as NAME BROKER COMMAND ARGUMENT...: a client with the certificate of that name.
as() {
  local authority=$work/$2/authority
  "$3" -V 5 -h localhost -p "${ports[$2]}" --cafile "$authority/ca.crt" --cert "$authority/clients/$1.crt" \
    --key "$authority/clients/$1.key" "${@:4}"
}

# hears NAME BROKER TOPIC TEXT: the next message there, thirty seconds at most.
hears() {
  local heard
  heard=$(as "$1" "$2" mosquitto_sub -t "$3" -C 1 -W 30) || fail "$1 hears nothing at $2 on $3"
  [ "$heard" = "$4" ] || fail "$1 hears \"$heard\" at $2 on $3, not \"$4\""
}

prepare hub
prepare depot
certificates depot vehicle acme van-1
certificates depot vehicle acme van-2
certificates hub member bridge-depot-1
# At the hub the lines for the bridge are wanted.
sed -i '/^# user bridge-depot-1/,$ s/^# \(user\|topic\)/\1/' "$work/hub/odograph.acl"
start hub
start depot
done_with "two brokers start from odograph.conf"

topic=odograph/v1/acme/van-1
as acme/van-1 depot mosquitto_pub -q 1 -r -t $topic/location -m here
hears dashboard depot $topic/location here
as acme/van-2 depot mosquitto_pub -q 1 -r -t $topic/status -m forged 2>/dev/null || true
logged depot "Denied PUBLISH from"
done_with "a vehicle speaks for itself only"

as acme/van-1 depot mosquitto_sub -i van-1 -c -x 3600 -q 1 -t "$topic/command/+" -E
as dispatch depot mosquitto_pub -q 1 -t $topic/command/locate -m while-away
stop depot
start depot
heard=$(as acme/van-1 depot mosquitto_sub -i van-1 -c -x 3600 -q 1 -t "$topic/command/+" -C 1 -W 30)
[ "$heard" = while-away ] || fail "a command for a vehicle that was away is lost when the broker restarts"
done_with "a command waits for a vehicle that is away, through a restart of the broker"

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
if timeout 10 "${old[@]}" 2>/dev/null; then fail "a replaced certificate is still taken"; fi
as acme/van-1 depot mosquitto_pub -q 1 -r -t $topic/location -m there
done_with "a replaced certificate is refused after a reload, its successor taken"
certificates depot revoke acme/van-2
[ ! -e "$work/depot/authority/clients/acme/van-2.key" ] || fail "the key of a revoked certificate is kept"

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
done_with "what is retained at the near broker crosses the bridge"
as dispatch hub mosquitto_pub -q 1 -r -t $topic/config/desired -m wanted
heard=$(as acme/van-1 depot mosquitto_sub -t $topic/config/desired -C 1 -W 30)
[ "$heard" = wanted ] || fail "the vehicle hears \"$heard\" of what the headquarters wants"
done_with "what is asked at the bigger broker reaches the vehicle"

# Its session is there before the bridge is back, so that nothing can be missed.
watcher=(mosquitto_sub -i watcher -c -x 3600 -q 1 -t "$topic/motion")
as dashboard hub "${watcher[@]}" -E
stop hub
for number in 1 2 3; do
  as acme/van-1 depot mosquitto_pub -q 1 -t $topic/motion -m "$number"
done
start hub
as dashboard hub "${watcher[@]}" -C 3 -W 60 >"$work/heard" ||
  fail "what was said while the bridge was cut has not come: $(tr '\n' ' ' <"$work/heard")"
[ "$(tr '\n' ' ' <"$work/heard")" = "1 2 3 " ] || fail "after the cut came $(tr '\n' ' ' <"$work/heard")"
done_with "what was said while the bridge was cut comes after, once and in order"
if grep -q "Denied PUBLISH" "$work/hub/log"; then fail "the hub has refused something of the bridge: $(grep Denied "$work/hub/log")"; fi
done_with "nothing of the bridge is refused"
