#!/usr/bin/env bash
# Checks the container files without a container engine and without Docker Hub: the compose file by its schema and for missing
# files, secrets and settings. With --build, buildah builds and starts every image.
#
# usage: Deploy/container-check.sh [--build [--packages DIR]]
#   --build     requires root; the base image is a fresh Debian 12 made by mmdebstrap
#   --packages  use the Debian packages of DIR instead of building them
# Not tested: the services together, and devices in them.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=Deploy/packages.sh
. Deploy/packages.sh
# shellcheck source=Deploy/container-base.sh
. Deploy/container-base.sh

build='' packages=''
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=1; shift ;;
    --packages) packages=${2:?--packages needs a folder}; shift 2 ;;
    *) echo "usage: Deploy/container-check.sh [--build [--packages DIR]]" >&2; exit 64 ;;
  esac
done
install_packages "${container_packages[@]}" >&2
fail() { echo "container: $1" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work/container"
cp Deploy/container/{Containerfile,compose.yaml} "$work/container"

# Steps of the comment in compose.yaml, in a copy of the folder.
(
  cd "$work/container"
  kit=$OLDPWD/Config/mosquitto/certificates.sh
  "$kit" authority "My fleet"
  "$kit" broker broker
  "$kit" vehicle default van-1
  "$kit" member dashboard
  openssl rand -hex 24 >postgres-password
  echo "postgres:5432:odograph:odograph:$(cat postgres-password)" >pgpass
) >/dev/null
docker-compose -f "$work/container/compose.yaml" config --quiet || fail "the compose file is not valid"

/usr/bin/python3 - "$work/container" <<'PYTHON'
import os, re, sys, yaml

folder = sys.argv[1]
with open(f"{folder}/compose.yaml", encoding="utf-8") as file:
    compose = yaml.safe_load(file)
with open(f"{folder}/Containerfile", encoding="utf-8") as file:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", file.read(), re.MULTILINE))
with open("Config/odograph.toml", encoding="utf-8") as file:
    keys, table = set(), ""
    for line in file:
        if found := re.match(r"\[(\w+)\]", line):
            table = found[1]
        elif found := re.match(r"(?:# )?(\w+) = ", line):
            keys.add(f"ODOGRAPH_{table}_{found[1]}".upper())

def exists(path):
    # Paths beside the compose file are looked up in the copy, all others in the repository.
    near = os.path.join(folder, path)
    return os.path.exists(near if not path.startswith("../") else os.path.join("Deploy/container", path))

faults = []
for name, service in compose["services"].items():
    if "build" in service and service["build"]["target"] not in stages:
        faults.append(f"{name}: the Containerfile has no stage {service['build']['target']}")
    for volume in service.get("volumes", []):
        source = volume.split(":")[0]
        if source.startswith("."):
            if not exists(source):
                faults.append(f"{name}: {source} does not exist")
        elif not source.startswith("/") and source not in compose["volumes"]:
            faults.append(f"{name}: the volume {source} is not declared")
    for secret in service.get("secrets", []):
        secret = secret if isinstance(secret, str) else secret["source"]
        if secret not in compose["secrets"]:
            faults.append(f"{name}: the secret {secret} is not declared")
    for variable in service.get("environment", {}):
        if variable.startswith("ODOGRAPH_") and variable not in keys:
            faults.append(f"{name}: odograph.toml has no key for {variable}")
    for other in service.get("depends_on", []):
        if other not in compose["services"]:
            faults.append(f"{name}: the service {other} does not exist")
for name, secret in compose["secrets"].items():
    if not exists(secret["file"]):
        faults.append(f"the secret {name}: {secret['file']} does not exist")
sys.exit("\n".join(faults) or None)
PYTHON
echo "ok  the compose file is valid, and all files, secrets and settings exist"
if [ -z "$build" ]; then exit 0; fi

[ "$(id -u)" -eq 0 ] || fail "--build needs root"
mkdir "$work/container/packages"
if [ -z "$packages" ]; then
  Deploy/package.sh --output "$work/container/packages" >/dev/null
else
  cp "$packages"/*.deb "$work/container/packages"
fi
debian_base "$work" || fail "no base image"
for target in odographd odograph broker gpsd; do
  buildah build --pull-never --network host --target "$target" -t "$target" "$work/container" >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log" >&2; fail "$target cannot be built"; }
  container=$(buildah from --pull-never "localhost/$target")
  case $target in
    broker) said=$(buildah run "$container" -- /usr/sbin/mosquitto -h 2>&1 | head -n 1) || true ;;
    gpsd) said=$(buildah run "$container" -- /usr/sbin/gpsd --version) ;;
    *)
      said=$(buildah run "$container" -- "/usr/bin/$target" --version)
      user=$(buildah run "$container" -- id -u)
      [ "$user" = 900 ] || fail "$target runs as user $user"
      ;;
  esac
  [ -n "$said" ] || fail "$target does not start"
  printf 'ok  %-10s %s\n' "$target" "$said"
  buildah rm "$container" >/dev/null
done
