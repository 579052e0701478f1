#!/usr/bin/env bash
# Checks units and udev rules without a running systemd or udev: the exposure of each unit (at most 1.5 and 2.1), its
# syntax, the back-off of restarts, and the permissions of an IIO device after applying the rules.
#
# usage: Deploy/unit-check.sh
# Prints the exposure. The rules are tested only as root, with a fake /sys in a mount namespace.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
install_packages nodejs python3-seccomp systemd udev util-linux >&2

# The agent's exposure includes 0.2 for PrivateUsers=no, which is needed to distinguish the users of its sockets, and
# 0.4 for the calls that read the clock's synchronization and give a socket to another group of the user. Without
# capabilities, neither can do more.
limit=1.5 agent_limit=2.1
unit=Deploy/systemd/odographd.service
services=(Deploy/systemd/odograph-{serve,record}.service)
fail() { echo "unit: $1" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

systemd-analyze security --offline=true --no-pager "$unit" >"$work/security"
exposure=$(sed -nE 's/.*Overall exposure level for [^:]*: ([0-9.]+) .*/\1/p' "$work/security")
echo "exposure,$exposure"
awk -v exposure="$exposure" -v limit="$agent_limit" 'BEGIN { exit !(exposure != "" && exposure <= limit) }' || {
  grep '✗' "$work/security" >&2
  fail "the exposure is above $agent_limit"
}

for service in "${services[@]}"; do
  systemd-analyze security --offline=true --no-pager "$service" >"$work/security"
  exposure=$(sed -nE 's/.*Overall exposure level for [^:]*: ([0-9.]+) .*/\1/p' "$work/security")
  name=$(basename "$service" .service)
  echo "${name#odograph-}-exposure,$exposure"
  awk -v exposure="$exposure" -v limit="$limit" 'BEGIN { exit !(exposure != "" && exposure <= limit) }' || {
    grep '✗' "$work/security" >&2
    fail "the exposure of $name is above $limit"
  }
  # A stop is not a failure, and invalid arguments cause no restarts.
  for line in SuccessExitStatus=143 RestartPreventExitStatus=64; do
    grep -qx "$line" "$service" || fail "$name lacks $line"
  done
done

# Placeholders for the programs of the units, which the package contains.
mkdir -p "$work/root"/{usr/bin,usr/lib/odographd,etc/systemd/system,bin}
for program in usr/bin/odographd usr/bin/odograph usr/bin/install usr/lib/odographd/back-off bin/kill; do
  printf '#!/bin/sh\n' >"$work/root/$program"
  chmod +x "$work/root/$program"
done
cp "$unit" "${services[@]}" "$work/root/etc/systemd/system"
for target in sysinit basic shutdown multi-user network-online; do
  printf '[Unit]\nDescription=%s\n' "$target" >"$work/root/etc/systemd/system/$target.target"
done
systemd-analyze verify --man=no --recursive-errors=no --root="$work/root" odographd.service odograph-{serve,record}.service >"$work/verify" 2>&1 ||
  { cat "$work/verify" >&2; fail "systemd-analyze verify fails"; }
if [ -s "$work/verify" ]; then cat "$work/verify" >&2; fail "systemd-analyze verify has remarks"; fi
echo "ok  systemd-analyze verify has no remarks"

# Users of the local sockets are distinguished only without a user namespace.
grep -qx PrivateUsers=no Deploy/systemd/odographd.service || fail "the rules of [gpsd_server] access require PrivateUsers=no"

# Calls that features of the agent need must be allowed by the unit's filter, and others forbidden.
# Debian's own Python has its seccomp package.
/usr/bin/python3 -B - "$unit" "$work/socket" <<'PYTHON' || fail "the system call filter does not meet the agent's needs"
import ctypes, os, sys
sys.path.insert(0, "Deploy")
import confine
open(sys.argv[2], "w").close()
confine.call("prctl", confine.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
confine.seccomp_filter(confine.Unit(sys.argv[1])).load()
if confine.libc.adjtimex(ctypes.create_string_buffer(512)) < 0:
    sys.exit("adjtimex is forbidden: the clock would never count as synchronized")
os.chown(sys.argv[2], -1, os.getgid())
if confine.libc.settimeofday(ctypes.create_string_buffer(16), None) == 0:
    sys.exit("settimeofday is permitted")
PYTHON
echo "ok  the filter permits reading the clock's state and changing a socket's group"

# The drop-in of radio.wifi grants one capability and nothing else.
cp -r "$work/root" "$work/radio"
mkdir "$work/radio/etc/systemd/system/odographd.service.d"
cp Deploy/systemd/radio.conf "$work/radio/etc/systemd/system/odographd.service.d"
systemd-analyze verify --man=no --recursive-errors=no --root="$work/radio" odographd.service >"$work/verify" 2>&1 ||
  { cat "$work/verify" >&2; fail "systemd-analyze verify fails with radio.conf"; }
if [ -s "$work/verify" ]; then cat "$work/verify" >&2; fail "systemd-analyze verify has remarks on radio.conf"; fi
# exposed ROOT: lists the causes of the unit's exposure.
exposed() {
  systemd-analyze security --offline=true --no-pager --root="$work/$1" odographd.service | awk '$1 == "✗" { print $2 }' | sort
}
more=$(comm -13 <(exposed root) <(exposed radio) | tr '\n' ' ')
[ "$more" = "AmbientCapabilities= CapabilityBoundingSet=~CAP_NET_ADMIN " ] || fail "radio.conf exposes $more"
echo "ok  radio.conf grants CAP_NET_ADMIN and nothing else"

# The rules for ModemManager grant one action each to the agent's user. The package installs them in a folder without
# effect.
for rules in modem:Location cells:Device.Control; do
  node - "Deploy/modem/${rules%%:*}.rules" "org.freedesktop.ModemManager1.${rules#*:}" <<'END' || fail "${rules%%:*}.rules grants another permission"
const [file, wanted] = process.argv.slice(2);
const rules = [];
const polkit = { Result: { YES: "yes" }, addRule: (rule) => rules.push(rule) };
new Function("polkit", require("fs").readFileSync(file, "utf8"))(polkit);
const manager = "org.freedesktop.ModemManager1";
const actions = ["Location", "Device.Control", "Contacts", "Messaging", "Voice", "Firmware", "Control", "Time", "USSD"].map((name) => `${manager}.${name}`);
const given = ["odographd", "root", "nobody"].flatMap((user) => actions.concat("org.freedesktop.login1.reboot").filter(
  (id) => rules.some((rule) => rule({ id }, { user }) === "yes")).map((id) => `${user} ${id}`));
process.exit(given.length === 1 && given[0] === `odographd ${wanted}` ? 0 : 1);
END
done
if grep -E 'polkit-1|dbus-1' Deploy/debian/odographd.*; then fail "the package installs polkit or D-Bus rules"; fi
echo "ok  the rules for ModemManager grant one action each to one user, and are not active by default"

# Delays before the first, second ... start, as passed to a fake sleep.
mkdir "$work/bin"
# shellcheck disable=SC2016 # the script's own
printf '#!/bin/sh\necho "$1" >>"%s"\n' "$work/waits" >"$work/bin/sleep"
chmod +x "$work/bin/sleep"
back_off() { PATH=$work/bin:$PATH Deploy/systemd/back-off "$work/failures" "$@" >/dev/null; }
for _ in 1 2 3 4 5 6 7 8 9; do
  back_off
  SERVICE_RESULT=watchdog back_off ended
done
waits=$(tr '\n' ' ' <"$work/waits")
[ "$waits" = "2 4 8 16 32 64 120 120 " ] || fail "the waits between starts are $waits"
touch -d '-11 minutes' "$work/failures"
back_off
[ "$(wc -l <"$work/waits")" -eq 8 ] || fail "a start after 10 min without a failure is delayed"
echo nonsense >"$work/failures"
back_off
[ "$(wc -l <"$work/waits")" -eq 8 ] || fail "a damaged count delays the start"
SERVICE_RESULT=exit-code back_off ended
[ "$(cat "$work/failures")" = 1 ] || fail "a failure after a damaged count is not counted as the first"
SERVICE_RESULT=success back_off ended
back_off
[ "$(wc -l <"$work/waits")" -eq 8 ] || fail "a restart by an operator is delayed"
rm -f "$work/failures"
mkdir "$work/failures"
SERVICE_RESULT=signal back_off ended || fail "a file that cannot be written prevents the start"
rmdir "$work/failures"
echo "ok  starts after failures are delayed by 2, 4, 8, 16, 32, 64, 120, 120 s; 10 min without a failure, or a stop, reset the delay"

if [ "$(id -u)" -ne 0 ] || ! unshare --mount true 2>/dev/null; then
  echo "skipped: the test of the udev rules requires root and mount namespaces"
  exit 0
fi

# A fake /sys with a chip and a timer trigger, in a mount namespace. `udevadm test` applies the rules to it.
device=$work/sys/devices/platform/i2c-1/iio:device7 trigger=$work/sys/devices/iio_sysfs_trigger/trigger3
mkdir -p "$device"/{buffer,scan_elements,trigger,events,power} "$trigger" "$work/sys/bus/iio/devices"
for file in name in_accel_x_raw in_accel_scale in_accel_scale_available in_accel_sampling_frequency sampling_frequency_available \
  current_timestamp_clock in_anglvel_scale \
  in_accel_x_calibbias buffer/enable buffer/length buffer/watermark scan_elements/in_accel_x_en \
  trigger/current_trigger events/in_accel_mag_rising_en power/control; do
  echo 0 >"$device/$file"
done
chmod 0644 "$device"/*[!r] "$device"/*/* 2>/dev/null || true
chmod 0444 "$device"/{name,in_accel_x_raw,in_accel_scale_available,sampling_frequency_available}
echo 100 >"$trigger/sampling_frequency"
echo 0 >"$trigger/name"
printf 'MAJOR=249\nMINOR=7\nDEVNAME=iio:device7\nDEVTYPE=iio_device\n' >"$device/uevent"
printf 'DEVTYPE=iio_trigger\n' >"$trigger/uevent"
for folder in "$device" "$trigger"; do
  ln -s "$(realpath --relative-to="$folder" "$work/sys/bus/iio")" "$folder/subsystem"
  ln -s "$(realpath --relative-to="$work/sys/bus/iio/devices" "$folder")" "$work/sys/bus/iio/devices/$(basename "$folder")"
done
mkdir "$work/rules"
cp Deploy/udev/60-odograph.rules "$work/rules"
cp /etc/group "$work/group"
grep -q '^odographd:' "$work/group" || echo 'odographd:x:64999:' >>"$work/group"
number=$(awk -F : '$1 == "odographd" { print $3 }' "$work/group")

# shellcheck disable=SC2016 # the inner shell's own
unshare --mount bash -euc '
  mount --bind "$1/group" /etc/group
  mount -t tmpfs tmpfs /run
  # Only the rules of this project.
  for folder in /etc/udev/rules.d /lib/udev/rules.d; do
    if [ -d "$folder" ]; then mount --bind "$1/rules" "$folder"; fi
  done
  # udevadm creates links to device nodes nevertheless.
  mount -t tmpfs tmpfs /dev
  mknod -m 0666 /dev/null c 1 3
  mount --bind "$1/sys" /sys
  export SYSTEMD_DEVICE_VERIFY_SYSFS=0 SYSTEMD_LOG_LEVEL=debug
  for action in add change remove; do
    for device in /sys/bus/iio/devices/*; do
      udevadm test --action="$action" "$(readlink -f "$device")" || [ "$action" = remove ]
    done
  done
' bash "$work" >"$work/udev" 2>&1 || { tail -n 30 "$work/udev" >&2; fail "udevadm test fails"; }
if grep -iE 'rules:[0-9]+.*(invalid|unknown|ignoring|failed)' "$work/udev" >&2; then fail "udev has remarks on the rules"; fi
# told TEXT TIMES: expects a number of lines with a text in udev's output.
told() { [ "$(grep -c "$1" "$work/udev")" -eq "$2" ] || { grep rules: "$work/udev" >&2; fail "udev does not print \"$1\" $2 times"; }; }
told "iio:device7: .*GROUP $number" 2
told 'iio:device7: .*MODE 0660' 2
told "^run: '/usr/lib/odographd/iio-access /sys/devices/platform/i2c-1/iio:device7'" 2
told "^run: '/usr/lib/odographd/iio-access /sys/devices/iio_sysfs_trigger/trigger3'" 2
echo "ok  at add and change, udev gives the device node to the group, and runs iio-access for the files in /sys"

# The group nogroup, which every Debian has, instead of the agent's.
for folder in "$device" "$trigger"; do Deploy/udev/iio-access "$folder" nogroup; done
given=$(cd "$work/sys" && find devices -type f -group nogroup -perm -g=w -printf '%f\n' | sort | tr '\n' ' ')
[ "$given" = "current_timestamp_clock current_trigger enable in_accel_sampling_frequency in_accel_scale in_accel_x_en length sampling_frequency watermark " ] ||
  fail "the files that the group may write are: $given"
[ -z "$(find "$work/sys" -group nogroup -not -perm -g=w)" ] || fail "more files were given than needed"
echo "ok  the group may write: $given"
