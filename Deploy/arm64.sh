#!/usr/bin/env bash
# Builds the Debian 12 packages for arm64 on an amd64 machine, runs the programs under emulation, and prints the paths.
#
# usage: Deploy/arm64.sh [--work DIR] [--output DIR]
#   --work     folder for roots and build, about 8 GB, reused by the next run (default: .build-arm64)
#   --output   folder for the packages (default: .build-packages-arm64)
# Requires root (for chroot and mounts) and a Debian mirror.
#
# Swift is Debian's: the compiler of sid in a root of this machine's architecture. The runtime of the same version for arm64 forms
# a Swift SDK together with the libraries of an arm64 Debian 12. No arm64 program runs before the last check.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

work=.build-arm64 output=.build-packages-arm64
while [ $# -gt 0 ]; do
  case $1 in
    --work) work=${2:?--work needs a folder} ;;
    --output) output=${2:?--output needs a folder} ;;
    *) echo "usage: Deploy/arm64.sh [--work DIR] [--output DIR]" >&2; exit 64 ;;
  esac
  shift 2
done
fail() { echo "arm64: $1" >&2; exit 1; }
step() { printf '== %s (%s s)\n' "$1" "$SECONDS" >&2; }
[ "$(id -u)" -eq 0 ] || fail "needs root for chroot and mounts; run it with sudo"
install_packages mmdebstrap qemu-user-static util-linux "${packaging_packages[@]}" >&2
mkdir -p "$work"
work=$(realpath "$work")
host=$work/host packing=$work/packing sdk=$work/host/sdk/debian12-arm64.artifactbundle
sysroot=$sdk/sysroot

# root DIR OPTION...: creates a Debian root unless it exists. The index of a mirror may be older than sid permits.
root() {
  local folder=$1
  shift
  if [ -e "$folder.made" ]; then return; fi
  rm -rf --one-file-system "$folder"
  mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "cannot create the root $folder"; }
  touch "$folder.made"
}

step "compiler of Debian sid"
root "$host" --variant=minbase \
  --include=swiftlang,git,ca-certificates,pkg-config,libc6-dev,libstdc++-14-dev,binutils-aarch64-linux-gnu,libcurl4t64 \
  sid "$host" http://deb.debian.org/debian
step "runtime for arm64, same version"
root "$work/runtime" --variant=extract --architectures=arm64 --include=swiftlang,libswiftlang sid "$work/runtime" \
  http://deb.debian.org/debian
step "libraries of Debian 12 for arm64"
mkdir -p "$sdk/swift"
root "$sysroot" --variant=extract --architectures=arm64 \
  --include="$(IFS=,; echo "libc6-dev,libstdc++-12-dev,${build_packages[*]:1}")" bookworm "$sysroot"
# Absolute links in the root become relative, so that they stay within the root.
find "$sysroot/usr/lib" -type l -lname '/*' | while read -r link; do
  ln -sfn --relative "$sysroot$(readlink "$link")" "$link"
done
step "root for packaging for arm64"
root "$packing" --variant=buildd --architectures=amd64,arm64 \
  --include="debhelper,crossbuild-essential-arm64,libc6:arm64,libstdc++6:arm64,libiio0:arm64,libgps28:arm64,libmosquitto1:arm64,\
libsqlite3-0:arm64,libexpat1:arm64,libcrypt1:arm64,libcurl4:arm64,libpq5:arm64,librabbitmq4:arm64,libssl3:arm64,libnl-genl-3-200:arm64,libsystemd0:arm64" bookworm "$packing"

if [ ! -e "$sdk/info.json" ]; then
  mkdir -p "$sdk/swift/lib"
  mv "$work/runtime/usr/libexec/swift/lib"/{swift,swift_static,clang} "$sdk/swift/lib"
  # The compiler driver looks for these libraries below the sysroot.
  for folder in swift swift_static clang; do ln -sfn "../../../swift/lib/$folder" "$sysroot/usr/lib/$folder"; done
  cat >"$sdk/swift-sdk.json" <<'JSON'
{"schemaVersion": "4.0", "targetTriples": {"aarch64-unknown-linux-gnu": {"sdkRootPath": "sysroot",
  "swiftResourcesPath": "swift/lib/swift", "swiftStaticResourcesPath": "swift/lib/swift_static"}}}
JSON
  cat >"$sdk/info.json" <<'JSON'
{"schemaVersion": "1.0", "artifacts": {"debian12-arm64": {"type": "swiftSDK", "version": "1", "variants": [{"path": "."}]}}}
JSON
fi

step "programs"
ODOGRAPH_COMMIT=$(git rev-parse --short=8 HEAD 2>/dev/null || true)
ODOGRAPH_BUILD_DATE=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)
export ODOGRAPH_COMMIT ODOGRAPH_BUILD_DATE
# The host's git settings for addresses of packages apply in the root, too. Local mirrors are mounted.
git config --list --includes | sed -n 's/^\(url\.[^=]*\)=\(.*\)/\1 \2/p' >"$work/urls"
# shellcheck disable=SC2016 # the inner shells' own
unshare --mount bash -euc '
  host=$1
  mkdir -p "$host/src" "$host/build"
  mount --bind . "$host/src"
  mount -t proc proc "$host/proc"
  mount --bind /dev "$host/dev"
  mount -t tmpfs tmpfs "$host/tmp"
  rm -f "$host/root/.gitconfig"
  while read -r key value; do
    HOME=$host/root git config --global --add "$key" "$value"
    folder=${key#url.} folder=${folder%.insteadof}
    if [ -d "$folder" ]; then mkdir -p "$host$folder" && mount --bind "$folder" "$host$folder"; fi
  done <"$2"
  HOME=$host/root git config --global --add safe.directory "*"
  TMPDIR=/tmp HOME=/root chroot "$host" bash /src/Deploy/arm64-build.sh
' bash "$host" "$work/urls"

step "programs under emulation"
for program in odographd odograph; do
  qemu-aarch64-static -L "$sysroot" "$host/build/bin/$program" --version
done
qemu-aarch64-static -L "$sysroot" "$host/build/bin/odographd" run --print --set vehicle.id=trial --set input.mode=simulation \
  --set input.speed=0 --set simulation.duration=60 --set log.level=warning >"$work/trial"
grep -q '/location"' "$work/trial" || fail "the agent publishes no location under emulation"
echo "messages of a drive of one minute under emulation: $(wc -l <"$work/trial")" >&2

step "packages"
Deploy/package.sh --output "$output" --programs "$host/build/bin" --emulator "qemu-aarch64-static -L $sysroot" \
  --root "$packing" --architecture arm64
step "done"
