#!/usr/bin/env bash
# Builds a program with the Swift runtime linked in, optimized for size, and prints the path of the binary (not stripped).
#
# usage: Deploy/build-static.sh odographd|odograph [--build-path DIR]
# Environment:
#   SOURCE_DATE_EPOCH   date of the build that --version prints, in seconds since 1970 (default: now)
set -euo pipefail
cd "$(dirname "$0")/.."

product=${1:-}
build=.build-static
if [ "${2:-}" = --build-path ]; then build=${3:?--build-path needs a folder}; fi

# GNU ld instead of gold: it packs the relative relocations, which saves 1 MB that is read at start.
options=(-c release --static-swift-stdlib --scratch-path "$build" -Xswiftc -Osize
  -Xlinker --gc-sections -Xlinker -z -Xlinker pack-relative-relocs)
# The program is identical in any folder: a build ID would depend on paths in the debug information.
options+=(-Xlinker --build-id=none)
# Debian's hardening flags: addresses are bound at start and then read-only; C code has stack protectors (and
# fortified calls, see Package.swift).
options+=(-Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker -T -Xlinker "$PWD/Deploy/relro.ld"
  -Xcc -fstack-protector-strong -Xcc -fstack-clash-protection)
case $product in
  # start-stop-gc omits code that only tables of Swift metadata reference, including ICU. lld and mold retain it.
  odographd)
    # Before all libraries, so that none of the replaced one is linked.
    mkdir -p "$build/replacement"
    replacement=$(realpath "$build/replacement")
    swiftc -c -Osize -parse-as-library -module-name FoundationEssentials Deploy/FoundationEssentials.swift -o "$replacement/module.o"
    printf '#!/bin/sh\nexec ld.bfd %q "$@"\n' "$replacement/module.o" >"$replacement/ld"
    chmod +x "$replacement/ld"
    options+=(-Xswiftc "-ld-path=$replacement/ld" -Xlinker -z -Xlinker start-stop-gc
      -Xlinker "--version-script=$PWD/Deploy/exports.map")
    ;;
  # Foundation looks up types in those tables.
  odograph) options+=(-Xswiftc -use-ld=bfd) ;;
  *) echo "usage: Deploy/build-static.sh odographd|odograph [--build-path DIR]" >&2; exit 64 ;;
esac

# Only CBuild is recompiled for another commit or date.
ODOGRAPH_COMMIT=$(git rev-parse --short=8 HEAD 2>/dev/null || true)
if [ -n "$ODOGRAPH_COMMIT" ] && [ -n "$(git status --porcelain --untracked-files=no)" ]; then ODOGRAPH_COMMIT+=-modified; fi
ODOGRAPH_BUILD_DATE=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%F)
export ODOGRAPH_COMMIT ODOGRAPH_BUILD_DATE

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build "${options[@]}" --product "$product" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
echo "$(swift build "${options[@]}" --show-bin-path)/$product"
