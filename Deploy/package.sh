#!/usr/bin/env bash
# Builds the Debian packages odographd and odograph with the Swift runtime linked in, and prints their paths.
#
# usage: Deploy/package.sh [--output DIR] [--revision N] [--build-path DIR]
#          [--architecture ARCH --programs DIR --root DIR --emulator COMMAND]
#   --output      folder for the packages (default: .build-packages)
#   --revision    Debian revision, for another package of the same version (default: 1)
#   --build-path  folder for Swift's build (default: .build-static)
# For another architecture, see Deploy/arm64.sh:
#   --architecture  Debian's name of the architecture
#   --programs      use odographd and odograph of this folder, stripped; build only the tool for manual pages
#   --root          a Debian root with debhelper and the libraries of both architectures, for packaging
#   --emulator      command that runs these programs here
# Environment: SOURCE_DATE_EPOCH, the date of files and pages (default: of the changelog and of the last commit).
# The version is that of Sources/CBuild/include/CBuild.h.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

output=.build-packages revision=1 build=.build-static architecture=$(dpkg --print-architecture) programs='' root='' emulator=''
while [ $# -gt 0 ]; do
  case $1 in
    --output) output=${2:?--output needs a folder} ;;
    --revision) revision=${2:?--revision needs a number} ;;
    --build-path) build=${2:?--build-path needs a folder} ;;
    --architecture) architecture=${2:?--architecture needs a name} ;;
    --programs) programs=${2:?--programs needs a folder} ;;
    --root) root=${2:?--root needs a folder} ;;
    --emulator) emulator=${2:?--emulator needs a command} ;;
    *) echo "usage: Deploy/package.sh [--output DIR] [--revision N] [--build-path DIR]" >&2; exit 64 ;;
  esac
  shift 2
done
case $revision in '' | 0* | *[!0-9]*) echo "--revision must be a number from 1, not \"$revision\"" >&2; exit 64 ;; esac
install_packages "${build_packages[@]}" "${packaging_packages[@]}" >&2

version=$(sed -n 's/^#define ODOGRAPH_VERSION "\(.*\)"$/\1/p' Sources/CBuild/include/CBuild.h)
noted=$(dpkg-parsechangelog -l Deploy/debian/changelog -S Version)
if [ "${noted%-*}" != "$version" ]; then
  echo "Deploy/debian/changelog is at $noted, the programs at $version; write an entry for $version-1" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/odograph
mkdir -p "$source"/{bin,libexec,contract}
runnable=$source/bin
if [ -n "$emulator" ]; then runnable=$work/runnable && mkdir "$runnable"; fi
for product in odographd odograph; do
  if [ -n "$programs" ]; then
    cp "$programs/$product" "$source/bin"
  else
    binary=$(Deploy/build-static.sh "$product" --build-path "$build")
    strip --remove-section=.comment -o "$source/bin/$product" "$binary"
  fi
  if [ -n "$emulator" ]; then
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$emulator" "$source/bin/$product" >"$runnable/$product"
    chmod +x "$runnable/$product"
  fi
done
Deploy/hardened.sh "$source"/bin/* >&2

cp -r Deploy/debian "$source/debian"
if [ "$noted" != "$version-$revision" ]; then
  {
    printf 'odograph (%s-%s) bookworm; urgency=medium\n\n  * Built again.\n\n -- %s  %s\n\n' "$version" "$revision" \
      "$(dpkg-parsechangelog -l Deploy/debian/changelog -S Maintainer)" "$(date -u -R ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"})"
    cat Deploy/debian/changelog
  } >"$source/debian/changelog"
fi
cp Deploy/systemd/odographd.service "$source/debian/odographd.service"
for service in serve record; do
  cp "Deploy/systemd/odograph-$service.service" "$source/debian/odograph.odograph-$service.service"
done
cp Deploy/udev/60-odograph.rules "$source/debian/odographd.odograph.udev"
cp Deploy/systemd/back-off Deploy/udev/iio-access "$source/libexec"
cp Deploy/systemd/radio.conf "$source"
cp -r Deploy/modem Deploy/dbus "$source"
cp Config/profile.toml Config/serve.toml CHANGELOG.md Deploy/THIRD-PARTY.md "$source"
cp Config/odograph.toml "$source/odograph.toml.reference"
cp -r Config/mosquitto "$source/mosquitto"
cp -r Config/clusters "$source/clusters"
cp -r Config/asyncapi.yaml Config/schemas "$source/contract"
cp -r Config/examples "$source"
# In the packages, the recording is replayed from its installed folder, and the contract is in the package odograph.
sed -i -e 's|Config/examples/|/usr/share/doc/odographd/examples/|' -e 's|Run it in the folder of the source; no sensors|No sensors|' \
  -e 's|^Run this in the folder of the source\. It requires|This requires|' -e 's|\.\./\.\./|/usr/share/odograph/|g' \
  "$source"/examples/*/*.{toml,md}
if grep -n 'folder of the source' "$source"/examples/*/*.{toml,md} >&2; then
  echo "package.sh: packaged examples mention the folder of the source; adapt the expressions of sed" >&2
  exit 1
fi

# Manual pages and completions have the layout of /usr/share.
Deploy/documentation.sh --programs "$runnable" --build-path "$build" "$source/share"
for product in odographd odograph; do
  # A completion is sourced and needs no interpreter line.
  sed -i '1{/^#!/d}' "$source/share/bash-completion/completions/$product"
  {
    echo "share/bash-completion/completions/$product usr/share/bash-completion/completions"
    echo "share/zsh/vendor-completions/_$product usr/share/zsh/vendor-completions"
    echo "share/fish/vendor_completions.d/$product.fish usr/share/fish/vendor_completions.d"
  } >>"$source/debian/$product.install"
  (cd "$source" && ls share/man/man*/"$product"{,-*}.[18]) >"$source/debian/$product.manpages"
done

# The programs are already built.
pack=(env DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage --build=binary --no-sign --no-check-builddeps
  "--host-arch=$architecture")
if [ -n "$root" ]; then
  place=$(mktemp -d -p "$root/tmp")
  trap 'rm -rf "$work" "$place"' EXIT
  cp -r "$source" "$place"
  # shellcheck disable=SC2016 # the inner shell's own
  chroot "$root" bash -c 'cd "$1" && shift && "$@"' bash "${place#"$root"}/odograph" "${pack[@]}" >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; exit 1; }
  mv "$place"/*.deb "$work"
else
  (cd "$source" && "${pack[@]}") >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
fi
mkdir -p "$output"
for product in odographd odograph; do
  file=$(cd "$work" && ls "${product}_"*.deb)
  mv "$work/$file" "$output/$file"
  echo "$output/$file"
done
