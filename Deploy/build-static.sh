#!/usr/bin/env bash
# Builds a program with the Swift runtime linked in, small, and prints the path of the binary (not stripped).
#
# usage: Deploy/build-static.sh odographd|odograph [--build-path DIR]
# Environment:
#   SOURCE_DATE_EPOCH   the moment of the build that --version names, seconds since 1970; without it, now
set -euo pipefail
cd "$(dirname "$0")/.."

product=${1:-}
build=.build-static
if [ "${2:-}" = --build-path ]; then build=${3:?--build-path needs a folder}; fi

# GNU ld, not gold: it packs the relative relocations (a megabyte, all of it touched at the start).
options=(-c release --static-swift-stdlib --scratch-path "$build" -Xswiftc -Osize -Xswiftc -use-ld=bfd
  -Xlinker --gc-sections -Xlinker -z -Xlinker pack-relative-relocs)
# The same program from any folder: a hash of the debugging information would depend on its paths.
options+=(-Xlinker --build-id=none)
# As Debian builds its own: addresses bound at the start and read-only from then on, C with stack protector
# (and fortified calls, see Package.swift).
options+=(-Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker -T -Xlinker "$PWD/Deploy/relro.ld"
  -Xcc -fstack-protector-strong -Xcc -fstack-clash-protection)
case $product in
  # With start-stop-gc it leaves out what only the tables of Swift metadata name, which lld and mold keep, ICU with it.
  odographd) options+=(-Xlinker -z -Xlinker start-stop-gc -Xlinker "--version-script=$PWD/Deploy/exports.map") ;;
  # Foundation looks types up by those tables.
  odograph) ;;
  *) echo "usage: Deploy/build-static.sh odographd|odograph [--build-path DIR]" >&2; exit 64 ;;
esac

# Only CBuild is compiled anew for another commit or day.
ODOGRAPH_COMMIT=$(git rev-parse --short=8 HEAD 2>/dev/null || true)
if [ -n "$ODOGRAPH_COMMIT" ] && [ -n "$(git status --porcelain --untracked-files=no)" ]; then ODOGRAPH_COMMIT+=-modified; fi
ODOGRAPH_BUILD_DATE=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)
export ODOGRAPH_COMMIT ODOGRAPH_BUILD_DATE

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build "${options[@]}" --product "$product" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
echo "$(swift build "${options[@]}" --show-bin-path)/$product"
