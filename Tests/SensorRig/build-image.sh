#!/usr/bin/env bash
# Builds the guest of the sensor rig: a Debian kernel and an initramfs.
#   build-image.sh [OUTDIR]                     writes OUTDIR/vmlinux and OUTDIR/initramfs.cpio
#   build-image.sh --pack DIR FILE [OUTDIR]     packs DIR and the libraries of its programs as an overlay
# Installs no packages. Reuses existing files that are still current.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
default_out=${XDG_CACHE_HOME:-$HOME/.cache}/odograph/sensor-rig

fail() { echo "build-image.sh: $*" >&2; exit 1; }

for tool in apt-get dpkg gcc strip cpio ldd xz flock /usr/bin/busybox /usr/sbin/iiod /usr/bin/iio_readdev /usr/sbin/hostapd /usr/sbin/iw; do
    command -v "$tool" >/dev/null || fail "$tool is missing: install the packages in $here/packages.txt"
done

# pack DIR FILE: writes an archive for the kernel, with identical bytes for identical content.
pack() {
    (cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z | cpio --null -o -H newc -R 0:0 --reproducible --quiet) >"$2"
}

# add_libraries ROOT: copies the libraries of all ELF programs in ROOT to the first folder of the loader's search
# path.
# Debian's /lib is a link to /usr/lib, also in the guest, so that all paths are in /usr.
add_libraries() {
    local root=$1 file library target
    while IFS= read -r -d '' file; do
        [ "$(head -c 4 "$file" | tr -d '\0')" = $'\x7fELF' ] || continue
        while read -r library; do
            target=$(cd "$(dirname "$library")" && pwd -P)/$(basename "$library")
            [ -e "$root$target" ] && continue
            mkdir -p "$root$(dirname "$target")"
            cp -L "$library" "$root$target"
        done < <(ldd "$file" 2>/dev/null | awk '$3 ~ /^\// {print $3} $1 ~ /^\// {print $1}')
    done < <(find "$root" -type f -print0)
}

merge_usr() {
    local root=$1 name
    for name in bin sbin lib lib64; do
        if [ -d "$root/$name" ] && [ ! -L "$root/$name" ]; then
            mkdir -p "$root/usr/$name"
            cp -a "$root/$name/." "$root/usr/$name/"
            rm -r "${root:?}/$name"
        fi
    done
}

# Prints the kernel package that linux-image-amd64 depends on; prints nothing if apt has no such package.
newest_kernel() {
    apt-cache depends linux-image-amd64 2>/dev/null |
        awk '$1 == "Depends:" && $2 ~ /^linux-image/ && !found {print $2; found = 1}'
}

# download_kernel PACKAGE DIR
download_kernel() {
    (cd "$2" && apt-get -q -o APT::Sandbox::User=root download "$1")
}

build() {
    local out=$1 stamp work kernel_package deb vmlinuz offset release name lock
    mkdir -p "$out"
    # Parallel tests all run this first.
    exec {lock}>"$out/lock"
    flock "$lock"
    stamp=$(find "$here/build-image.sh" "$here/guest" -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum | cut -d' ' -f1)
    stamp+=" $(dpkg-query -W -f '${Package}=${Version} ' busybox-static iiod libiio0 hostapd iw libc6)"
    if [ -s "$out/initramfs.cpio" ] && [ -s "$out/vmlinux" ] && [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then
        exec {lock}>&-
        return
    fi
    work=$(mktemp -d "$out/build.XXXXXX")
    # The path is expanded now, since it is a local variable.
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT

    # The kernel package of the current 6.1 is stored beside the image, so that a rebuild needs no network.
    deb=$(find "$out" -maxdepth 1 -name 'linux-image-*.deb' | sort | tail -n 1)
    if [ -z "$deb" ]; then
        # The machine may never have fetched its package lists.
        kernel_package=$(newest_kernel)
        if [ -z "$kernel_package" ]; then
            apt-get -qq update >&2
            kernel_package=$(newest_kernel)
        fi
        [ -n "$kernel_package" ] || fail "apt finds no linux-image-amd64, even after apt-get update"
        if ! download_kernel "$kernel_package" "$work" >&2; then
            # The package list may be older than the archive.
            apt-get -qq update >&2
            kernel_package=$(newest_kernel)
            download_kernel "$kernel_package" "$work" >&2
        fi
        mv "$work"/linux-image-*.deb "$out/"
        deb=$(find "$out" -maxdepth 1 -name 'linux-image-*.deb')
    fi
    dpkg -x "$deb" "$work/kernel"
    vmlinuz=$(echo "$work"/kernel/boot/vmlinuz-*)
    release=${vmlinuz##*/vmlinuz-}

    # QEMU starts an uncompressed kernel directly (PVH). Decompressing it in the guest would last longer than the rest
    # of the boot.
    offset=$(LC_ALL=C grep -abo $'\xFD7zXZ' "$vmlinuz" | head -n 1 | cut -d: -f1)
    [ -n "$offset" ] || fail "no xz payload in $vmlinuz"
    # The payload is followed by its size. xz reports this as damage after it has written all data.
    tail -c +"$((offset + 1))" "$vmlinuz" | xz -dc >"$work/vmlinux" 2>/dev/null || true
    [ "$(head -c 4 "$work/vmlinux")" = $'\x7fELF' ] || fail "the payload of $vmlinuz is not an ELF kernel"

    local root=$work/root
    mkdir -p "$root"/{dev,proc,sys,tmp,run,root,modules,etc} "$root"/usr/{bin,sbin,lib,lib64,local/bin}
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
    cp /usr/bin/busybox "$root/usr/bin/"
    for name in $(busybox --list); do
        [ -e "$root/usr/bin/$name" ] || ln -s busybox "$root/usr/bin/$name"
    done
    while read -r name; do
        find "$work/kernel/lib/modules/$release" -name "$name.ko" -exec cp {} "$root/modules/" \;
        [ -e "$root/modules/$name.ko" ] || fail "the kernel $release has no module $name"
    done < <(cat "$here/guest/modules" "$here/guest/modules-wifi")
    cp "$here/guest/modules" "$root/modules/order"
    cp "$here/guest/modules-wifi" "$root/modules/order-wifi"
    # Debug information is two thirds of the modules' size.
    strip --strip-debug "$root"/modules/*.ko
    cp /usr/sbin/iiod /usr/sbin/hostapd /usr/sbin/iw "$root/usr/sbin/"
    cp /usr/bin/iio_attr /usr/bin/iio_info /usr/bin/iio_readdev "$root/usr/bin/"
    install -m 755 "$here/guest/init" "$root/init"
    install -m 755 "$here/guest/iiod-ctl" "$here/guest/wifi-ctl" "$root/usr/bin/"
    gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -static -s -o "$root/usr/bin/hid-sensors" \
        "$here"/guest/*.c -lm -pthread
    for name in can-obd can-replay; do
        gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -static -s -o "$root/usr/bin/$name" \
            "$here/guest/can/$name.c" -lm
    done
    printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
    printf '127.0.0.1 localhost\n10.0.2.2 host\n' >"$root/etc/hosts"
    add_libraries "$root"
    (cd "$root" && find usr -name '*.so*' | LC_ALL=C sort) >"$work/libraries"
    pack "$root" "$work/initramfs.cpio"

    mv "$work/vmlinux" "$work/initramfs.cpio" "$work/libraries" "$out/"
    echo "$stamp" >"$out/stamp"
    exec {lock}>&-
    echo "build-image.sh: kernel $release, $(du -h "$out/initramfs.cpio" | cut -f1) initramfs in $out" >&2
}

pack_overlay() {
    local directory=$1 file=$2 out=$3 work name
    [ -d "$directory" ] || fail "no directory $directory"
    work=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    cp -a "$directory/." "$work/"
    merge_usr "$work"
    add_libraries "$work"
    # Libraries that the guest already has would only slow down the boot.
    while read -r name; do
        if [ -e "$work/$name" ] && [ ! -e "$directory/$name" ]; then rm "$work/$name"; fi
    done <"$out/libraries"
    pack "$work" "$file"
}

case ${1:-} in
--pack)
    [ $# -ge 3 ] || fail "usage: build-image.sh --pack DIR FILE [OUTDIR]"
    build "${4:-$default_out}"
    pack_overlay "$2" "$3" "${4:-$default_out}"
    ;;
-*) fail "usage: build-image.sh [OUTDIR] | --pack DIR FILE [OUTDIR]" ;;
*) build "${1:-$default_out}" ;;
esac
