#!/usr/bin/env bash
# Makes a release twice with Deploy/release.sh and compares every byte. Checks checksums, SBOM, release notes and container
# images. Serves the repository on loopback and installs from it into a fresh Debian 12, as Deploy/packages.md describes.
# Verifies that apt refuses a changed index, a changed package and another key.
#
# usage: Deploy/release-check.sh [--packages DIR] [--build-path DIR] [--resolved FILE]
#   --packages    use the programs of these packages instead of building them; arm64 packages on an amd64 machine are also
#                 installed into an arm64 Debian, under emulation
#   --build-path  folder for the build of the tool for manual pages (default: .build-static)
#   --resolved    versions of the Swift packages in the programs (default: Package.resolved)
# Requires root (for chroot and namespaces) and a Debian mirror; without root it is skipped.
# Not checked: reproducible builds by the Swift compiler; both releases contain the same programs.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
# shellcheck source=Deploy/newcomer.sh
. Deploy/newcomer.sh

fail() { echo "release: $1" >&2; exit 1; }
passed() { printf 'ok  %-76s %4s s\n' "$1" "$SECONDS"; }

packages='' build=.build-static resolved=Package.resolved
while [ $# -gt 0 ]; do
  case $1 in
    --packages) packages=${2:?--packages needs a folder} ;;
    --build-path) build=${2:?--build-path needs a folder} ;;
    --resolved) resolved=${2:?--resolved needs a file} ;;
    *) echo "usage: Deploy/release-check.sh [--packages DIR] [--build-path DIR] [--resolved FILE]" >&2; exit 64 ;;
  esac
  shift 2
done
if [ "$(id -u)" -ne 0 ]; then
  echo "skipped: a release check requires root (for chroot and namespaces); run it with sudo"
  exit 0
fi
install_packages "${release_packages[@]}" "${packaging_test_packages[@]}" >&2
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
server='' registered='' mounted=''
# shellcheck disable=SC2317 # reached through the trap
finish() {
  trap - EXIT INT TERM
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  if [ -n "$registered" ]; then echo -1 >"$binfmt/qemu-aarch64" || true; fi
  if [ -n "$mounted" ]; then umount "$binfmt" || true; fi
  if [ -d "$work/keys" ]; then gpgconf --homedir "$work/keys" --kill all || true; fi
  rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# quietly COMMAND...: prints the output only if it fails.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "this command failed, see above: $*"; }; }

# --- Two releases ----------------------------------------------------------------------------------------------
if [ -z "$packages" ]; then
  packages=$work/packages
  quietly Deploy/package.sh --output "$packages" --build-path "$build"
fi
for program in odographd odograph; do
  file=$(find "$packages" -name "${program}_*_$architecture.deb" | sort -V | tail -n 1)
  [ -n "$file" ] || fail "no package of $program for $architecture in $packages"
  dpkg-deb -x "$file" "$work/unpacked"
done
programs=$work/unpacked/usr/bin
mkdir -m 0700 "$work/keys"
gpg=(gpg --batch --quiet --no-tty --homedir "$work/keys")
quietly "${gpg[@]}" --faked-system-time "$SOURCE_DATE_EPOCH" --passphrase '' --quick-generate-key "Odograph release check" ed25519 sign never
"${gpg[@]}" --armor --export-secret-keys >"$work/key.asc"

release=(--programs "$programs" --build-path "$build" --resolved "$resolved" --key "$work/key.asc")
one=$work/one two="$work/elsewhere/the second"
quietly Deploy/release.sh --output "$one" "${release[@]}"
passed "a release: $(find "$one" -type f | wc -l) files, $(du -sm "$one" | cut -f 1) MB"
mkdir -p "$work/elsewhere/tmp"
# Also with other settings of the user.
(
  umask 077
  quietly env TMPDIR="$work/elsewhere/tmp" TZ=Pacific/Kiritimati LANG=C LC_ALL=C Deploy/release.sh --output "$two" "${release[@]}"
)
# Swift leaves locks and folders with other names.
left=$(find "$work/elsewhere/tmp" -maxdepth 1 -name 'tmp.*')
[ -z "$left" ] || fail "Deploy/release.sh leaves $left"
diff -r "$one" "$two" || fail "two releases of the same programs differ"
diff <(cd "$one" && find . -printf '%m %p\n' | sort) <(cd "$two" && find . -printf '%m %p\n' | sort) || fail "two releases differ in permissions"
passed "a second one in another folder has the same bytes"

(cd "$one" && sha256sum --quiet --strict -c SHA256SUMS) || fail "a checksum is wrong"
[ "$(wc -l <"$one/SHA256SUMS")" -eq "$(($(find "$one" -type f | wc -l) - 2))" ] || fail "SHA256SUMS does not list every file"
keyring=$one/repository/odograph-archive-keyring.gpg
quietly gpgv --keyring "$keyring" "$one/SHA256SUMS.asc" "$one/SHA256SUMS"
index=$one/repository/dists/bookworm
quietly gpgv --keyring "$keyring" "$index/InRelease"
quietly gpgv --keyring "$keyring" "$index/Release.gpg" "$index/Release"
passed "checksums and signatures are valid"

# --- Its files -------------------------------------------------------------------------------------------------
version=$(sed -n 's/^#define ODOGRAPH_VERSION "\(.*\)"$/\1/p' Sources/CBuild/include/CBuild.h)
pool=$one/repository/pool/main/o/odograph
python3 - "$one/odograph-$version-$architecture.spdx.json" "$resolved" "$programs" "$pool"/*.deb <<'PYTHON' || fail "the SBOM is not complete"
import json, os, re, subprocess, sys

path, resolved, programs, *packages = sys.argv[1:]
bill = json.load(open(path))
by_identifier = {package["SPDXID"]: package for package in bill["packages"]}
names = {package["name"] for package in bill["packages"]}
faults = []
if bill["spdxVersion"] != "SPDX-2.3":
    faults.append("it is not SPDX 2.3")
for pin in json.load(open(resolved))["pins"]:
    found = [package for package in bill["packages"] if package["name"] == pin["identity"]]
    if not found or found[0]["versionInfo"] != pin["state"]["version"] or pin["state"]["revision"] not in found[0]["downloadLocation"]:
        faults.append(f"{pin['identity']} {pin['state']['version']} of {resolved} is missing")
for package in packages:
    for relation in ("Depends", "Pre-Depends"):
        text = subprocess.check_output(["dpkg-deb", "-f", package, relation], text=True)
        for entry in filter(str.strip, text.split(",")):
            name = re.split(r"[ (:|]", entry.strip())[0]
            if name not in names:
                faults.append(f"{name}, which {os.path.basename(package)} depends on, is missing")
# Packages of the shared libraries that a program loads, as installed on this machine.
for program in ("odographd", "odograph"):
    dump = subprocess.check_output(["readelf", "-d", f"{programs}/{program}"], text=True)
    linked = {by_identifier[relation["relatedSpdxElement"]]["name"] for relation in bill["relationships"]
              if relation["spdxElementId"] == f"SPDXRef-program-{program}" and relation["relationshipType"] == "DYNAMIC_LINK"}
    for library in re.findall(r"\(NEEDED\).*\[(.*?)\]", dump):
        owners = subprocess.run(["dpkg-query", "-S", f"*/{library}"], capture_output=True, text=True).stdout
        owners = {line.split(":")[0] for line in owners.splitlines()}
        if not owners & linked:
            faults.append(f"{library}, which {program} loads, is missing")
identifiers = set(by_identifier) | {bill["SPDXID"]}
for relation in bill["relationships"]:
    if not {relation["spdxElementId"], relation["relatedSpdxElement"]} <= identifiers:
        faults.append(f"a relation to an unknown package: {relation}")
related = {relation["relatedSpdxElement"] for relation in bill["relationships"]} | {
    relation["spdxElementId"] for relation in bill["relationships"]}
faults += [f"{identifier} has no relation" for identifier in by_identifier if identifier not in related]
print("\n".join(faults), file=sys.stderr)
sys.exit(bool(faults))
PYTHON
passed "the SBOM has every Swift package, dependency and shared library"

tar -xJf "$one/odograph-$version-linux-$architecture.tar.xz" -C "$work"
for program in odographd odograph; do
  cmp "$work/odograph-$version/bin/$program" "$programs/$program" || fail "the tarball has another $program"
  quietly "$work/odograph-$version/bin/$program" --version
done
grep -q "^# Odograph $version" "$one/release-notes.md" || fail "the release notes have no title"
grep -q "^### " "$one/release-notes.md" || fail "the release notes list no change"
passed "tarball and release notes are complete"

for program in odographd odograph; do
  archive=oci-archive:$one/$program-$version-$architecture.oci.tar
  # A copy reads every layer and compares its digest.
  quietly skopeo copy "$archive" "dir:$work/image"
  skopeo inspect --config "$archive" >"$work/config.json"
  python3 - "$work/config.json" "$program" "$version" "$architecture" <<'PYTHON' || fail "the image of $program is wrong"
import json, sys

path, program, version, architecture = sys.argv[1:]
image = json.load(open(path))
config = image["config"]
expected = {"User": "odographd", "StopSignal": "SIGTERM", "Entrypoint": [f"/usr/bin/{program}"]}
if program == "odographd":
    expected["Volumes"] = {"/var/lib/odographd": {}}
for key, value in expected.items():
    if config.get(key) != value:
        sys.exit(f"{key} is {config.get(key)}, not {value}")
if image["architecture"] != architecture or config["Labels"]["org.opencontainers.image.version"] != version:
    sys.exit(f"it is for {image['architecture']}, of version {config['Labels']}")
PYTHON
  # The last layer contains the unchanged program.
  layer=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["layers"][-1]["digest"].split(":")[1])' "$work/image/manifest.json")
  tar -xzOf "$work/image/$layer" "usr/bin/$program" | cmp - "$programs/$program" || fail "the image has another $program"
  rm -r "$work/image"
done
passed "the container images have valid layers, configuration and programs"

# --- Repositories that apt has to refuse -----------------------------------------------------------------------
quietly env Deploy/release.sh --output "$work/other" --no-images --packages "$pool" --resolved "$resolved"
grep -q 'throw-away key' "$work/log" || fail "Deploy/release.sh does not warn of its throw-away key"
served=$work/served
mkdir "$served"
cp -r "$one/repository" "$served/good"
# Signed with another key.
cp -r "$work/other/repository" "$served/other-key"
copy=0
# changed NAME: copies the repository, for a modification.
changed() { cp -r "$one/repository" "$served/$1"; copy=$served/$1/dists/bookworm; }
changed packages
sed -i 's/^Package: odographd$/&\nEssential: yes/' "$copy/main/binary-$architecture/Packages"
xz -9 -T1 --keep --force "$copy/main/binary-$architecture/Packages"
changed release
sed -i 's/^Label: Odograph$/Label: Odographs/' "$copy/InRelease" "$copy/Release"
changed unsigned
rm "$copy/InRelease" "$copy/Release.gpg"
changed package
printf 'changed' | dd of="$(find "$served/package/pool" -name 'odographd_*.deb')" bs=1 seek=100000 conv=notrunc status=none

# --- A fresh Debian --------------------------------------------------------------------------------------------
port=$(free_port)
python3 -m http.server --bind 127.0.0.1 --directory "$served" "$port" >"$work/http" 2>&1 &
server=$!
wait_for_port "$port"
root=$work/root
# fresh_root [OPTION...]: a Debian 12 in $root.
fresh_root() {
  quietly mmdebstrap --quiet --variant=minbase "$@" bookworm "$root"
  # No proxy for loopback. Settings for the machine's network remain.
  echo 'Acquire::http::Proxy::127.0.0.1 "DIRECT";' >"$root/etc/apt/apt.conf.d/90loopback"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
}
# in_root COMMAND: runs a line of shell in separate namespaces, on the machine's network.
in_root() {
  unshare --mount --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" env -i PATH="$PATH" \
    DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C.UTF-8 no_proxy=127.0.0.1 bash -euc "$1"
}
# install_from NAME PROGRAMS: follows Deploy/packages.md with that repository, and compares the installed programs.
install_from() {
  local commands=0 line program noted
  while read -r line; do
    line=${line//https:\/\/packages.example.org\/odograph/http:\/\/127.0.0.1:$port\/$1}
    # Installs without interaction.
    line=${line/apt-get install/apt-get install -y --no-install-recommends}
    quietly in_root "$line"
    commands=$((commands + 1))
  done < <(readme_commands repository Deploy/packages.md)
  [ "$commands" -gt 2 ] || fail "Deploy/packages.md has no block \"sh repository\""
  # shellcheck disable=SC2016 # dpkg's own
  for program in odographd odograph; do
    noted=$(in_root "dpkg-query -W -f '\${Version}' $program")
    [[ $noted = "$version"-* ]] || fail "$program is not installed from the repository"
    cmp "$root/usr/bin/$program" "$2/$program" || fail "another $program is installed"
    in_root "$program --version"
  done
  passed "the $commands commands of Deploy/packages.md install both packages"
}
fresh_root
passed "a fresh Debian 12"
quietly in_root "apt-get update && apt-get install -y --no-install-recommends bash-completion curl man-db"

# refused NAME PATTERN [COMMAND]: expects that apt refuses a repository, with a message that matches. It uses separate
# package lists.
refused() {
  local name=$1 pattern=$2 command=${3:-true} said=$work/refused.$1
  cp "$keyring" "$root/tmp/keyring.gpg"
  echo "deb [signed-by=/tmp/keyring.gpg] http://127.0.0.1:$port/$name bookworm main" >"$root/tmp/$name.list"
  local apt="apt-get -o Dir::Etc::SourceList=/tmp/$name.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=/tmp/lists-$name -o APT::Update::Error-Mode=any"
  if in_root "mkdir -p /tmp/lists-$name && $apt update && { $command; }" >"$said" 2>&1; then
    cat "$said" >&2
    fail "apt accepts the repository \"$name\""
  fi
  grep -qE "$pattern" "$said" || { cat "$said" >&2; fail "apt refuses the repository \"$name\" with another message than \"$pattern\""; }
  passed "apt refuses \"$name\": $(grep -ohE "$pattern" "$said" | head -n 1)"
}
refused other-key 'NO_PUBKEY'
refused release 'BADSIG'
refused unsigned "is not signed"
refused packages 'Hash Sum mismatch|unexpected size'
# The index is valid, but the package is not.
refused package 'Hash Sum mismatch' \
  "cd /tmp && apt-get -o Dir::Etc::SourceList=/tmp/package.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=/tmp/lists-package download odographd"

install_from good "$programs"

section=8
for program in odographd odograph; do
  in_root "MANPAGER=cat man $section $program" >"$work/page"
  grep -q '^NAME' "$work/page" || { cat "$work/page" >&2; fail "no manual page of $program"; }
  in_root "MANPAGER=cat man $program-$(if [ "$program" = odographd ]; then echo run; else echo watch; fi)" | grep -q '^NAME' ||
    fail "no manual pages of the commands of $program"
  # Loads the completion as bash-completion does at the first Tab.
  in_root ". /usr/share/bash-completion/bash_completion; _completion_loader $program || true; complete -p $program" >"$work/page" 2>&1 ||
    { cat "$work/page" >&2; fail "bash completes nothing for $program"; }
  for file in "zsh/vendor-completions/_$program" "fish/vendor_completions.d/$program.fish"; do
    [ -s "$root/usr/share/$file" ] || fail "the package $program has no $file"
  done
  section=1
done
passed "manual pages and completions are installed"

# --- Another architecture --------------------------------------------------------------------------------------
if [ "$architecture" != amd64 ] || [ -z "$(find "$packages" -name "odograph_$version-*_arm64.deb")" ]; then
  echo "skipped: the installation on arm64, because $packages has no packages of $version for arm64; Deploy/arm64.sh builds them"
  exit 0
fi
install_packages qemu-user-static >&2
for program in odographd odograph; do
  dpkg-deb -x "$(find "$packages" -name "${program}_*_arm64.deb" | sort -V | tail -n 1)" "$work/unpacked-arm64"
done
quietly Deploy/release.sh --output "$work/both" --no-images --packages "$packages" --resolved "$resolved" --key "$work/key.asc"
cp -r "$work/both/repository" "$served/both"
# The kernel starts arm64 programs with qemu until the end of this script.
binfmt=/proc/sys/fs/binfmt_misc
if [ ! -e "$binfmt/qemu-aarch64" ]; then
  if [ ! -e "$binfmt/register" ]; then
    mount -t binfmt_misc binfmt_misc "$binfmt" ||
      fail "cannot mount $binfmt, through which the kernel starts programs of arm64; run this check on a machine, not in a container"
    mounted=yes
  fi
  registered=yes
  cat /usr/lib/binfmt.d/qemu-aarch64.conf >"$binfmt/register"
fi
rm -rf --one-file-system "$root"
fresh_root --architectures=arm64
quietly in_root "apt-get update && apt-get install -y --no-install-recommends curl"
passed "a fresh Debian 12 of $(in_root 'dpkg --print-architecture')"
install_from both "$work/unpacked-arm64/usr/bin"
in_root "odographd run --print --set vehicle.id=trial --set input.mode=simulation --set input.speed=0 --set simulation.duration=60" \
  >"$work/drive" 2>"$work/log" || { cat "$work/log" >&2; fail "odographd does not run on arm64"; }
grep -q '/location"' "$work/drive" || fail "odographd publishes no location on arm64"
passed "odographd of arm64 publishes a minute's drive: $(wc -l <"$work/drive") messages"
