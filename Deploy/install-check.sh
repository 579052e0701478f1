#!/usr/bin/env bash
# Installs the packages into a fresh Debian 12 with apt, upgrades them with an unchanged configuration, follows
# README.md to a first vehicle, sets up broker and vehicle as described in Config/mosquitto/README.md, runs the agent
# as its system user, also under the restrictions of its unit, shows the vehicle over mutual TLS, upgrades again, and
# purges.
# All of it happens in a temporary folder and in namespaces. It leaves no files and uses no port of this machine.
#
# usage: Deploy/install-check.sh [--packages DIR]
#   --packages  use the packages of DIR instead of building them
# Requires root (for chroot and namespaces) and a Debian mirror.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
# shellcheck source=Deploy/newcomer.sh
. Deploy/newcomer.sh

fail() { echo "installation: $1" >&2; exit 1; }
passed() { printf 'ok  %-76s %4s s\n' "$1" "$SECONDS"; }

# --- Inside the namespaces: this script, called again with the root folder in the environment ---------------------

# in_root COMMAND...
in_root() { chroot "$root" "$@"; }

watch_once() {
  in_root odograph watch --once --broker mqtts://localhost --ca /etc/mosquitto/certs/ca.crt \
    --cert /root/authority/clients/dashboard.crt --key /root/authority/clients/dashboard.key
}

# is STATE: true if the fleet's side sees the vehicle in this state over mutual TLS.
is() { watch_once 2>"$root/tmp/watch" | grep -E "van-1 +[^ ]+ $1" >"$root/tmp/seen"; }

vehicle_runs() { # HOW COMMAND...: starts the agent, expects it online and, after SIGTERM, offline
  local how=$1
  shift
  "$@" >"$root/tmp/odographd" 2>&1 &
  local agent=$!
  local end=$((SECONDS + 60))
  until is online; do
    if [ "$SECONDS" -gt "$end" ] || ! kill -0 "$agent" 2>/dev/null; then
      cat "$root/tmp/odographd" "$root/tmp/watch" >&2
      fail "the vehicle does not come online, $how"
    fi
    sleep 0.2
  done
  cat "$root/tmp/seen"
  local ran
  ran=$(awk '/^Uid:/ { print $2 }' "/proc/$agent/status")
  [ "$ran" = "$(in_root id -u odographd)" ] || fail "the agent runs as user $ran, $how"
  in_root odographd status >"$root/tmp/status" 2>&1 || { cat "$root/tmp/status" >&2; fail "odographd status fails, $how"; }
  if [ "$how" = restricted ]; then
    grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' "/proc/$agent/status" | paste -sd ' ' | tr -s '\t' ' '
    grep -qE '^CapBnd:\s0+$' "/proc/$agent/status" || fail "the agent has capabilities"
    grep -qE '^Seccomp:\s2$' "/proc/$agent/status" || fail "the agent has no system call filter"
  fi
  kill "$agent"
  local status=0
  wait "$agent" || status=$?
  [ "$status" -eq 0 ] || { cat "$root/tmp/odographd" >&2; fail "the agent exits with status $status, $how"; }
  is offline || fail "the vehicle does not go offline, $how"
}

# upgrade VERSION OPTION...: upgrades without interaction.
upgrade() {
  local version=$1
  shift
  in_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" "/root/$version/odographd.deb" "/root/$version/odograph.deb" \
    </dev/null >"$root/tmp/apt" 2>&1 || { cat "$root/tmp/apt" >&2; fail "the upgrade to $version fails"; }
  # shellcheck disable=SC2016 # dpkg's own
  [[ $(in_root dpkg-query -W -f '${Version}' odographd) = *+$version ]] || fail "the upgrade to $version is not installed"
}

# beside: lists the files that dpkg has put beside the configuration.
beside() { find "$root/etc/odographd" -name 'odograph.toml.*' -printf '%f\n'; }

untouched_upgrade() {
  local configuration=$root/etc/odographd/odograph.toml
  upgrade upgrade1
  grep -q 'upgrade1 brings' "$configuration" || fail "an upgrade does not update an unchanged configuration"
  [ -z "$(beside)" ] || fail "an upgrade of an unchanged configuration leaves $(beside)"
  passed "an upgrade replaces an unchanged configuration without a question"
}

first_vehicle() {
  local line commands=0
  in_root install -d -o mosquitto /run/mosquitto
  chroot "$root" mosquitto -c /etc/mosquitto/mosquitto.conf >"$root/tmp/mosquitto" 2>&1 &
  local broker=$!
  # A receiver that is plugged in.
  chroot "$root" gpsd -n -N udp://127.0.0.1:5947 >"$root/tmp/gpsd" 2>&1 &
  local gpsd=$! agent=
  receiver 5947 &
  local receiver=$!
  if ! wait_for_port 1883 || ! wait_for_port 2947; then fail "mosquitto or gpsd of the packages does not start"; fi
  local started=$SECONDS
  while read -r line; do
    case $line in
      'systemctl enable --now odographd')
        # Runs the command of the unit under its restrictions, since no systemd runs here.
        Deploy/confine.py "$root/lib/systemd/system/odographd.service" "$root" \
          /usr/bin/odographd run --config /etc/odographd/odograph.toml >"$root/tmp/odographd" 2>&1 &
        agent=$!
        ;;
      'odograph watch')
        until in_root odograph watch --once >"$root/tmp/watch" 2>&1 && shows_location "$root/tmp/watch" >"$root/tmp/seen"; do
          [ $((SECONDS - started)) -le 90 ] || { cat "$root"/tmp/{odographd,watch,gpsd} >&2; fail "no location in odograph watch"; }
          sleep 0.5
        done
        ;;
      *) in_root bash -c "$line" >"$root/tmp/said" 2>&1 </dev/null || { cat "$root/tmp/said" >&2; fail "$line: status $?"; } ;;
    esac
    commands=$((commands + 1))
    printf '  %4s s  %s\n' $((SECONDS - started)) "$line"
  done < <(readme_commands first-vehicle)
  cat "$root/tmp/seen"
  [ "$commands" -gt 2 ] || fail "README.md has no block first-vehicle"
  [ "$commands" -le 5 ] || fail "$commands commands to the first location, at most 5 are permitted"
  local took=$((SECONDS - started))
  kill "$agent" "$broker" "$gpsd" "$receiver"
  wait "$agent" "$broker" "$gpsd" "$receiver" || true
  passed "from init to the first location in odograph watch: $commands commands, $took s"
}

inside() {
  ip link set lo up
  mount -t proc proc "$root/proc"
  mount -t tmpfs tmpfs "$root/run"
  # Replaces RuntimeDirectory= of systemd.
  in_root install -d -o odographd -g odographd -m 0750 /run/odographd

  in_root odographd --version
  in_root odograph --version
  in_root odographd run --print --config /usr/share/doc/odographd/examples/drive/odograph.toml >"$root/tmp/example" 2>"$root/tmp/said" ||
    { cat "$root/tmp/said" >&2; fail "the replay of the example fails"; }
  grep -q '/location"' "$root/tmp/example" || fail "the example publishes no location"
  if grep -rnE 'Config/|\.\./' "$root/usr/share/doc/odographd/examples" >&2; then fail "an example refers to a file of the source"; fi
  passed "the installed example is replayed: $(wc -l <"$root/tmp/example") messages"
  untouched_upgrade
  first_vehicle

  # Config/mosquitto/README.md
  local kit=/usr/share/odograph/mosquitto authority=/root/authority
  local certificates=(in_root bash "$kit/certificates.sh" --directory "$authority")
  "${certificates[@]}" authority "Acme fleet" >/dev/null
  "${certificates[@]}" broker localhost >/dev/null
  "${certificates[@]}" member dashboard >/dev/null
  "${certificates[@]}" vehicle acme van-1 >/dev/null
  in_root cp "$kit/odograph.conf" /etc/mosquitto/mosquitto.conf
  in_root cp "$kit/odograph.acl" /etc/mosquitto/
  in_root install -m 0644 "$authority"/{ca.crt,broker.crt,revoked.pem} /etc/mosquitto/certs/
  in_root install -m 0640 -g mosquitto "$authority/broker.key" /etc/mosquitto/certs/
  chroot "$root" mosquitto -c /etc/mosquitto/mosquitto.conf >"$root/tmp/mosquitto" 2>&1 &
  broker=$!
  wait_for_port 8883 || { cat "$root/tmp/mosquitto" >&2; fail "the broker does not start"; }
  [ "$(stat -c %U "/proc/$broker")" != root ] || fail "the broker runs as root"

  in_root cp "$authority/ca.crt" /etc/odographd/
  in_root cp "$authority/clients/acme/van-1.crt" "$authority/clients/acme/van-1.key" /etc/odographd/credentials/
  # Replaces LoadCredential= of systemd.
  in_root install -d -o odographd -m 0500 /run/credentials/odographd.service
  for file in van-1.crt van-1.key; do
    in_root install -o odographd -m 0400 "/etc/odographd/credentials/$file" "/run/credentials/odographd.service/mqtt_$file"
  done
  cat >"$root/etc/odographd/odograph.toml" <<'TOML'
[vehicle]
fleet = "acme"
id = "van-1"

[mqtt]
broker = "mqtts://localhost"
ca_file = "/etc/odographd/ca.crt"
certificate_file = "/run/credentials/odographd.service/mqtt_van-1.crt"
key_file = "/run/credentials/odographd.service/mqtt_van-1.key"

[input]
mode = "replay"

[replay]
position = "/etc/odographd/drive.nmea"
date = "2026-11-21"
TOML
  drive >"$root/etc/odographd/drive.nmea"

  local agent=(/usr/bin/odographd run --config /etc/odographd/odograph.toml)
  vehicle_runs "as its user" chroot --userspec=odographd:odographd "$root" "${agent[@]}"
  passed "the agent runs as its user; odograph watch --once sees it over mutual TLS"
  vehicle_runs restricted Deploy/confine.py "$root/lib/systemd/system/odographd.service" "$root" "${agent[@]}"
  passed "also under the unit's restrictions: read-only root, no capabilities, seccomp"

  local refused
  refused=$(in_root odograph watch --once --broker mqtts://localhost --ca /etc/mosquitto/certs/ca.crt 2>&1) &&
    fail "a client without a certificate sees the fleet: $refused"
  passed "a client without a certificate is refused"

  # The agent stores messages while the broker is stopped.
  kill "$broker"
  wait "$broker" || true
  timeout -s TERM 5 chroot --userspec=odographd:odographd "$root" "${agent[@]}" >"$root/tmp/odographd" 2>&1 || true
  local before
  before=$(kept)
  upgrade upgrade2
  [ "$(kept)" = "$before" ] || fail "the upgrade changes files that it must preserve: $(diff <(echo "$before") <(kept) || true)"
  [ -z "$(beside)" ] || fail "an upgrade with the same default leaves $(beside)"
  passed "an upgrade with the same default preserves a changed configuration"
  upgrade upgrade3 -o Dpkg::Options::=--force-confold
  [ "$(kept)" = "$before" ] || fail "the upgrade changes files that it must preserve: $(diff <(echo "$before") <(kept) || true)"
  [ "$(beside)" = odograph.toml.dpkg-dist ] || fail "the new default is not put beside the changed configuration"
  chroot "$root" mosquitto -c /etc/mosquitto/mosquitto.conf >"$root/tmp/mosquitto" 2>&1 &
  broker=$!
  wait_for_port 8883
  vehicle_runs "after the upgrade" chroot --userspec=odographd:odographd "$root" "${agent[@]}"
  passed "the upgrade preserves store, keys and changed configuration"
  kill "$broker"
  wait "$broker" || true

  local user files
  user=$(in_root id -u odographd)
  files=$(in_root dpkg -L odographd odograph | sort -u)
  in_root apt-get remove -y -qq odographd >"$root/tmp/apt" 2>&1 || { cat "$root/tmp/apt" >&2; fail "the removal fails"; }
  [ "$(kept)" = "$before" ] || [ -f "$root/var/lib/odographd/outbox.sqlite" ] || fail "removing the package deletes the store"
  in_root apt-get purge -y -qq odographd odograph >"$root/tmp/apt" 2>&1 || { cat "$root/tmp/apt" >&2; fail "the purge fails"; }
  if in_root getent passwd odographd || in_root getent group odographd; then fail "the purge leaves the user"; fi
  local left
  left=$(find "$root" -xdev \( -path "$root/root" -o -path "$root/proc" -o -path "$root/tmp" \) -prune -o \
    \( -iname '*odograph*' -o -uid "$user" \) -not -path "$root/etc/mosquitto/*" -print)
  [ -z "$left" ] || fail "the purge leaves: $left"
  while read -r file; do
    case $file in *odograph*) [ ! -e "$root$file" ] || fail "the purge leaves $file" ;; esac
  done <<<"$files"
  passed "the purge leaves no file and no user"
}

# kept: prints checksums of the files that an upgrade must preserve.
kept() {
  in_root sh -c 'cd / && find var/lib/odographd etc/odographd -type f ! -name "*.dpkg-dist" -exec sha256sum {} + | sort -k 2'
}

# drive: prints ten minutes of NMEA along a circle.
drive() {
  python3 - <<'PYTHON'
import functools, math, operator

def sentence(body):
    print(f"${body}*{functools.reduce(operator.xor, body.encode()):02X}", end="\r\n")

def angle(value, width, hemispheres):
    degrees = int(abs(value))
    return f"{degrees:0{width}d}{(abs(value) - degrees) * 60:08.5f},{hemispheres[value < 0]}"

for second in range(600):
    turn = 2 * math.pi * second / 600
    north, east = 48.1371 + 0.01 * math.cos(turn), 11.5754 + 0.015 * math.sin(turn)
    time, course = f"08{second // 60:02d}{second % 60:02d}.00", (math.degrees(turn) + 90) % 360
    place = f"{angle(north, 2, 'NS')},{angle(east, 3, 'EW')}"
    sentence(f"GPRMC,{time},A,{place},22.6,{course:.1f},211126,,,A")
    sentence(f"GPGGA,{time},{place},1,09,0.9,520.0,M,47.0,M,,")
PYTHON
}

if [ -n "${ODOGRAPH_INSTALL_ROOT:-}" ]; then
  root=$ODOGRAPH_INSTALL_ROOT
  SECONDS=$ODOGRAPH_INSTALL_SECONDS
  inside
  exit 0
fi

# --- Outside ---------------------------------------------------------------------------------------------------

packages=
case "${1:-}" in
  --packages) packages=${2:?--packages needs a folder} ;;
  '') ;;
  *) echo "usage: Deploy/install-check.sh [--packages DIR]" >&2; exit 64 ;;
esac
[ "$(id -u)" -eq 0 ] || fail "needs root for chroot and namespaces; run it with sudo"
install_packages "${packaging_test_packages[@]}" >&2

work=$(mktemp -d)
inner=
# shellcheck disable=SC2317 # reached through the trap
finish() {
  trap - EXIT INT TERM
  if [ -n "$inner" ]; then
    kill -KILL "$inner" 2>/dev/null || true
    wait "$inner" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
root=$work/root
if [ -z "$packages" ]; then
  packages=$work/packages
  Deploy/package.sh --output "$packages" >/dev/null
  passed "the packages are built"
fi

lintian --fail-on error,warning --allow-root --tag-display-limit 0 "$packages"/*.deb || fail "lintian reports faults"
passed "lintian has no errors and no warnings"

mmdebstrap --quiet --variant=minbase bookworm "$root" >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; fail "cannot create a Debian 12; check that a Debian mirror is reachable"; }
passed "a fresh Debian 12"

# revision PRODUCT VERSION SOURCE: rebuilds a package with a higher version, and another default in upgrade1 and
# upgrade3.
revision() {
  local product=$1 version=$2 source=$3
  dpkg-deb -R "$source" "$work/next"
  sed -i "s/^Version: .*/&+$version/" "$work/next/DEBIAN/control"
  if [ "$version" != upgrade2 ] && [ -f "$work/next/etc/odographd/odograph.toml" ]; then
    echo "# A line that $version brings." >>"$work/next/etc/odographd/odograph.toml"
  fi
  mkdir -p "$root/root/$version"
  dpkg-deb --root-owner-group -Znone -b "$work/next" "$root/root/$version/$product.deb" >/dev/null
  rm -r "$work/next"
}

mkdir -p "$root/root/packages"
for product in odographd odograph; do
  file=$(find "$packages" -name "${product}_*_$(dpkg --print-architecture).deb" | sort -V | tail -n 1)
  [ -n "$file" ] || fail "no package of $product in $packages"
  cp "$file" "$root/root/packages/$product.deb"
  revision "$product" upgrade1 "$file"
  revision "$product" upgrade2 "$root/root/upgrade1/$product.deb"
  revision "$product" upgrade3 "$root/root/upgrade2/$product.deb"
done

echo "127.0.0.1 localhost" >"$root/etc/hosts"
# No daemon starts automatically in the root.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" env DEBIAN_FRONTEND=noninteractive \
  sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends mosquitto gpsd openssl \
    /root/packages/odographd.deb /root/packages/odograph.deb' >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; fail "apt does not install the packages"; }
passed "apt installs both packages and a broker"

ODOGRAPH_INSTALL_ROOT=$root ODOGRAPH_INSTALL_SECONDS=$SECONDS \
  unshare --mount --net --pid --fork --kill-child --mount-proc "$PWD/Deploy/install-check.sh" &
inner=$!
wait "$inner"
inner=
