# shellcheck shell=bash
# A store for buildah with a fresh Debian 12 instead of Docker Hub's image. Sourced by the scripts that build Deploy/container.

# debian_base WORK [ARCHITECTURE]: creates the store in the folder WORK, with the base image of the Containerfile.
debian_base() {
  local work=$1 architecture=${2:-$(dpkg --print-architecture)} container
  local -a dated=()
  if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then dated=(--timestamp "$SOURCE_DATE_EPOCH"); fi
  # Independent of the host's container store and settings.
  export CONTAINERS_STORAGE_CONF=$work/storage.conf BUILDAH_ISOLATION=chroot
  printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/images"\nrunroot = "%s/run"\n' "$work" "$work" >"$CONTAINERS_STORAGE_CONF"
  # apt downloads as root or as its own user, depending on the permissions of WORK. The owner of these folders must be
  # the same in each run.
  # shellcheck disable=SC2016 # $1 is the hook's
  mmdebstrap --quiet --variant=minbase --architectures="$architecture" \
    --customize-hook='chroot "$1" chown _apt:root /var/cache/apt/archives/partial /var/lib/apt/lists/partial' \
    bookworm "$work/base.tar" >"$work/base.log" 2>&1 ||
    { cat "$work/base.log" >&2; echo "mmdebstrap cannot create a Debian 12; check that a Debian mirror is reachable" >&2; return 1; }
  container=$(buildah from --arch "$architecture" scratch)
  buildah add --quiet "$container" "$work/base.tar" / >/dev/null
  buildah commit --quiet "${dated[@]}" "$container" docker.io/library/debian:bookworm-slim >/dev/null
  buildah rm "$container" >/dev/null
  rm "$work/base.tar"
}

# containers_gone WORK: deletes the store.
containers_gone() { rm -rf --one-file-system "$1/images" "$1/run" "$1/storage.conf"; }
