#!/usr/bin/env bash
# Prints binary_mb,rss_mb: the size of odographd, Swift runtime linked in, stripped; and its resident memory after an
# hour of simulated driving, played fast. Fails above 20 MB either way, and when Foundation enters an agent module.
#
# usage: Deploy/footprint.sh [--build-path DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
install_packages "${build_packages[@]}" binutils >&2

limit_mb=20
build=.build-static
if [ "${1:-}" = --build-path ]; then build=${2:?--build-path needs a folder}; fi

# FoundationEssentials alone is allowed, and only where the configuration is read.
agent_modules=(Platform Spatial Sensors SensorsIIO SensorsGPSD Motion Positioning Telemetry StoreAndForward MQTT AgentCore
  odographd)
found=
for module in "${agent_modules[@]}"; do
  if [ ! -d "Sources/$module" ]; then continue; fi
  hits=$(grep -rnE '^[^/]*import (struct |class |enum |func )?Foundation(Essentials)?\b' "Sources/$module" || true)
  if [ "$module" = AgentCore ]; then hits=$(grep -v 'FoundationEssentials' <<<"$hits" || true); fi
  if [ -n "$hits" ]; then found+="$hits"$'\n'; fi
done
if [ -n "$found" ]; then
  printf 'Foundation in an agent module (use Glibc):\n%s' "$found" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
swift build -c release --static-swift-stdlib --product odographd --scratch-path "$build" -Xswiftc -Osize -Xlinker --icf=all \
  -Xlinker --gc-sections -Xlinker "--version-script=$PWD/Deploy/exports.map" >"$work/build" 2>&1 || { cat "$work/build" >&2; exit 1; }
binary=$(swift build -c release --static-swift-stdlib --scratch-path "$build" --show-bin-path)/odographd
strip -o "$work/odographd" "$binary"
if nm -C "$binary" 2>/dev/null | grep -q 'icudt[0-9]*_dat\|_FoundationICU'; then
  echo "the whole of Foundation is linked into odographd, with its 44 MB of ICU" >&2
  exit 1
fi
binary_mb=$(awk -v bytes="$(stat -c %s "$work/odographd")" 'BEGIN { printf "%.2f", bytes / 1e6 }')

# The peak over the whole hour is the stricter figure, and the kernel keeps it for us.
python3 - "$work/odographd" >"$work/rss" <<'PYTHON'
import resource, subprocess, sys
done = subprocess.run(
    [sys.argv[1], "run", "--print", "--set", "vehicle.id=footprint", "--set", "input.mode=simulation",
     "--set", "input.speed=0", "--set", "simulation.duration=3600", "--set", "log.level=warning"],
    stdout=subprocess.DEVNULL)
if done.returncode != 0:
    sys.exit(f"odographd ended with status {done.returncode}")
print("%.2f" % (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6))
PYTHON
rss_mb=$(cat "$work/rss")
echo "binary_mb,rss_mb"
echo "$binary_mb,$rss_mb"
awk -v a="$binary_mb" -v b="$rss_mb" -v limit="$limit_mb" 'BEGIN { exit !(a <= limit && b <= limit) }' || {
  echo "above the limit of $limit_mb MB" >&2
  exit 1
}
