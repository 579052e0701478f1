#!/usr/bin/env bash
# Starts and stops the virtual-hardware machine.
#   rig.sh start --port PORT --control PORT [option ...]   returns when the rig responds; prints "pid=N boot_s=S console=FILE"
#   rig.sh run   --port PORT --control PORT [option ...]   runs in the foreground until SIGTERM or SIGINT
#   rig.sh stop PID                                        stops a started rig
# --port       loopback port of the guest's iiod
# --control    loopback port of the text protocol (README.md)
# --overlay D  files to add to the guest's root, with the libraries of programs among them; may be repeated
# --create S   options for the emulated device, e.g. "bits=16 timestamp=kernel"
# --append S   additional kernel parameters
# --forward H:G  forward loopback port H to port G of the guest; may be repeated
# --watch PID  stop with this process, for example the test runner, so that no rig is left after a crash
# --lifetime S stop after S seconds in any case (default 1800)
# --image DIR  folder of build-image.sh with kernel and initramfs
# --state DIR  folder for console and errors (default: a temporary folder, removed at stop)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
boot_timeout_s=60

fail() { echo "rig.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}" >&2; exit 2; }

port='' control='' watch=0 lifetime=1800 create='' append='' state='' temporary=no
image=${XDG_CACHE_HOME:-$HOME/.cache}/odograph/sensor-rig
overlays=() forwards=()

parse() {
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || usage
        case $1 in
        --port) port=$2 ;;
        --control) control=$2 ;;
        --overlay) overlays+=("$2") ;;
        --create) create=$2 ;;
        --append) append=$2 ;;
        --forward) forwards+=("$2") ;;
        --watch) watch=$2 ;;
        --lifetime) lifetime=$2 ;;
        --image) image=$2 ;;
        --state) state=$2 ;;
        --temporary) temporary=$2 ;; # from start to run: remove the state in the end
        *) usage ;;
        esac
        shift 2
    done
    if [ -z "$port" ] || [ -z "$control" ]; then usage; fi
}

# Prints iiod's version, or nothing within 2 s. Before the guest accepts connections, QEMU accepts them and closes
# them or stays silent.
ask_iiod() {
    # shellcheck disable=SC2016
    timeout 2 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "VERSION\r\n" >&3 && IFS= read -r line <&3 && echo "$line"' \
        _ "$port" 2>/dev/null || true
}

run() {
    local qemu='' initrd overlay number=0 forward="hostfwd=tcp:127.0.0.1:$port-:30431,hostfwd=tcp:127.0.0.1:$control-:30432"
    for item in "${forwards[@]}"; do forward+=",hostfwd=tcp:127.0.0.1:${item%%:*}-:${item##*:}"; done
    "$here/build-image.sh" "$image"
    initrd=$image/initramfs.cpio
    if [ ${#overlays[@]} -gt 0 ]; then
        # The kernel unpacks archives one after the other. Each must start at a multiple of 4 bytes.
        cp "$initrd" "$state/initramfs.cpio"
        for overlay in "${overlays[@]}"; do
            number=$((number + 1))
            "$here/build-image.sh" --pack "$overlay" "$state/overlay.$number" "$image"
            cat "$state/overlay.$number" >>"$state/initramfs.cpio"
            rm "$state/overlay.$number"
        done
        initrd=$state/initramfs.cpio
    fi
    local ended=no arguments="console=ttyS0 quiet panic=1 mitigations=off $append"
    trap 'ended=yes; if [ -n "$qemu" ]; then kill "$qemu" 2>/dev/null || true; fi' TERM INT HUP
    [ -z "$create" ] || arguments+=" rig.create=$(tr ' ,' ',+' <<<"$create")"
    # pdeathsig terminates QEMU if this script is killed. One core, since the tests need the other one.
    setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg -machine pc -smp 1 -m 768 -no-user-config -nodefaults \
        -display none -no-reboot -kernel "$image/vmlinux" -initrd "$initrd" -append "$arguments" \
        -serial "file:$state/console" -nic "user,model=virtio-net-pci,$forward" </dev/null &
    qemu=$!
    local end=$((SECONDS + lifetime))
    while [ "$ended" = no ] && kill -0 "$qemu" 2>/dev/null; do
        if [ "$watch" != 0 ] && ! kill -0 "$watch" 2>/dev/null; then ended=yes; fi
        if [ "$SECONDS" -ge "$end" ]; then
            echo "rig.sh: stopped after its lifetime of $lifetime s" >&2
            ended=yes
        fi
        # In the background, so that signals are handled immediately.
        sleep 0.5 &
        wait $! || true
    done
    kill "$qemu" 2>/dev/null || true
    wait "$qemu" || true
    rm -f "$state/initramfs.cpio"
    # If the guest stops unexpectedly, its console contains the reason.
    [ "$ended" = yes ] || fail "the guest stopped unexpectedly, see $state/console"
    [ "$temporary" = no ] || rm -r "$state"
}

make_state() {
    if [ -n "$state" ]; then
        mkdir -p "$state"
    else
        state=$(mktemp -d "${TMPDIR:-/tmp}/odograph-rig.XXXXXX")
        temporary=yes
    fi
}

start() {
    local begin pid answer number
    # Another rig on these ports would respond instead of the new one.
    for number in "$port" "$control"; do
        if (exec 3<>"/dev/tcp/127.0.0.1/$number") 2>/dev/null; then fail "port $number is in use"; fi
    done
    make_state
    "$here/build-image.sh" "$image" # here, so that it does not count as booting
    begin=${EPOCHREALTIME/./}
    setsid "${BASH_SOURCE[0]}" run "$@" --state "$state" --temporary "$temporary" >"$state/errors" 2>&1 </dev/null &
    pid=$!
    while :; do
        answer=$(ask_iiod)
        if [[ $answer == 0.* ]] && "$here/rigctl.py" "$control" sync-clock 2>/dev/null; then break; fi
        if ! kill -0 "$pid" 2>/dev/null; then
            cat "$state"/* >&2 || true
            fail "the machine did not start"
        fi
        if [ $((${EPOCHREALTIME/./} - begin)) -gt $((boot_timeout_s * 1000000)) ]; then
            kill "$pid"
            cat "$state"/* >&2 || true
            fail "no response within $boot_timeout_s s"
        fi
        sleep 0.1
    done
    # QEMU has loaded the file into memory.
    rm -f "$state/initramfs.cpio"
    printf 'pid=%d boot_s=%.1f console=%s\n' "$pid" "$((${EPOCHREALTIME/./} - begin))e-6" "$state/console"
}

stop() {
    local pid=$1
    [[ $pid =~ ^[0-9]+$ ]] || usage
    # Checks that the process is a rig, since its ID may have been reused.
    { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -q 'rig\.sh run ' || return 0
    kill "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}

case ${1:-} in
start) shift; parse "$@"; start "$@" ;;
run)
    shift
    parse "$@"
    make_state
    run
    ;;
stop) [ $# -eq 2 ] || usage; stop "$2" ;;
*) usage ;;
esac
