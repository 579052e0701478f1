#!/usr/bin/env bash
# Build step of Deploy/arm64.sh in the root with Debian's Swift: builds /src for arm64 into /build/bin, stripped.
set -euo pipefail
cd /src
sdk=/sdk/debian12-arm64.artifactbundle
libraries=$sdk/sysroot/usr/lib/aarch64-linux-gnu
export PKG_CONFIG_PATH=$libraries/pkgconfig:$sdk/sysroot/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$sdk/sysroot

clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
"$clang" -target aarch64-unknown-linux-gnu --sysroot "$sdk/sysroot" -O2 -fPIC -fstack-protector-strong \
  -c Deploy/arm64-compat.c -o /build/compat.o

# Same options as in Deploy/build-static.sh. Debian's compiler verifies its intermediate code, and fails at throwing
# initializers of noncopyable types; this disables the verification.
options=(-c release --swift-sdks-path /sdk --swift-sdk debian12-arm64 --static-swift-stdlib --scratch-path /build/out
  -Xswiftc -Osize -Xswiftc -Xfrontend -Xswiftc -sil-verify-none -Xcc -fstack-protector-strong
  -Xswiftc "-ld-path=$(command -v aarch64-linux-gnu-ld.bfd)" -Xlinker --gc-sections -Xlinker -z -Xlinker pack-relative-relocs
  -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now -Xlinker -T -Xlinker "$PWD/Deploy/relro.ld" -Xlinker /build/compat.o
  -Xlinker --build-id=none)
mkdir -p /build/bin
for product in odographd odograph; do
  extra=()
  if [ "$product" = odographd ]; then extra=(-Xlinker -z -Xlinker start-stop-gc -Xlinker "--version-script=$PWD/Deploy/exports.map"); fi
  swift build "${options[@]}" "${extra[@]}" --product "$product" >/build/log 2>&1 || { tail -n 60 /build/log >&2; exit 1; }
  aarch64-linux-gnu-strip --remove-section=.comment -o "/build/bin/$product" "/build/out/aarch64-unknown-linux-gnu/release/$product"
done
