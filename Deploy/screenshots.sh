#!/bin/bash
# Makes README's pictures of the page (Config/pictures): a simulated fleet on the real server, in light, in dark, on a
# phone. Uses the program of .build/release, or otherwise of .build/debug.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
source Deploy/packages.sh
install_packages mosquitto mosquitto-clients chromium libjs-leaflet python3-venv
install_python web Tests/WebTests/requirements.txt
.build/web/bin/python Tests/WebTests/screenshots.py Config/pictures
