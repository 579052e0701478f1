# shellcheck shell=bash
# Functions of the kits' cluster.sh: they run three nodes on this machine, each as one process of this user. cluster.sh of a
# kit sources this file, and defines how a node starts (`up N`) and when it has joined the cluster (`wait_for N...`).
#
# By default the nodes listen on 127.0.0.1. With NETWORK=198.18.7 (the first three parts of an unused IPv4 network) each node
# has its own network namespace and address, 198.18.7.1 to .3, so that it can be cut off as by a pulled cable. This requires
# root and iproute2. This machine's address in that network is 198.18.7.254.

fail() { echo "cluster.sh: $1" >&2; exit 1; }

# enter DIR COMMAND: sets `directory` to DIR, and reads the cluster's network and ports.
enter() {
  case $2 in start) mkdir -p "$1" ;; esac
  directory=$(cd "$1" 2>/dev/null && pwd) || fail "there is no cluster in $1; make one with: cluster.sh $1 start AUTHORITY NAME..."
  # shellcheck source=/dev/null
  if [ -r "$directory/network" ]; then . "$directory/network"; fi
  # shellcheck source=/dev/null
  if [ -r "$directory/ports" ]; then . "$directory/ports"; fi
}

# take_authority FOLDER NAME...: sets `AUTHORITY` of a new cluster to FOLDER, which must contain a broker certificate for these
# NAMEs. New files are then accessible to this user only.
take_authority() {
  [ ! -e "$directory/ports" ] || fail "$directory has a cluster already; end it with: cluster.sh $directory stop, and remove the folder"
  AUTHORITY=$(cd "$1" && pwd)
  [ -r "$AUTHORITY/broker.key" ] ||
    fail "$AUTHORITY has no broker.key; make it with: certificates.sh --directory $AUTHORITY broker ${*:2}"
  umask 077
}

# node N: checks the number.
node() { case ${1:-} in [123]) ;; *) fail "a node is 1, 2 or 3, not \"${1:-}\"" ;; esac; }

# pid N: prints the process id of a node; fails if the node does not run.
pid() {
  local number
  # The number may be another's by now, after a crash or a restart of the machine: the node's process names its folder.
  number=$(cat "$directory/$1/pid" 2>/dev/null) && [ -n "$number" ] && kill -0 "$number" 2>/dev/null &&
    grep -qsaF "$directory" "/proc/$number/cmdline" "/proc/$number/environ" && echo "$number"
}

# ended N: succeeds if the process of node N has ended. While it starts another program, it has no command line for a moment.
ended() {
  ! pid "$1" >/dev/null || return 1
  sleep 0.2
  ! pid "$1" >/dev/null
}

# free COUNT: prints unused loopback ports.
free() {
  python3 - "$1" <<'PYTHON'
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*[each.getsockname()[1] for each in sockets])
PYTHON
}

# accepting HOST PORT
accepting() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# host N: prints the address at which node N listens.
host() { if [ -n "${NETWORK:-}" ]; then echo "$NETWORK.$1"; else echo 127.0.0.1; fi; }

# within N COMMAND...: runs COMMAND in the network namespace of node N.
within() {
  local number=$1
  shift
  if [ -n "${NETWORK:-}" ]; then exec ip netns exec "$SPACE$number" "$@"; else exec "$@"; fi
}

# spawn N PROGRAM...: starts the process of node N, and does not wait.
spawn() {
  local number=$1
  shift
  ! pid "$number" >/dev/null || fail "node $number runs"
  (within "$number" setsid "$@" </dev/null >>"$directory/$number/out" 2>&1) &
  echo $! >"$directory/$number/pid"
}

# make_network: creates the namespaces and the bridge between them; their names start with SPACE.
make_network() {
  [ -n "${NETWORK:-}" ] || return 0
  case $NETWORK in *[!0-9.]* | *.*.*.* | .* | *.) fail "NETWORK is the first three parts of an address, as in 198.18.7" ;; esac
  [ "$(id -u)" -eq 0 ] || fail "namespaces are root's; leave out NETWORK"
  [ -z "$(ip -o route show "$NETWORK.0/24")" ] || fail "this machine has $NETWORK.0/24 already; choose another NETWORK"
  # A name of an interface has 15 letters at most.
  SPACE=flt$$-
  echo "NETWORK=$NETWORK SPACE=$SPACE" >"$directory/network"
  ip link add "${SPACE}all" type bridge
  ip address add "$NETWORK.254/24" dev "${SPACE}all"
  ip link set "${SPACE}all" up
  local number
  for number in 1 2 3; do
    ip netns add "$SPACE$number"
    ip link add "$SPACE$number" type veth peer name eth0 netns "$SPACE$number"
    ip link set "$SPACE$number" master "${SPACE}all" up
    ip -n "$SPACE$number" address add "$NETWORK.$number/24" dev eth0
    ip -n "$SPACE$number" link set eth0 up
    ip -n "$SPACE$number" link set lo up
  done
}

# link N up|down: connects or disconnects the network of node N.
link() {
  [ -n "${NETWORK:-}" ] || fail "on loopback a node cannot be cut off; start the cluster with NETWORK=198.18.7, as root"
  ip link set "$SPACE$1" "$2"
}

remove_network() {
  [ -n "${NETWORK:-}" ] || return 0
  local number
  for number in 1 2 3; do
    ip link delete "$SPACE$number" 2>/dev/null || true
    ip netns delete "$SPACE$number" 2>/dev/null || true
  done
  ip link delete "${SPACE}all" 2>/dev/null || true
  rm -f "$directory/network"
}

# end_nodes: stops the nodes with SIGTERM, and kills them after half a minute.
end_nodes() {
  local number process
  for number in 1 2 3; do
    process=$(pid "$number") || continue
    # The process may exit before the signal, which is no error.
    kill -CONT "$process" 2>/dev/null || true
    kill -TERM "$process" 2>/dev/null || true
  done
  for number in 1 2 3; do
    for _ in $(seq 300); do
      process=$(pid "$number") || continue 2
      sleep 0.1
    done
    kill -KILL "$process" 2>/dev/null || true
  done
}

# shared COMMAND [N]: runs a command that is the same for every kit.
shared() {
  if [ "$1" = stop ]; then
    end_nodes
    remove_network
    return
  fi
  node "${2:-}"
  case $1 in
    pid) pid "$2" || fail "node $2 does not run" ;;
    kill) kill -KILL "$(pid "$2")" ;;
    up) up "$2"; wait_for "$2" ;;
    pause) kill -STOP "$(pid "$2")" ;;
    resume) kill -CONT "$(pid "$2")" ;;
    cut) link "$2" down ;;
    join) link "$2" up ;;
  esac
}
