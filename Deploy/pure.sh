#!/usr/bin/env bash
# Fails if a module without I/O can do I/O. Each of these modules may import only the modules in its row. Its objects may use only
# memory and mathematical functions of C. Fails also if a program of a backend (FleetExample, if it was built) contains code of the
# modules that compute on a vehicle. Prints the number of objects that were checked.
#
# usage: Deploy/pure.sh BUILD-FOLDER      for example .build/debug
set -euo pipefail
build=${1:?usage: Deploy/pure.sh BUILD-FOLDER}
sources=$(dirname "$0")/../Sources

# Glibc is imported for mathematics. Other functions of it are detected by their symbols. Bytes and JSON encode and
# decode in memory.
pure_modules='
Bytes        Glibc
JSON         Bytes
Spatial      Glibc
Sensors      Spatial
VehicleData  Glibc Sensors Spatial
Motion       Bytes Glibc Sensors Spatial VehicleData
Traces       Bytes Glibc Sensors Spatial
Navigation   Bytes Glibc Motion Sensors Spatial
Positioning  Bytes Glibc Sensors Spatial VehicleData
Telemetry    Bytes JSON Sensors Spatial VehicleData
LocalProtocols Bytes Glibc JSON Sensors Spatial VehicleData
Settings     Bytes JSON Motion Positioning Spatial Telemetry VehicleData
Pipeline     DequeModule JSON LocalProtocols Motion Navigation Positioning Sensors Spatial Telemetry Traces
'
c_symbols='mem(cpy|set|move|cmp)|strlen|malloc|malloc_usable_size|posix_memalign|free|__stack_chk_fail|(a?(sin|cos|tan)h?|atan2|sincos|exp2?|expm1|erfc?|log(2|10|1p)?|pow|sqrt|cbrt|hypot|floor|ceil|round|trunc|rint|nearbyint|fmod|remainder|fma|fmin|fmax|copysign)f?'

status=0 count=0
while read -r module row; do
  [ -n "$module" ] || continue
  read -ra allowed <<<"$row"
  list=$(printf '%s\n' "$module" "${allowed[@]}")
  imports=$(find "$sources/$module" -name '*.swift' -exec grep -hoE '^[^/"]*\bimport [A-Za-z_ ]+' {} + | awk '{ print $NF }' | sort -u |
    grep -vxF "$list" || true)
  if [ -n "$imports" ]; then printf '%s imports modules that may do I/O:\n%s\n' "$module" "$imports" >&2; status=1; fi

  # The build folder may still have objects of sources that were moved or deleted.
  mapfile -t objects < <(find "$sources/$module" -name '*.swift' -printf "$build/$module.build/%f.o\n" | while read -r object; do
    if [ -e "$object" ]; then echo "$object"; fi
  done)
  if [ "${#objects[@]}" -eq 0 ]; then echo "no objects in $build/$module.build: build first" >&2; exit 1; fi
  count=$((count + ${#objects[@]}))
  undefined=$(nm -u "${objects[@]}" | awk '$1 == "U" { print $2 }' | sort -u)
  # shellcheck disable=SC2016 # $s begins a mangled name
  found=$(grep -vE '^\$s|^_?_?swift' <<<"$undefined" | grep -vxE "$c_symbols" || true)
  # In a mangled name the module comes first, after its length. Glibc and Foundation could be reached through a module that
  # exports them.
  # shellcheck disable=SC2016
  found+=$(grep -E '^\$s(8Platform|5Glibc|10Foundation|11SwiftGlibc|8Dispatch)' <<<"$undefined" || true)
  if [ -n "$found" ]; then printf '%s uses symbols that may do I/O:\n%s\n' "$module" "$found" >&2; status=1; fi
done <<<"$pure_modules"

# In the agent, only the configured privacy policy may create positions for messages. Positions at a region's boundary
# are interpolated between such positions.
found=$(grep -rnw -e unrestricted -e 'manager\.process([^,]*)' "$sources"/{Pipeline,AgentCore,odographd}) || [ $? -eq 1 ] || exit 1
found+=$(grep -rn --exclude=RegionReports.swift -e '\.interpolated(' "$sources"/{Pipeline,AgentCore,odographd}) || [ $? -eq 1 ] || exit 1
if [ -n "$found" ]; then
  printf '%s\n' "$found" >&2
  echo "the agent publishes a position without its privacy policy" >&2
  status=1
fi

# A backend uses the values of messages, but not the attitude filter or the power planner.
backend=$build/FleetExample
if [ -e "$backend" ]; then
  names=$(nm "$backend" | awk '{ print $NF }')
  # shellcheck disable=SC2016
  found=$(grep -oE '^\$s(6Motion|8Pipeline|8Settings|10Navigation|11Positioning)' <<<"$names" | sort | uniq -c || true)
  if [ -n "$found" ]; then printf '%s has symbols of modules that compute on a vehicle:\n%s\n' "$backend" "$found" >&2; status=1; fi
  # shellcheck disable=SC2016
  if ! grep -qE '^\$s11VehicleData8LocationV' <<<"$names"; then echo "no symbols of VehicleData in $backend" >&2; status=1; fi
else
  echo "pure: no FleetExample in $build, so the program of a backend was not checked" >&2
fi
[ "$status" -eq 0 ] || exit 1
echo "pure: $count objects of $(grep -c . <<<"$pure_modules") modules"
