#!/usr/bin/env bash
# Makes a release in one folder: Debian packages in a signed apt repository, container images, tarballs, an SBOM, release notes
# and checksums. The same programs, key and commit give the same bytes; container images also depend on the mirror's packages.
#
# usage: Deploy/release.sh --output DIR [--key KEY] [--programs DIR | --packages DIR] [--architectures LIST]
#          [--build-path DIR] [--resolved FILE] [--no-images]
#   --output         a new or empty folder
#   --key            a file with the exported secret key, or a key of your GnuPG keyring (default: a throw-away key)
#   --programs       package odographd and odograph of this folder (stripped) for this architecture
#   --packages       release the packages of this folder, for all their architectures
#   --architectures  architectures to build without --programs and --packages (default: "amd64 arm64"); arm64 uses Deploy/arm64.sh
#   --build-path     folder for Swift's build (default: .build-static)
#   --resolved       versions of the Swift packages in the programs (default: Package.resolved)
#   --no-images      make no container images
# Contents of DIR:
#   repository/                             for any web server; odograph-archive-keyring.gpg contains the public key
#   odograph-VERSION-linux-ARCH.tar.xz      the files of both packages, with the Swift runtime linked into the programs
#   PROGRAM-VERSION-ARCH.oci.tar            container images as OCI archives, from Deploy/container/Containerfile
#   odograph-VERSION-ARCH.spdx.json         SBOM in SPDX 2.3
#   release-notes.md, Package.resolved, SHA256SUMS, SHA256SUMS.asc
# Environment: SOURCE_DATE_EPOCH, the date of all files and signatures (default: the last commit's).
# Requires root for the images (chroot), and for arm64.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
# shellcheck source=Deploy/container-base.sh
. Deploy/container-base.sh

usage() {
  echo "usage: Deploy/release.sh --output DIR [--key KEY] [--programs DIR | --packages DIR] [--architectures LIST]" >&2
  echo "         [--build-path DIR] [--resolved FILE] [--no-images]" >&2
  exit 64
}
fail() { echo "release: $1" >&2; exit 1; }
step() { printf '== %s (%s s)\n' "$1" "$SECONDS" >&2; }
# from_here PATH: resolves a path from the caller's folder.
from_here() { case $1 in /*) echo "$1" ;; *) echo "$here/$1" ;; esac; }

native=$(dpkg --print-architecture)
output='' key='' programs='' packages='' architectures="amd64 arm64" build=.build-static resolved=Package.resolved images=1
while [ $# -gt 0 ]; do
  case $1 in
    --output) output=$(from_here "${2:?--output needs a folder}") ;;
    --key) key=${2:?--key needs a file or the name of a key} ;;
    --programs) programs=$(from_here "${2:?--programs needs a folder}") ;;
    --packages) packages=$(from_here "${2:?--packages needs a folder}") ;;
    --architectures) architectures=${2:?--architectures needs a list} ;;
    --build-path) build=$(from_here "${2:?--build-path needs a folder}") ;;
    --resolved) resolved=$(from_here "${2:?--resolved needs a file}") ;;
    --no-images) images=''; shift; continue ;;
    *) usage ;;
  esac
  shift 2
done
if [ -z "$output" ] || { [ -n "$programs" ] && [ -n "$packages" ]; }; then usage; fi
if [ -e "$output" ] && [ -n "$(ls -A "$output")" ]; then fail "$output is not empty; name a new folder"; fi
[ -z "$images" ] || [ "$(id -u)" -eq 0 ] || fail "container images need root for chroot; run it with sudo, or with --no-images"
install_packages "${release_packages[@]}" >&2

# The files do not depend on the caller's environment.
umask 022
export LC_ALL=C.UTF-8 TZ=UTC
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || true)}
[ -n "$epoch" ] || fail "the date of the release is unknown outside of a git repository; set SOURCE_DATE_EPOCH"
export SOURCE_DATE_EPOCH=$epoch
if [ -n "$(git status --porcelain --untracked-files=no 2>/dev/null || true)" ]; then
  echo "release: warning: the source has uncommitted changes; this release cannot be reproduced from its commit" >&2
fi
version=$(sed -n 's/^#define ODOGRAPH_VERSION "\(.*\)"$/\1/p' Sources/CBuild/include/CBuild.h)

work=$(mktemp -d)
# shellcheck disable=SC2317 # reached through the trap
finish() {
  trap - EXIT INT TERM
  if [ -d "$work/keys" ]; then gpgconf --homedir "$work/keys" --kill all || true; fi
  rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# quietly COMMAND...: prints the output only if it fails.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "this command failed, see above: $*"; }; }

# --- The key ---------------------------------------------------------------------------------------------------
gpg=(gpg --batch --quiet --no-tty)
if [ -z "$key" ] || [ -f "$(from_here "$key")" ]; then
  mkdir -m 0700 "$work/keys"
  gpg+=(--homedir "$work/keys")
  if [ -n "$key" ]; then
    quietly "${gpg[@]}" --import "$(from_here "$key")"
    key=$("${gpg[@]}" --with-colons --list-secret-keys | awk -F: '$1 == "fpr" { print $10; exit }')
    [ -n "$key" ] || fail "the file of --key has no secret key; export one with gpg --export-secret-keys"
  else
    key="Odograph throw-away key <nobody@example.org>"
    quietly "${gpg[@]}" --faked-system-time "$epoch!" --passphrase '' --quick-generate-key "$key" ed25519 sign never
    echo "release: warning: signed with a throw-away key, for tests only; --key names a key for publishing" >&2
  fi
fi
# A signature must not be older than its key.
signed=$("${gpg[@]}" --with-colons --list-secret-keys "$key" 2>/dev/null |
  awk -F: -v epoch="$epoch" '$1 ~ /^(sec|ssb)$/ && $6 > epoch { epoch = $6 } $1 == "sec" { found = 1 } END { if (found) print epoch }')
[ -n "$signed" ] || fail "GnuPG has no secret key \"$key\"; gpg --list-secret-keys shows those that it has"
# sign HOW OUTPUT FILE
sign() { quietly "${gpg[@]}" --local-user "$key" --faked-system-time "$signed!" --digest-algo SHA512 --armor --output "$2" "$1" "$3"; }

# --- The packages ----------------------------------------------------------------------------------------------
mkdir -p "$output"
output=$(realpath "$output")
pool=$output/repository/pool/main/o/odograph
mkdir -p "$pool"
if [ -n "$packages" ]; then
  cp "$packages"/odograph{,d}_"$version"-*.deb "$pool" || fail "no packages of version $version in $packages"
else
  made=$work/packages
  if [ -n "$programs" ]; then architectures=$native; fi
  for architecture in $architectures; do
    step "packages for $architecture"
    if [ -n "$programs" ]; then
      Deploy/package.sh --output "$made" --build-path "$build" --programs "$programs" >/dev/null
    elif [ "$architecture" = "$native" ]; then
      Deploy/package.sh --output "$made" --build-path "$build" >/dev/null
    elif [ "$native $architecture" = "amd64 arm64" ]; then
      Deploy/arm64.sh --output "$made" >/dev/null
    else
      fail "packages for $architecture cannot be built on $native; build them on $architecture, and pass all packages with --packages"
    fi
  done
  cp "$made"/*.deb "$pool"
fi
chmod 0644 "$pool"/*
[ -f "$resolved" ] || fail "no $resolved; swift package resolve writes it"
cp "$resolved" "$output/Package.resolved"
chmod 0644 "$output/Package.resolved"
mapfile -t architectures < <(for package in "$pool"/*.deb; do dpkg-deb -f "$package" Architecture; done | sort -u)
# package_of PROGRAM ARCHITECTURE: prints the path of the only package.
package_of() {
  local found=("$pool/$1_$version"-*"_$2.deb")
  [ -e "${found[0]}" ] || fail "no package of $1 for $2"
  [ ${#found[@]} -eq 1 ] || fail "several revisions of $1 for $2; leave one of them: ${found[*]##*/}"
  echo "${found[0]}"
}

# --- Tarballs and SBOM -----------------------------------------------------------------------------------------
# archive FOLDER NAME...: writes a tar of these files, independent of user, time and place.
archive() { tar -C "$1" --sort=name --format=gnu --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "${@:2}"; }
for architecture in "${architectures[@]}"; do
  step "tarball and SBOM for $architecture"
  agent=$(package_of odographd "$architecture") fleet=$(package_of odograph "$architecture")
  tree=$work/tree-$architecture folder=odograph-$version
  mkdir -p "$tree/$folder"
  for package in "$agent" "$fleet"; do dpkg-deb -x "$package" "$tree"; done
  cp -a "$tree"/usr/. "$tree"/lib "$tree"/etc "$tree/$folder"
  cp LICENSE "$tree/$folder"
  archive "$tree" "$folder" | xz -6 -T1 >"$output/odograph-$version-linux-$architecture.tar.xz"
  python3 Deploy/sbom.py --resolved "$resolved" "$agent" "$fleet" >"$output/odograph-$version-$architecture.spdx.json"
  rm -r "$tree"
done

# --- The repository --------------------------------------------------------------------------------------------
step "the apt repository"
"${gpg[@]}" --export-options export-minimal --export "$key" >"$output/repository/odograph-archive-keyring.gpg"
(
  cd "$output/repository"
  suite=dists/bookworm
  for architecture in "${architectures[@]}"; do
    index=$suite/main/binary-$architecture
    mkdir -p "$index"
    dpkg-scanpackages --arch "$architecture" pool >"$index/Packages" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    xz -9 -T1 --keep "$index/Packages"
  done
  apt-ftparchive -o APT::FTPArchive::Release::Origin=Odograph -o APT::FTPArchive::Release::Label=Odograph \
    -o APT::FTPArchive::Release::Suite=bookworm -o APT::FTPArchive::Release::Codename=bookworm \
    -o APT::FTPArchive::Release::Version="$version" -o APT::FTPArchive::Release::Architectures="${architectures[*]}" \
    -o APT::FTPArchive::Release::Components=main -o APT::FTPArchive::Release::Description="Odograph $version for Debian 12" \
    -o APT::FTPArchive::Release::Date="$(date -u -d "@$signed" -R)" release "$suite" >"$work/Release"
  mv "$work/Release" "$suite/Release"
  sign --clearsign "$suite/InRelease" "$suite/Release"
  sign --detach-sign "$suite/Release.gpg" "$suite/Release"
)

# --- Container images ------------------------------------------------------------------------------------------
for architecture in "${architectures[@]}"; do
  if [ -z "$images" ]; then break; fi
  if [ "$architecture" != "$native" ] && ! arch-test -n "$architecture" >/dev/null 2>&1; then
    echo "release: warning: no container images for $architecture, whose programs do not run on this machine; install" \
      "qemu-user-static and binfmt-support" >&2
    continue
  fi
  step "container images for $architecture"
  context=$work/container-$architecture
  mkdir -p "$context/packages"
  cp Deploy/container/Containerfile "$context"
  debian_base "$work" "$architecture"
  for program in odographd odograph; do
    cp "$(package_of "$program" "$architecture")" "$context/packages"
    quietly buildah build --pull-never --network host --target "$program" --arch "$architecture" --timestamp "$epoch" \
      --build-arg "SOURCE_DATE_EPOCH=$epoch" --label "org.opencontainers.image.title=$program" \
      --label "org.opencontainers.image.version=$version" --label org.opencontainers.image.licenses=Apache-2.0 \
      -t "$program:$version" "$context"
    quietly buildah push --format oci "localhost/$program:$version" "oci:$work/oci:$program:$version"
    archive "$work/oci" blobs index.json oci-layout >"$output/$program-$version-$architecture.oci.tar"
    rm -r "$work/oci"
  done
  containers_gone "$work"
done

# --- Notes and checksums ---------------------------------------------------------------------------------------
step "release notes and checksums"
# Changes: the section of this version, or the unreleased changes before its first release.
section=$version
grep -q "^## $version" CHANGELOG.md || section=Unreleased
awk -v section="$section" '/^## / { inside = ($2 == section); next } inside' CHANGELOG.md >"$work/changes"
grep -q '[^[:space:]]' "$work/changes" || fail "CHANGELOG.md has no section $version and none Unreleased"
{
  printf '# Odograph %s\n\n' "$version"
  printf 'Released on %s for Debian 12 (%s).\n' "$(date -u -d "@$epoch" +%F)" "${architectures[*]}"
  cat <<'TEXT'
The programs in the tarballs contain the Swift runtime, and need the shared libraries that the packages depend on.

## Files

| file | bytes |
| --- | --- |
TEXT
  # shellcheck disable=SC2016 # Markdown's quotes
  (cd "$output" && find . -maxdepth 1 -type f -name 'odograph*' -printf '| `%f` | %s |\n' | sort)
  cat <<'TEXT'

The packages are in `repository`. `SHA256SUMS` has the checksums of all files. Its signature is `SHA256SUMS.asc`, by the key in
`repository/odograph-archive-keyring.gpg`.

## Install
TEXT
  awk '/^## / { inside = ($0 == "## Install from a repository"); next } inside' Deploy/packages.md
  printf '## Changes\n'
  cat "$work/changes"
} >"$output/release-notes.md"
(cd "$output" && find . -type f -printf '%P\0' | sort -z | xargs -0 sha256sum >"$work/sums")
mv "$work/sums" "$output/SHA256SUMS"
sign --detach-sign "$output/SHA256SUMS.asc" "$output/SHA256SUMS"
step "done"
(cd "$output" && find . -maxdepth 1 -mindepth 1 -printf "$output/%P\n" | sort)
