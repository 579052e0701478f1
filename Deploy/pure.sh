#!/usr/bin/env bash
# Fails when the module Pipeline can do I/O: its imports and the symbols that its objects want of others are named here, and
# nothing else is allowed. Prints the number of objects that it looked at.
#
# usage: Deploy/pure.sh OBJECT-FOLDER      as in .build/debug/Pipeline.build
set -euo pipefail
objects=${1:?usage: Deploy/pure.sh OBJECT-FOLDER}
sources=$(dirname "$0")/../Sources/Pipeline

modules='DequeModule|JSON|Motion|Navigation|Pipeline|Positioning|Sensors|Spatial|Telemetry|Traces'
imports=$(grep -hoE '^([a-z]+ )*import .*' "$sources"/*.swift "$sources"/*/*.swift 2>/dev/null | awk '{ print $NF }' | sort -u |
  grep -vxE "$modules" || true)
if [ -n "$imports" ]; then
  printf 'Pipeline imports what may do I/O:\n%s\n' "$imports" >&2
  exit 1
fi

# Of C only memory and mathematics; of Swift no module of ours that touches the machine.
c_symbols='mem(cpy|set|move|cmp)|strlen|malloc|malloc_usable_size|posix_memalign|free|__stack_chk_fail|(a?(sin|cos|tan)h?|atan2|sincos|exp2?|expm1|log(2|10|1p)?|pow|sqrt|cbrt|hypot|floor|ceil|round|trunc|rint|nearbyint|fmod|remainder|fma|fmin|fmax|copysign)f?'
count=$(find "$objects" -name '*.o' | wc -l)
if [ "$count" -eq 0 ]; then
  echo "no objects in $objects: build first" >&2
  exit 1
fi
undefined=$(find "$objects" -name '*.o' -print0 | xargs -0 nm -u | awk '$1 == "U" { print $2 }' | sort -u)
# shellcheck disable=SC2016 # $s begins a mangled name
found=$(grep -vE '^\$s|^_?_?swift' <<<"$undefined" | grep -vxE "$c_symbols" || true)
# shellcheck disable=SC2016
found+=$(grep -E '^\$s' <<<"$undefined" |
  grep -E '8Platform|4MQTT|15StoreAndForward|10SensorsIIO|11SensorsGPSD|10SensorsCAN|12SensorsRadio|5Glibc|10Foundation' || true)
if [ -n "$found" ]; then
  printf 'Pipeline wants symbols that may do I/O:\n%s\n' "$found" >&2
  exit 1
fi
echo "pure: $count objects of Pipeline"
