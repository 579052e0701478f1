#!/usr/bin/env bash
# Runs three nodes of NATS on this machine's loopback with the files of this folder, for trials and tests. The program is that of
# Debian's package nats-server, whose service is not used. Each node is one process of this user.
#
# usage: cluster.sh DIR COMMAND
#   start AUTHORITY NAME... start the three nodes, with their files in DIR. AUTHORITY is the folder of certificates.sh, with the
#                           certificates `broker localhost` and `node localhost 127.0.0.1`. NAMEs are those of access.sh
#                           (ACL=FILE for another access list)
#   ports                   print a line for each node: number, port of NATS' own protocol, port of MQTT, address
#   pid N                   print the process id of node N
#   kill N                  kill node N, as a power cut would
#   up N                    start node N again
#   pause N, resume N       suspend node N, and resume it
#   cut N, join N           cut node N off from the network, and reconnect it; requires a start with NETWORK (../nodes.sh)
#   access NAME...          apply new permissions by restarting one node after the other
#   stop                    stop all nodes
set -euo pipefail

usage() { sed -n 's/^# \{0,1\}//; 5,16p' "$0" >&2; exit 64; }
[ $# -ge 2 ] || usage
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=Config/clusters/nodes.sh
. "$here/../nodes.sh"
command -v nats-server >/dev/null || fail "there is no NATS; install it with: apt-get install nats-server"
enter "$1" "$2"
command=$2
shift 2

# up N: starts a node without waiting.
up() { spawn "$1" nats-server -c "$directory/$1/nats.conf"; }

# ready PORT-OF-MONITOR N: succeeds if the node has a leader of the cluster, so that it stores messages. Does not check whether
# each stream and consumer is up to date, because consumers of a killed node are never up to date again.
ready() { within "$2" python3 - "$1" <<'PYTHON'
import sys, urllib.request
try:
    sys.exit(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/healthz?js-server-only=true", timeout=2).status != 200)
except OSError:
    sys.exit(1)
PYTHON
}

# wait_for N...: waits until each node has joined the cluster.
wait_for() {
  local number mqtt monitor
  for number in "$@"; do
    mqtt=MQTT_$number monitor=MONITOR_$number
    for _ in $(seq 600); do
      if accepting "$(host "$number")" "${!mqtt}" && (ready "${!monitor}" "$number"); then continue 2; fi
      ! ended "$number" || break
      sleep 0.2
    done
    tail -n 40 "$directory/$number/out" >&2
    fail "node $number does not take part; the lines above are from $directory/$number/out"
  done
}

# configure N: writes the files of this folder with paths and ports of this machine.
configure() {
  local number=$1 nats=NATS_$1 mqtt=MQTT_$1 monitor=MONITOR_$1 cluster=CLUSTER_$1 routes=
  local other port
  for other in 1 2 3; do
    port=CLUSTER_$other
    routes+="${routes:+, }\"tls://$(host "$other"):${!port}\""
  done
  mkdir -p "$directory/$number/data"
  sed -e "s|^server_name: .*|server_name: broker-$number|; s|^listen: .*|listen: \"127.0.0.1:${!nats}\"|" \
    -e "s|^  listen: \"0.0.0.0:8883\"|  listen: \"$(host "$number"):${!mqtt}\"|" \
    -e "s|^  listen: \"0.0.0.0:6222\"|  listen: \"$(host "$number"):${!cluster}\"|" \
    -e "s|^  routes: .*|  routes: [$routes]|; s|/etc/nats-server/|$directory/|; s|/var/lib/nats|$directory/$number/data|" \
    -e "s|^include .*|include \"../access.conf\"|" "$here/nats.conf" >"$directory/$number/nats.conf"
  # Used only by `start` and `up`, which wait until the node has joined the cluster.
  echo "http: \"127.0.0.1:${!monitor}\"" >>"$directory/$number/nats.conf"
}

# access AUTHORITY NAME...: writes permissions and accepted keys.
access() {
  "$here/access.sh" "${ACL:-$here/../../mosquitto/odograph.acl}" "$@" >"$directory/access.conf.new"
  mv "$directory/access.conf.new" "$directory/access.conf"
}

case $command in
  start)
    [ $# -ge 2 ] || usage
    take_authority "$1" localhost
    shift
    access "$AUTHORITY" "$@"
    mkdir -p "$directory/certs"
    cp "$AUTHORITY"/{ca.crt,broker.crt,broker.key,node.crt,node.key} "$directory/certs/"
    read -ra ports < <(free 12)
    for number in 1 2 3; do
      at=$((4 * number - 4))
      echo "NATS_$number=${ports[$at]} MQTT_$number=${ports[$((at + 1))]}"
      echo "CLUSTER_$number=${ports[$((at + 2))]} MONITOR_$number=${ports[$((at + 3))]}"
    done >"$directory/ports"
    echo "AUTHORITY=$(printf %q "$AUTHORITY")" >>"$directory/ports"
    # shellcheck source=/dev/null
    . "$directory/ports"
    make_network
    for number in 1 2 3; do configure "$number"; done
    for number in 1 2 3; do up "$number"; done
    wait_for 1 2 3
    ;;
  ports)
    for number in 1 2 3; do
      nats=NATS_$number mqtt=MQTT_$number
      echo "$number ${!nats} ${!mqtt} $(host "$number")"
    done
    ;;
  access)
    [ $# -ge 1 ] || usage
    access "$AUTHORITY" "$@"
    for number in 1 2 3; do
      kill -TERM "$(pid "$number")" 2>/dev/null || true
      for _ in $(seq 300); do
        ! ended "$number" || break
        sleep 0.1
      done
      up "$number"
      wait_for "$number"
    done
    ;;
  pid | kill | up | pause | resume | cut | join | stop) shared "$command" "${1:-}" ;;
  *) usage ;;
esac
