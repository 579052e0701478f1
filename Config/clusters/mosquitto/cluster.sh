#!/usr/bin/env bash
# Runs a site with two mosquittos, each bridged to a third one in the centre, on this machine's loopback, for trials and tests.
# The files of ../../mosquitto configure all three. The program is that of Debian's package mosquitto, whose service is not used.
# Nodes 1 and 2 are the site's brokers, node 3 is the centre; each node is one process of this user.
#
# usage: cluster.sh DIR COMMAND
#   start AUTHORITY NAME... start the three nodes, with their files in DIR. AUTHORITY is the folder of certificates.sh, with a
#                           certificate `broker localhost 127.0.0.1` and the members bridge-site-1 and bridge-site-2. NAMEs are
#                           FLEET/VEHICLE or users of the access list (ACL=FILE for another one). At the centre the bridges may
#                           publish for the fleets of the NAMEs, and for those of FLEETS="acme other"
#   ports                   print a line for each node: number, site or centre, port of MQTT, address
#   pid N                   print the process id of node N
#   kill N                  kill node N, as a power cut would
#   save N                  let node N write its queues to disk, as it does each minute and at a clean stop
#   up N                    start node N again
#   pause N, resume N       suspend node N, and resume it
#   cut N, join N           cut node N off from the network, and reconnect it; requires a start with NETWORK (../nodes.sh)
#   line N down, line N up  interrupt and restore the line between the site's node N and the centre; requires NETWORK
#   loss N PERCENT          drop this share of the packets that the site's node N sends; requires NETWORK and netem in the kernel
#   access NAME...          reload permissions and the list of revoked certificates; FLEETS sets other fleets
#   stop                    stop all nodes
set -euo pipefail

usage() { sed -n 's/^# \{0,1\}//; 6,21p' "$0" >&2; exit 64; }
[ $# -ge 2 ] || usage
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kit=$(cd "$here/../../mosquitto" && pwd)
# shellcheck source=Config/clusters/nodes.sh
. "$here/../nodes.sh"
PATH=$PATH:/usr/sbin
command -v mosquitto >/dev/null || fail "there is no mosquitto; install it with: apt-get install mosquitto"
given=${FLEETS:-}
enter "$1" "$2"
command=$2
shift 2

# up N: starts a node without waiting.
up() { spawn "$1" mosquitto -c "$directory/$1/mosquitto.conf"; }

# wait_for N...: waits until each node listens.
wait_for() {
  local number port
  for number in "$@"; do
    port=MQTT_$number
    for _ in $(seq 300); do
      if accepting "$(host "$number")" "${!port}"; then continue 2; fi
      ! ended "$number" || break
      sleep 0.1
    done
    tail -n 40 "$directory/$number/out" >&2
    fail "node $number does not listen; the lines above are from $directory/$number/out"
  done
}

# configure N: writes the kit's files with paths, port and address of this machine.
configure() {
  local number=$1 port=MQTT_$1 folder=$directory/$1
  mkdir -p "$folder"/{data,bridges}
  sed -e "s|^listener .*|listener ${!port} $(host "$number")|; s|/etc/mosquitto/odograph.acl|$folder/odograph.acl|" \
    -e "s|/etc/mosquitto/|$directory/|; s|/var/lib/mosquitto/|$folder/data/|" \
    -e "s|^# include_dir .*|include_dir $folder/bridges|" "$kit/odograph.conf" >"$folder/mosquitto.conf"
  printf 'user %s\n' "$(id -un)" >>"$folder/mosquitto.conf"
  [ "$number" != 3 ] || return 0
  # Shorter delays than in bridge.conf, because a trial should not wait for minutes.
  sed -e "s|^address .*|address $(host 3):$MQTT_3|; s|^remote_clientid .*|remote_clientid bridge-site-$number|" \
    -e "s|/etc/mosquitto/certs/headquarters-ca.crt|$directory/certs/ca.crt|" \
    -e "s|/etc/mosquitto/certs/bridge|$directory/certs/bridge-site-$number|" \
    -e 's|^restart_timeout .*|restart_timeout 1 2|; s|^keepalive_interval .*|keepalive_interval 5|' \
    "$kit/bridge.conf" >"$folder/bridges/bridge.conf"
}

# access NAME...: writes permissions and the list of revoked certificates. The patterns of the access list apply to every vehicle,
# so that NAMEs are only checked. At the centre each bridge gets the permissions that the list contains for one bridge.
access() {
  local acl=${ACL:-$kit/odograph.acl} name fleet number fleets=${FLEETS:-}
  for name in "$@"; do
    [ -r "$AUTHORITY/clients/$name.crt" ] || fail "$name has no certificate in $AUTHORITY; see: certificates.sh list"
    case $name in
      */*) fleets+=" ${name%%/*}" ;;
      *) grep -qx "user $name" "$acl" || fail "$acl has no user $name; add \"user $name\" with its topics there" ;;
    esac
  done
  for number in 1 2 3; do
    mkdir -p "$directory/$number"
    cp "$acl" "$directory/$number/odograph.acl.new"
  done
  for number in 1 2; do
    printf '\nuser bridge-site-%s\n' "$number"
    for fleet in $(tr -s ' ' '\n' <<<"$fleets" | sort -u); do
      sed -n "/^# user bridge-depot-1/,\$ s|^# \(topic [a-z]* odograph/v1\)/acme/|\1/$fleet/|p" "$kit/odograph.acl"
    done
  done >>"$directory/3/odograph.acl.new"
  for number in 1 2 3; do mv "$directory/$number/odograph.acl.new" "$directory/$number/odograph.acl"; done
  cp "$AUTHORITY/revoked.pem" "$directory/certs/revoked.pem.new"
  mv "$directory/certs/revoked.pem.new" "$directory/certs/revoked.pem"
}

# site N: checks that N is one of the site's brokers, and that the cluster was started with NETWORK.
site() {
  case ${1:-} in 1 | 2) ;; *) fail "the site's brokers are 1 and 2, not \"${1:-}\"" ;; esac
  [ -n "${NETWORK:-}" ] || fail "on loopback a line cannot be spoilt; start the cluster with NETWORK=198.18.7, as root"
}

case $command in
  start)
    [ $# -ge 2 ] || usage
    take_authority "$1" localhost 127.0.0.1
    shift
    mkdir -p "$directory/certs"
    cp "$AUTHORITY"/{ca.crt,broker.crt,broker.key} "$directory/certs/"
    for number in 1 2; do
      [ -r "$AUTHORITY/clients/bridge-site-$number.key" ] ||
        fail "the bridge of node $number has no certificate; make it with: certificates.sh --directory $AUTHORITY member bridge-site-$number"
      cp "$AUTHORITY/clients/bridge-site-$number".{crt,key} "$directory/certs/"
    done
    access "$@"
    read -ra ports < <(free 3)
    echo "MQTT_1=${ports[0]} MQTT_2=${ports[1]} MQTT_3=${ports[2]}" >"$directory/ports"
    printf 'AUTHORITY=%q\nFLEETS=%q\n' "$AUTHORITY" "${FLEETS:-}" >>"$directory/ports"
    # shellcheck source=/dev/null
    . "$directory/ports"
    make_network
    for number in 3 1 2; do
      configure "$number"
      up "$number"
      wait_for "$number"
    done
    ;;
  ports)
    for number in 1 2 3; do
      mqtt=MQTT_$number what=site
      [ "$number" != 3 ] || what=centre
      echo "$number $what ${!mqtt} $(host "$number")"
    done
    ;;
  save)
    node "${1:-}"
    file=$directory/$1/data/mosquitto.db
    process=$(pid "$1") || fail "node $1 does not run"
    before=$(stat -c %i "$file" 2>/dev/null || true)
    kill -USR1 "$process"
    # mosquitto writes a new file and renames it, so that the inode changes.
    for _ in $(seq 600); do
      if [ -e "$file" ] && [ "$(stat -c %i "$file")" != "$before" ]; then exit 0; fi
      sleep 0.1
    done
    fail "node $1 has not written $file within a minute"
    ;;
  line)
    site "${1:-}"
    case ${2:-} in
      # An unused link-layer address: packets are sent and never arrive, as with a radio link out of range.
      down) ip -n "$SPACE$1" neighbour replace "$NETWORK.3" lladdr 02:00:00:00:00:01 dev eth0 nud permanent ;;
      up) ip -n "$SPACE$1" neighbour delete "$NETWORK.3" dev eth0 ;;
      *) fail "a line is up or down, not \"${2:-}\"" ;;
    esac
    ;;
  loss)
    site "${1:-}"
    case ${2:-} in '' | *[!0-9]*) fail "loss is a percentage, not \"${2:-}\"" ;; esac
    tc -n "$SPACE$1" qdisc replace dev eth0 root netem loss "$2%" ||
      fail "this kernel loses nothing on request: it has no netem (module sch_netem)"
    ;;
  access)
    [ $# -ge 1 ] || usage
    if [ -n "$given" ]; then
      FLEETS=$given
      sed -i '/^FLEETS=/d' "$directory/ports"
      printf 'FLEETS=%q\n' "$FLEETS" >>"$directory/ports"
    fi
    access "$@"
    for number in 1 2 3; do kill -HUP "$(pid "$number")" 2>/dev/null || true; done
    ;;
  pid | kill | up | pause | resume | cut | join | stop) shared "$command" "${1:-}" ;;
  *) usage ;;
esac
