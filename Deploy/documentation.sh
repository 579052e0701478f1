#!/usr/bin/env bash
# Generates manual pages and shell completions of both programs and one DocC archive of all library products. Fails on
# faults in the documentation.
#
# usage: Deploy/documentation.sh [--programs DIR] [--build-path DIR] OUTPUT-DIR [BUILD-OPTION...]
#   --programs DIR     use odograph and odographd of DIR, and make no archive: for packaging
#   --build-path DIR   folder for Swift's build (default: .build)
#   BUILD-OPTION       for `swift build`: the options of the earlier build in that folder, to avoid a second one
# Contents of OUTPUT-DIR:
#   man/man1/odograph.1, odograph-watch.1, …; man/man8/odographd.8, odographd-run.8, …
#   bash-completion/completions/NAME, zsh/vendor-completions/_NAME, fish/vendor_completions.d/NAME.fish
#   doc/odograph.doccarchive
# The first two lines have the layout of /usr/share. Environment: SOURCE_DATE_EPOCH, the date of the pages (default:
# last commit).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh

usage() { echo "usage: Deploy/documentation.sh [--programs DIR] [--build-path DIR] OUTPUT-DIR [BUILD-OPTION...]" >&2; exit 64; }
programs='' build=.build
if [ "${1:-}" = --programs ]; then programs=${2:?--programs needs a folder}; shift 2; fi
if [ "${1:-}" = --build-path ]; then build=${2:?--build-path needs a folder}; shift 2; fi
[ $# -ge 1 ] || usage
output=$1 options=(--scratch-path "$build" "${@:2}")
install_packages "${build_packages[@]}" python3 mandoc >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# quietly COMMAND…: prints the output only if the command fails.
quietly() { "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; return 1; }; }

# The argument parser's tool, which its package plugin also runs for each program.
quietly swift build "${options[@]}" --product generate-manual
built=$(swift build "${options[@]}" --show-bin-path)
if [ -z "$programs" ]; then quietly swift build "${options[@]}"; fi

epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
for program in odograph odographd; do
  binary=${programs:-$built}/$program
  section=1
  if [ "$program" = odographd ]; then section=8; fi
  mkdir -p "$work/$program" "$output/man/man$section"
  "$built/generate-manual" "$binary" --multi-page --section "$section" --date "$(date -u -d "@$epoch" +%F)" \
    -o "$work/$program"
  python3 Deploy/manual.py "$work/$program" "$output/man/man$section"
  mandoc -T lint -W warning "$output/man/man$section/$program"{,-*}".$section"

  mkdir -p "$output"/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
  "$binary" --generate-completion-script bash >"$output/bash-completion/completions/$program"
  "$binary" --generate-completion-script zsh >"$output/zsh/vendor-completions/_$program"
  "$binary" --generate-completion-script fish >"$output/fish/vendor_completions.d/$program.fish"
  bash -n "$output/bash-completion/completions/$program"
done
if [ -n "$programs" ]; then exit 0; fi

# The symbol graphs come from the modules of this build.
mapfile -t libraries < <(swift package describe --type json |
  python3 -c 'import json, sys
for product in json.load(sys.stdin)["products"]:
  if "library" in product["type"]: print(product["name"])')
headers=()
for folder in Sources/C*/; do headers+=(-I "$folder"); done
# The package manager writes module maps for C modules without one.
for map in "$built"/C*.build/module.modulemap; do headers+=(-Xcc "-fmodule-map-file=$map"); done
read -ra flags < <(pkg-config --cflags libcurl libpq libnl-genl-3.0)
triple=$(swift -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["target"]["unversionedTriple"])')
toolchain=$(dirname "$(readlink -f "$(command -v swift)")")
mkdir -p "$output/doc" "$work/archives"
# document LIBRARY: makes the archive of a library, and writes faults to LIBRARY.faults.
document() {
  local library=$1 graphs=$work/graphs/$1 said=$work/$1.said
  mkdir -p "$graphs"
  if ! "$toolchain/swift-symbolgraph-extract" -module-name "$library" -target "$triple" -I "$built/Modules" \
    "${headers[@]}" "${flags[@]}" -minimum-access-level public -skip-inherited-docs -skip-synthesized-members \
    -output-dir "$graphs" >"$said" 2>&1 ||
    ! "$toolchain/docc" convert "Sources/$library/Documentation.docc" \
      --additional-symbol-graph-dir "$graphs" --fallback-display-name "$library" \
      --fallback-bundle-identifier "odograph.$library" --fallback-default-module-kind Library --ide-console-output \
      --enable-experimental-external-link-support --output-path "$work/archives/$library.doccarchive" >"$said" 2>&1
  then
    cp "$said" "$work/$library.faults"
    return
  fi
  # Parameters with clear names need no description. All other remarks of DocC are faults.
  grep -E '(warning|error): ' "$said" | grep -v "warning: Parameter '.*' is missing documentation" >"$work/$library.faults" || true
}
running=0
for library in "${libraries[@]}"; do
  # One process for each processor.
  if [ "$running" -ge "$(nproc)" ]; then wait -n; else running=$((running + 1)); fi
  document "$library" &
done
wait
status=0
for library in "${libraries[@]}"; do
  if [ -s "$work/$library.faults" ]; then cat "$work/$library.faults" >&2; status=1; fi
done
if [ "$status" -eq 0 ]; then
  archives=("${libraries[@]/#/$work/archives/}")
  archives=("${archives[@]/%/.doccarchive}")
  rm -rf "$output/doc/odograph.doccarchive"
  quietly "$toolchain/docc" merge "${archives[@]}" --output-path "$output/doc/odograph.doccarchive" \
    --synthesized-landing-page-name odograph --synthesized-landing-page-kind Package \
    --synthesized-landing-page-topics-style detailedGrid
  # All libraries must be in the common index.
  python3 - "$output/doc/odograph.doccarchive/index/index.json" "${libraries[@]}" <<'PYTHON'
import json, sys

index, *libraries = sys.argv[1:]
paths = {}


def collect(nodes):
    for node in nodes:
        paths[node.get("path", "").lower()] = node
        collect(node.get("children", []))


for nodes in json.load(open(index))["interfaceLanguages"].values():
    collect(nodes)
missing = [library for library in libraries if f"/documentation/{library.lower()}" not in paths]
sys.exit(f"not in the index: {' '.join(missing)}" if missing else 0)
PYTHON
fi
if [ "$status" -ne 0 ]; then echo "faults in the documentation, see above" >&2; fi
exit $status
