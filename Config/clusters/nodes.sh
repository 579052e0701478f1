# shellcheck shell=bash disable=SC2154 # directory is the sourcing script's
# What the scripts of the kits share: three nodes on this machine, each one process of this user. Sourced by cluster.sh of a
# kit, which says how a node is started.
#
# On loopback the nodes listen on 127.0.0.1. With NETWORK=198.18.7 (the first three parts of an IPv4 network that nobody here
# has) each node has a network namespace and an address of its own, 198.18.7.1 to .3, so that it can be cut off as a pulled
# cable would: root only, with iproute2. This machine is 198.18.7.254 there.

fail() { echo "cluster.sh: $1" >&2; exit 1; }

# node N: checks the number.
node() { case ${1:-} in [123]) ;; *) fail "a node is 1, 2 or 3, not \"${1:-}\"" ;; esac; }

# pid N: of the node's process; fails when it does not run.
pid() {
  local number
  # The number may be another's by now, after a crash or a restart of the machine: the node's process names its folder.
  number=$(cat "$directory/$1/pid" 2>/dev/null) && [ -n "$number" ] && kill -0 "$number" 2>/dev/null &&
    grep -qsaF "$directory" "/proc/$number/cmdline" "/proc/$number/environ" && echo "$number"
}

# free COUNT: loopback ports that nobody has now.
free() {
  python3 - "$1" <<'PYTHON'
import socket, sys
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*[each.getsockname()[1] for each in sockets])
PYTHON
}

# accepting HOST PORT
accepting() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# host N: where node N listens.
host() { if [ -n "${NETWORK:-}" ]; then echo "$NETWORK.$1"; else echo 127.0.0.1; fi; }

# within N COMMAND...: runs it where node N has its network.
within() {
  local number=$1
  shift
  if [ -n "${NETWORK:-}" ]; then exec ip netns exec "$SPACE$number" "$@"; else exec "$@"; fi
}

# make_network: the namespaces and what joins them; SPACE begins their names.
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

# link N up|down: the cable of node N.
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

# end_nodes: in order, within half a minute; then hard.
end_nodes() {
  local number process
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
}
