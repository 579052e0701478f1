#!/usr/bin/env bash
# Runs three nodes of RabbitMQ on this machine's loopback with the files of this folder, for trials and tests. The programs are
# those of Debian's package rabbitmq-server, whose service is not used. Each node is one process of this user.
#
# usage: cluster.sh DIR COMMAND
#   start AUTHORITY NAME... start the three nodes, with their files in DIR. AUTHORITY is the folder of certificates.sh, with a
#                           certificate for localhost. NAMEs are those of access.sh (ACL=FILE for another access list)
#   ports                   print a line for each node: number, port of AMQP, port of MQTT, address
#   pid N                   print the process id of node N
#   kill N                  kill node N, as a power cut would
#   up N                    start node N again
#   pause N, resume N       suspend node N, and resume it
#   cut N, join N           cut node N off from the network, and reconnect it; requires a start with NETWORK (../nodes.sh)
#   access NAME...          apply new permissions and the list of revoked certificates. Users that are not named any more are
#                           deleted, and connections of deleted users are closed
#   ctl N WORD...           run rabbitmqctl for node N
#   stop                    stop all nodes
set -euo pipefail

usage() { sed -n 's/^# \{0,1\}//; 5,17p' "$0" >&2; exit 64; }
[ $# -ge 2 ] || usage
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=Config/clusters/nodes.sh
. "$here/../nodes.sh"
programs=${RABBITMQ_PROGRAMS:-/usr/lib/rabbitmq/bin}
[ -x "$programs/rabbitmq-server" ] || fail "there is no RabbitMQ in $programs; install it with: apt-get install rabbitmq-server"
enter "$1" "$2"
command=$2
shift 2

# name N: prints the name of a node in the cluster.
name() { if [ -n "${NETWORK:-}" ]; then echo "fleet$1@$(host "$1")"; else echo "fleet$1@localhost"; fi; }

# environment N: sets the environment of a node and its tools, with which they read no file in /etc/rabbitmq.
environment() {
  local number=$1
  local dist=DIST_$number amqp=AMQP_$number
  export HOME=$directory
  export ERL_EPMD_PORT=$EPMD RABBITMQ_CONF_ENV_FILE=/dev/null
  ERL_EPMD_ADDRESS=$(host "$number")
  RABBITMQ_NODENAME=$(name "$number")
  export ERL_EPMD_ADDRESS RABBITMQ_NODENAME
  if [ -n "${NETWORK:-}" ]; then export RABBITMQ_USE_LONGNAME=true; else export RABBITMQ_USE_LONGNAME=false; fi
  export RABBITMQ_CONFIG_FILE=$directory/$number/rabbitmq.conf
  export RABBITMQ_ADVANCED_CONFIG_FILE=$directory/$number/advanced.config
  export RABBITMQ_ENABLED_PLUGINS_FILE=$directory/$number/enabled_plugins
  export RABBITMQ_MNESIA_BASE=$directory/$number/data RABBITMQ_LOG_BASE=$directory/$number
  export RABBITMQ_PID_FILE=$directory/$number/pid
  export RABBITMQ_DIST_PORT=${!dist} RABBITMQ_NODE_PORT=${!amqp}
  local interface
  interface="-kernel inet_dist_use_interface {$(host "$number" | tr . ,)}"
  export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="$interface +S 1:1 +sbwt none"
  export RABBITMQ_CTL_ERL_ARGS="$interface +S 1:1"
}

# up N: starts a node without waiting.
up() {
  ! pid "$1" >/dev/null || fail "node $1 runs"
  rm -f "$directory/$1/pid"
  (
    environment "$1"
    within "$1" setsid "$programs/rabbitmq-server" </dev/null >>"$directory/$1/out" 2>&1
  ) &
}

# names_pid N: prints the process id of the name service (epmd), after a check that the id does not belong to another process.
names_pid() {
  local number
  number=$(cat "$directory/epmd$1.pid" 2>/dev/null) && [ -n "$number" ] &&
    tr '\0' ' ' 2>/dev/null <"/proc/$number/cmdline" | grep -q "epmd .*-port $EPMD " && echo "$number"
}

# names_service: starts the name service, from which nodes learn each other's ports: one on loopback, or one in each namespace.
# It ends with `stop`.
names_service() {
  local number
  for number in 1 2 3; do
    if ! names_pid "$number" >/dev/null; then
      (within "$number" setsid epmd -address "$(host "$number")" -port "$EPMD" </dev/null >>"$directory/epmd.out" 2>&1) &
      echo $! >"$directory/epmd$number.pid"
    fi
    if [ -z "${NETWORK:-}" ]; then return; fi
  done
}

# wait_for N...: waits until each node answers on both ports.
wait_for() {
  local number amqp mqtt
  for number in "$@"; do
    amqp=AMQP_$number mqtt=MQTT_$number
    for _ in $(seq 1200); do
      if accepting "$(host "$number")" "${!amqp}" && accepting "$(host "$number")" "${!mqtt}"; then continue 2; fi
      sleep 0.1
    done
    tail -n 40 "$directory/$number/out" >&2
    fail "node $number does not listen; the lines above are from $directory/$number/out"
  done
}

# serving: fails unless all three nodes are one cluster, and the virtual host is up on each.
serving() {
  local states
  states=$(environment 1; within 1 "$programs/rabbitmqctl" --silent --no-table-headers list_vhosts cluster_state)
  [ "$(grep -o 'fleet[123]@[^,]*, running' <<<"$states" | sort -u | wc -l)" -eq 3 ] ||
    fail "the virtual host is not up on every node: $states; stop the cluster, remove $directory and start it again"
}

# configure N: writes the files of this folder with paths and ports of this machine.
configure() {
  local number=$1 amqp=AMQP_$1 mqtt=MQTT_$1 address
  address=$(host "$1")
  mkdir -p "$directory/$number"
  sed -e "s|rabbit@broker-1|$(name 1)|; s|rabbit@broker-2|$(name 2)|; s|rabbit@broker-3|$(name 3)|" \
    -e "s|^listeners.ssl.default = .*|listeners.ssl.default = $address:${!amqp}|" \
    -e "s|^mqtt.listeners.ssl.default = .*|mqtt.listeners.ssl.default = $address:${!mqtt}|" \
    -e "s|/etc/rabbitmq/|$directory/|" -e "s|^disk_free_limit.*|disk_free_limit.absolute = 50MB|" \
    "$here/rabbitmq.conf" >"$directory/$number/rabbitmq.conf"
  # The first node has no cluster to join; the other nodes start after it.
  if [ "$number" = 1 ]; then echo "cluster_formation.discovery_retry_limit = 1" >>"$directory/$number/rabbitmq.conf"; fi
  sed -e "s|/etc/rabbitmq/|$directory/|" "$here/advanced.config" >"$directory/$number/advanced.config"
  cp "$here/enabled_plugins" "$directory/$number/"
}

# access NAME...: writes the definitions, which each node reads when it starts, and the list of revoked certificates, which it
# reads for each handshake.
access() {
  "$here/access.sh" "${ACL:-$here/../../mosquitto/odograph.acl}" "$@" >"$directory/definitions.json.new"
  mv "$directory/definitions.json.new" "$directory/definitions.json"
  mkdir -p "$directory/certs/revoked"
  cp "$AUTHORITY/revoked.pem" "$directory/certs/revoked/"
  openssl rehash "$directory/certs/revoked"
}

# at N WORD...: runs rabbitmqctl for node N.
at() {
  local number=$1
  shift
  (environment "$number"; within "$number" "$programs/rabbitmqctl" "$@")
}

case $command in
  start)
    [ $# -ge 2 ] || usage
    command -v epmd >/dev/null || fail "there is no epmd; install it with: apt-get install erlang-base"
    take_authority "$1" localhost
    shift
    access "$@"
    cp "$AUTHORITY"/{ca.crt,broker.crt,broker.key} "$directory/certs/"
    head -c 24 /dev/urandom | base64 | tr -d '/+=\n' >"$directory/.erlang.cookie"
    chmod 0400 "$directory/.erlang.cookie"
    read -ra ports < <(free 10)
    {
      printf 'AUTHORITY=%q\n' "$AUTHORITY"
      echo "EPMD=${ports[0]}"
      for number in 1 2 3; do
        echo "DIST_$number=${ports[$((3 * number - 2))]}"
        echo "AMQP_$number=${ports[$((3 * number - 1))]}"
        echo "MQTT_$number=${ports[$((3 * number))]}"
      done
    } >"$directory/ports"
    # shellcheck source=/dev/null
    . "$directory/ports"
    make_network
    names_service
    for number in 1 2 3; do configure "$number"; done
    # The nodes start one after the other. If they start simultaneously for the first time, the virtual host of one node can stay
    # down; this node then closes every MQTT connection permanently.
    for number in 1 2 3; do
      up "$number"
      wait_for "$number"
    done
    serving
    ;;
  ports)
    for number in 1 2 3; do
      amqp=AMQP_$number mqtt=MQTT_$number
      echo "$number ${!amqp} ${!mqtt} $(host "$number")"
    done
    ;;
  up) node "${1:-}"; names_service; up "$1"; wait_for "$1" ;;
  access)
    [ $# -ge 1 ] || usage
    access "$@"
    at 1 --silent import_definitions "$directory/definitions.json"
    for user in $(at 1 --silent --no-table-headers list_users | cut -f 1); do
      case " $* " in *" $user "*) continue ;; esac
      at 1 --silent delete_user "$user"
      at 1 --silent close_all_user_connections "$user" "not let in any more"
    done
    ;;
  ctl)
    node "${1:-}"
    number=$1
    shift
    at "$number" "$@"
    ;;
  pid | kill | pause | resume | cut | join) shared "$command" "${1:-}" ;;
  stop)
    end_nodes
    for number in 1 2 3; do
      if process=$(names_pid "$number"); then kill "$process" 2>/dev/null || true; fi
      rm -f "$directory/epmd$number.pid"
    done
    remove_network
    ;;
  *) usage ;;
esac
