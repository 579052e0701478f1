#!/bin/bash
# Checks that openapi.json matches openapi.yaml, and checks the modules of the page: types and unused names (tsc reads
# the types from the comments), line width, trailing spaces, and timers outside of timers.js. Debian 12 has no
# prettier, and its eslint 6 cannot parse private members.
set -euo pipefail
# Widths are counted in characters.
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../Sources/CFleetPage"
status=0
../../Deploy/openapi.py --check || status=1
tsc --project types/tsconfig.json --pretty false || status=1
# found WHAT PATTERN FILE...: prints the lines that match, and fails if there are any.
found() {
  local what=$1 pattern=$2
  shift 2
  if grep -nP "$pattern" "$@"; then
    echo "page-check: $what" >&2
    status=1
  fi
}
found "lines of more than 160 characters" '^.{161,}' page/*.js types/*
found "spaces at the end of a line, or tabs" '[ \t]$|\t' page/*.js types/*
modules=()
for file in page/*.js; do [ "$file" = page/timers.js ] || modules+=("$file"); done
found "timers outside of timers.js, which owns them all" '\b((set|clear)(Timeout|Interval)|(request|cancel)AnimationFrame|requestIdleCallback)\b' "${modules[@]}"
exit $status
