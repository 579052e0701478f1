#!/bin/bash
# Regenerates page.c and the list of preloaded modules in index.html. Run it after adding or removing a file of the
# page, or changing its imports. Tests fail if either differs from the folder.
set -euo pipefail
cd "$(dirname "$0")/../Sources/CFleetPage"
# Without preloading, nested imports cost one round trip per level.
{
  sed '/rel="modulepreload"/,$d' page/index.html | sed '/type="module"/,$d'
  for file in page/*.js; do
    # Classic scripts are not modules.
    [[ $file = */theme-early.js || $file = */app.js ]] || printf '<link rel="modulepreload" href="%s">\n' "${file#page/}"
  done
  printf '<link rel="modulepreload" href="%s">\n' vendor/leaflet/leaflet.esm.min.js
  sed -n '/type="module"/,$p' page/index.html
} > page/index.html.new
mv page/index.html.new page/index.html
mapfile -t files < <(cd page && LC_ALL=C ls)
{
  cat <<'END'
// Written by Deploy/page-files.sh.
#include "CFleetPage.h"

// The files are embedded, so that the program needs no data folder.
END
  for file in "${files[@]}"; do
    printf 'static const unsigned char %s[] = {\n#embed "page/%s"\n};\n' "${file//[^a-zA-Z0-9]/_}" "$file"
  done
  printf '\nconst fleet_page_file fleet_page_files[] = {\n'
  for file in "${files[@]}"; do printf '  {"%s", %s, sizeof %s},\n' "$file" "${file//[^a-zA-Z0-9]/_}" "${file//[^a-zA-Z0-9]/_}"; done
  printf '};\n\nconst size_t fleet_page_file_count = sizeof fleet_page_files / sizeof fleet_page_files[0];\n'
} > page.c
