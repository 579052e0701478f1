#!/usr/bin/env bash
# Fails unless each program has Debian's hardening: position independent, addresses bound at start and then read-only,
# no executable stack, C code with stack protector and fortified calls. Accepts programs of any architecture.
#
# usage: Deploy/hardened.sh PROGRAM...
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: Deploy/hardened.sh PROGRAM..." >&2; exit 64; }

# has WHAT PATTERN FILE: reports a fault unless a line of readelf's output matches.
has() { grep -qE "$2" "$3" || { echo "$program: $1" >&2; faults=1; }; }

faults=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in "$@"; do
  readelf --wide --file-header --program-headers --dynamic --dyn-syms "$program" >"$work/elf"
  has "is not position independent (PIE)" 'Flags:.* PIE' "$work/elf"
  has "has no segment that is read-only after relocation (RELRO)" '^ +GNU_RELRO ' "$work/elf"
  has "binds addresses late (no BIND_NOW)" 'Flags: .*NOW' "$work/elf"
  has "has an executable stack" '^ +GNU_STACK +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +RW  ' "$work/elf"
  has "has no stack protector" 'UND __stack_chk_fail' "$work/elf"
  has "has no fortified call" 'UND __[a-z]+_chk@' "$work/elf"
done
[ -z "$faults" ] || exit 1
echo "hardened: $#"
