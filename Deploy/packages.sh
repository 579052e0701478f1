# shellcheck shell=bash disable=SC2034
# Lists of required packages, and functions that install missing ones. Sourced by the other scripts.

build_packages=(pkg-config libiio-dev libgps-dev libmosquitto-dev libsqlite3-dev libexpat1-dev
  libcurl4-openssl-dev libpq-dev librabbitmq-dev libssl-dev libtomlplusplus-dev libnl-genl-3-dev libsystemd-dev zlib1g-dev)
run_packages=(libjs-leaflet mosquitto mosquitto-clients)
test_packages=(libjansson-dev openssl faketime gpsd gpsd-tools gpsd-clients python3-gps iiod libiio-utils tmux shellcheck binutils procps
  iproute2 util-linux gpsbabel postgresql-15 postgresql-15-postgis-3 python3-jsonschema python3-gpxpy python3-paho-mqtt python3-prometheus-client python3-yaml)
packaging_packages=(binutils debhelper dpkg-dev fakeroot)
# Checks of packages, units, rules and broker kit.
packaging_test_packages=(lintian mmdebstrap mosquitto nodejs openssl python3-seccomp python3-yaml systemd udev util-linux)
container_packages=(buildah docker-compose mmdebstrap openssl python3-yaml)
# Making and checking a release.
release_packages=(apt-utils arch-test buildah dpkg-dev gnupg mmdebstrap python3 skopeo xz-utils)
# A common list, since the rig's error messages name it, too.
mapfile -t rig_packages < <(grep -v '^#' "$(dirname "${BASH_SOURCE[0]}")/../Tests/SensorRig/packages.txt")
# A browser for the page of `odograph serve`, and the library for its map.
test_packages+=(chromium libjs-leaflet)
# Compiler for the type check of the page's modules.
test_packages+=(node-typescript)
# A reverse proxy for that server.
test_packages+=(nginx-light)
# Checks of the documentation.
test_packages+=(jq mandoc nodejs sqlite3)
# Readers of Parquet are installed from PyPI, since Debian has none.
test_packages+=(python3-venv)
# A private D-Bus, and a fake ModemManager on it.
test_packages+=(dbus python3-dbus python3-gi)
# Qt's reader of NMEA 0183.
test_packages+=(python3-pyqt5.qtpositioning)
# GeoClue with its demonstration client, on a private D-Bus.
test_packages+=(geoclue-2.0 geoclue-2-demo libglib2.0-bin)
# Programs that show the position in a window, with --full.
window_packages=(foxtrotgps imagemagick xvfb)
# Starts programs on region events.
test_packages+=(systemd)
# A client of the sensor proxy.
test_packages+=(iio-sensor-proxy)
# Brokers for clusters of three nodes. If root runs the tests, each node has a network namespace.
cluster_packages=(iproute2 nats-server openssl rabbitmq-server)
test_packages+=("${cluster_packages[@]}")
# Shells for the tests of completions.
test_packages+=(zsh fish)

# install_packages PACKAGE...: prints nothing if all are installed. Scripts therefore run without root on a prepared
# machine.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
    command -v sudo >/dev/null || {
      echo "missing packages: ${missing[*]}; install them as root with: apt-get install ${missing[*]}" >&2
      return 1
    }
  fi
  echo "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  # No service may start, since the tests and the demonstration run their own daemons.
  local policy=/usr/sbin/policy-rc.d made_policy=
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    "${as_root[@]}" chmod +x "$policy"
    made_policy=yes
  fi
  local status=0
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    >/dev/null || status=$?
  if [ -n "$made_policy" ]; then "${as_root[@]}" rm -f "$policy"; fi
  return $status
}

# install_python FOLDER REQUIREMENTS: installs packages from PyPI into a folder of .build, unless installed. If PyPI
# is unreachable, tests that require them are skipped with a message.
install_python() {
  local folder=.build/$1 requirements=$2
  if cmp -s "$requirements" "$folder/installed.txt"; then return 0; fi
  echo "installing $requirements into $folder"
  if /usr/bin/python3 -m venv "$folder" && "$folder/bin/pip" install -q --disable-pip-version-check -r "$requirements"; then
    cp "$requirements" "$folder/installed.txt"
  else
    echo "skipped: $requirements could not be installed from PyPI"
  fi
}

# free_port: prints an unused loopback port.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# wait_for_port PORT: waits up to 10 s until a program listens on that port.
wait_for_port() {
  for _ in $(seq 100); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
    sleep 0.1
  done
  echo "no program listens on 127.0.0.1:$1 after 10 s" >&2
  return 1
}
