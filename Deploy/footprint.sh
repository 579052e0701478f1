#!/usr/bin/env bash
# Prints binary_mb,rss_mb: the size of odographd (Swift runtime linked in, stripped) and its resident memory after an
# hour of simulated driving at full speed. Fails above 16.6 MB of binary or 21.5 MB of memory, and if an agent module
# imports Foundation.
#
# usage: Deploy/footprint.sh [--build-path DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
install_packages "${build_packages[@]}" binutils >&2

# 16.20 MB of binary on 2026-11-28.
binary_limit_mb=16.6
limit_mb=21.5
build=.build-static
if [ "${1:-}" = --build-path ]; then build=${2:?--build-path needs a folder}; fi

agent_modules=(Platform Bytes JSON XML TOML SQLite Spatial Sensors Recordings Simulation SensorsIIO SensorsGPSD SensorsCAN SensorsRadio VehicleData SensorProxy Motion Navigation Positioning LiveSensors Telemetry LocalProtocols Settings Traces Compression
  Prometheus Pipeline StoreAndForward MQTT AgentCore odographd)
found=
for module in "${agent_modules[@]}"; do
  if [ ! -d "Sources/$module" ]; then continue; fi
  hits=$(grep -rnE '^[^/]*import (struct |class |enum |func )?Foundation(Essentials)?\b' "Sources/$module" || true)
  if [ -n "$hits" ]; then found+="$hits"$'\n'; fi
done
if [ -n "$found" ]; then
  printf 'Foundation in an agent module (use Glibc):\n%s' "$found" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
binary=$(Deploy/build-static.sh odographd --build-path "$build")
strip -o "$work/odographd" "$binary"
Deploy/pure.sh "$(dirname "$binary")" >&2
if nm -C "$binary" 2>/dev/null | grep -q 'icudt[0-9]*_dat\|_FoundationICU'; then
  echo "odographd links full Foundation, with 44 MB of ICU" >&2
  exit 1
fi
# Deploy/FoundationEssentials.swift must not trap.
status=0
"$work/odographd" --experimental-dump-help >/dev/null 2>&1 || status=$?
if [ "$status" != 64 ]; then
  echo "odographd --experimental-dump-help exited with $status instead of 64" >&2
  exit 1
fi
# The C++ parser of TOML throws exceptions. Its unwind tables are linked separately (Deploy/relro.ld).
printf '[vehicle' >"$work/wrong.toml"
status=0
"$work/odographd" check --config "$work/wrong.toml" 2>"$work/said" || status=$?
if [ "$status" != 78 ]; then
  cat "$work/said" >&2
  echo "odographd check exited with $status instead of 78 for an invalid TOML file" >&2
  exit 1
fi
binary_mb=$(awk -v bytes="$(stat -c %s "$work/odographd")" 'BEGIN { printf "%.2f", bytes / 1e6 }')

# The kernel records the peak of the hour, which is the stricter figure. At exit, libraries load 2 MB of their code
# for about a millisecond, which is not counted. Most of the peak are pages of the program. The kernel maps more of
# them per page fault if the file was just written: up to 1 MB. The file is therefore read from the disk, as after a
# boot. The result is the median of three runs after a warm-up run.
python3 - "$work/odographd" >"$work/rss" <<'PYTHON'
import os, re, statistics, subprocess, sys

# Size of a pipe's buffer and of a read. The program may already exit while its last bytes are read.
PIPE, CHUNK = 65536, 16384

def peak():
    program = subprocess.Popen([
        sys.argv[1], "run", "--print", "--set", "vehicle.id=footprint", "--set", "input.mode=simulation",
        "--set", "input.speed=0", "--set", "simulation.duration=3600", "--set", "log.level=warning"],
        stdout=subprocess.PIPE)
    peaks, count = [], 0
    while chunk := os.read(program.stdout.fileno(), CHUNK):
        count += len(chunk)
        with open(f"/proc/{program.pid}/status") as status:
            # Without this line, the program has exited.
            if found := re.search(r"VmHWM:\s+(\d+) kB", status.read()):
                peaks.append((count, int(found[1]) * 1024 / 1e6))
    if program.wait() != 0:
        sys.exit(f"odographd exited with status {program.returncode}")
    return max(peak for read, peak in peaks if read < count - PIPE - CHUNK)

file = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(file)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
os.close(file)
peak()
print("%.2f" % statistics.median(peak() for _ in range(3)))
PYTHON
rss_mb=$(cat "$work/rss")
echo "binary_mb,rss_mb"
echo "$binary_mb,$rss_mb"
awk -v a="$binary_mb" -v b="$rss_mb" -v most="$binary_limit_mb" -v limit="$limit_mb" 'BEGIN { exit !(a <= most && b <= limit) }' || {
  echo "above the limit of $binary_limit_mb MB for the binary, or of $limit_mb MB resident" >&2
  exit 1
}
