#!/bin/bash
# Writes page.c anew: run it when a file of the page comes or goes. A test fails when the list is not the folder's.
set -euo pipefail
cd "$(dirname "$0")/../Sources/CFleetPage"
mapfile -t files < <(cd page && LC_ALL=C ls)
{
  cat <<'END'
// Written by Deploy/page-files.sh.
#include "CFleetPage.h"

// The files are part of the program, so that one file is all that is installed: no folder to find, none to forget.
END
  for file in "${files[@]}"; do
    printf 'static const unsigned char %s[] = {\n#embed "page/%s"\n};\n' "${file//[^a-zA-Z0-9]/_}" "$file"
  done
  printf '\nconst fleet_page_file fleet_page_files[] = {\n'
  for file in "${files[@]}"; do printf '  {"%s", %s, sizeof %s},\n' "$file" "${file//[^a-zA-Z0-9]/_}" "${file//[^a-zA-Z0-9]/_}"; done
  printf '};\n\nconst size_t fleet_page_file_count = sizeof fleet_page_files / sizeof fleet_page_files[0];\n'
} > page.c
