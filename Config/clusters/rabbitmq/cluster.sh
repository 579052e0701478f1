#!/usr/bin/env bash
# Three nodes of RabbitMQ on this machine's loopback, from the files of this folder: to try the cluster, and for tests.
# Debian's rabbitmq-server has the programs; its service is not used. Each node is one process of this user.
#
# usage: cluster.sh DIR COMMAND
#   start AUTHORITY NAME... all three nodes, in DIR, which becomes theirs; AUTHORITY is the folder of certificates.sh with a
#                           certificate for localhost, NAMEs are those of access.sh (ACL=FILE for another access list)
#   ports                   a line for each node: number, port of AMQP, port of MQTT
#   pid N                   the process of node N
#   kill N                  ends node N as a power cut would
#   up N                    starts node N again
#   pause N, resume N       node N stands still, and goes on
#   ctl N WORD...           rabbitmqctl at node N
#   stop                    ends all
set -euo pipefail

fail() { echo "cluster.sh: $1" >&2; exit 1; }
usage() { sed -n 's/^# \{0,1\}//; 5,16p' "$0" >&2; exit 64; }
[ $# -ge 2 ] || usage
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=${RABBITMQ_PROGRAMS:-/usr/lib/rabbitmq/bin}
[ -x "$programs/rabbitmq-server" ] || fail "there is no RabbitMQ in $programs; install it with: apt-get install rabbitmq-server"
case $2 in start) mkdir -p "$1" ;; esac
directory=$(cd "$1" 2>/dev/null && pwd) || fail "there is no cluster in $1; make one with: cluster.sh $1 start AUTHORITY NAME..."
command=$2
shift 2

# node N: checks the number.
node() { case ${1:-} in [123]) ;; *) fail "a node is 1, 2 or 3, not \"${1:-}\"" ;; esac; }

# environment N: what a node and its tools share. Nothing of /etc/rabbitmq is read.
environment() {
  local number=$1
  # shellcheck source=/dev/null
  . "$directory/ports"
  local dist=DIST_$number amqp=AMQP_$number
  export HOME=$directory
  export ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT=$EPMD
  export RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_NODENAME=fleet$number@localhost RABBITMQ_USE_LONGNAME=false
  export RABBITMQ_CONFIG_FILE=$directory/$number/rabbitmq.conf
  export RABBITMQ_ADVANCED_CONFIG_FILE=$directory/$number/advanced.config
  export RABBITMQ_ENABLED_PLUGINS_FILE=$directory/$number/enabled_plugins
  export RABBITMQ_MNESIA_BASE=$directory/$number/data RABBITMQ_LOG_BASE=$directory/$number
  export RABBITMQ_PID_FILE=$directory/$number/pid
  export RABBITMQ_DIST_PORT=${!dist} RABBITMQ_NODE_PORT=${!amqp}
  export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none"
  export RABBITMQ_CTL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} +S 1:1"
}

# pid N: of the node's process; fails when it does not run.
pid() {
  local number
  number=$(cat "$directory/$1/pid" 2>/dev/null) && [ -n "$number" ] && kill -0 "$number" 2>/dev/null && echo "$number"
}

# free COUNT: loopback ports that nobody has now.
free() {
  python3 - "$1" <<'PYTHON'
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*[each.getsockname()[1] for each in sockets])
PYTHON
}

# up N: starts a node and does not wait.
up() {
  ! pid "$1" >/dev/null || fail "node $1 runs"
  rm -f "$directory/$1/pid"
  (
    environment "$1"
    exec setsid "$programs/rabbitmq-server" </dev/null >>"$directory/$1/out" 2>&1
  ) &
}

# names_service: finds out where each node listens; it ends with `stop`.
names_service() {
  # shellcheck source=/dev/null
  . "$directory/ports"
  if [ -s "$directory/epmd.pid" ] && kill -0 "$(cat "$directory/epmd.pid")" 2>/dev/null; then return; fi
  setsid epmd -address 127.0.0.1 -port "$EPMD" </dev/null >>"$directory/epmd.out" 2>&1 &
  echo $! >"$directory/epmd.pid"
}

# accepting PORT
accepting() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# wait_for N...: until each answers on both ports.
wait_for() {
  # shellcheck source=/dev/null
  . "$directory/ports"
  local number amqp mqtt
  for number in "$@"; do
    amqp=AMQP_$number mqtt=MQTT_$number
    for _ in $(seq 1200); do
      if accepting "${!amqp}" && accepting "${!mqtt}"; then continue 2; fi
      sleep 0.1
    done
    tail -n 40 "$directory/$number/out" >&2
    fail "node $number does not listen; the lines above are from $directory/$number/out"
  done
}

# configure N: the files of this folder with paths and ports of this machine.
configure() {
  local number=$1 amqp=AMQP_$1 mqtt=MQTT_$1
  mkdir -p "$directory/$number"
  sed -e "s|rabbit@broker-|fleet|; /nodes\./s|\$|@localhost|" \
    -e "s|^listeners.ssl.default = .*|listeners.ssl.default = 127.0.0.1:${!amqp}|" \
    -e "s|^mqtt.listeners.ssl.default = .*|mqtt.listeners.ssl.default = 127.0.0.1:${!mqtt}|" \
    -e "s|/etc/rabbitmq/|$directory/|" -e "s|^disk_free_limit.*|disk_free_limit.absolute = 50MB|" \
    "$here/rabbitmq.conf" >"$directory/$number/rabbitmq.conf"
  sed -e "s|/etc/rabbitmq/|$directory/|" "$here/advanced.config" >"$directory/$number/advanced.config"
  cp "$here/enabled_plugins" "$directory/$number/"
}

case $command in
  start)
    [ $# -ge 2 ] || usage
    [ ! -e "$directory/ports" ] || fail "$directory has a cluster already; end it with: cluster.sh $directory stop, and remove the folder"
    authority=$1
    shift
    [ -r "$authority/broker.key" ] || fail "$authority has no broker.key; make it with: certificates.sh --directory $authority broker localhost"
    command -v epmd >/dev/null || fail "there is no epmd; install it with: apt-get install erlang-base"
    umask 077
    "$here/access.sh" "${ACL:-$here/../../mosquitto/odograph.acl}" "$@" >"$directory/definitions.json"
    mkdir -p "$directory/certs/revoked"
    cp "$authority"/{ca.crt,broker.crt,broker.key} "$directory/certs/"
    cp "$authority/revoked.pem" "$directory/certs/revoked/"
    openssl rehash "$directory/certs/revoked"
    head -c 24 /dev/urandom | base64 | tr -d '/+=\n' >"$directory/.erlang.cookie"
    chmod 0400 "$directory/.erlang.cookie"
    read -ra ports < <(free 10)
    {
      echo "EPMD=${ports[0]}"
      for number in 1 2 3; do
        echo "DIST_$number=${ports[$((3 * number - 2))]}"
        echo "AMQP_$number=${ports[$((3 * number - 1))]}"
        echo "MQTT_$number=${ports[$((3 * number))]}"
      done
    } >"$directory/ports"
    # shellcheck source=/dev/null
    . "$directory/ports"
    names_service
    for number in 1 2 3; do configure "$number"; done
    for number in 1 2 3; do up "$number"; done
    wait_for 1 2 3
    ;;
  ports)
    # shellcheck source=/dev/null
    . "$directory/ports"
    for number in 1 2 3; do
      amqp=AMQP_$number mqtt=MQTT_$number
      echo "$number ${!amqp} ${!mqtt}"
    done
    ;;
  pid) node "${1:-}"; pid "$1" || fail "node $1 does not run" ;;
  kill) node "${1:-}"; kill -KILL "$(pid "$1")" ;;
  up) node "${1:-}"; names_service; up "$1"; wait_for "$1" ;;
  pause) node "${1:-}"; kill -STOP "$(pid "$1")" ;;
  resume) node "${1:-}"; kill -CONT "$(pid "$1")" ;;
  ctl)
    node "${1:-}"
    number=$1
    shift
    environment "$number"
    exec "$programs/rabbitmqctl" "$@"
    ;;
  stop)
    for number in 1 2 3; do
      process=$(pid "$number") || continue
      kill -CONT "$process"
      kill -TERM "$process"
    done
    for number in 1 2 3; do
      for _ in $(seq 300); do
        process=$(pid "$number") || continue 2
        sleep 0.1
      done
      kill -KILL "$process"
    done
    if [ -s "$directory/epmd.pid" ]; then kill "$(cat "$directory/epmd.pid")" 2>/dev/null || true; fi
    ;;
  *) usage ;;
esac
