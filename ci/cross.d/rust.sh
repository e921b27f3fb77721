# shellcheck shell=bash
# Debian's packaged Rust, unpacked below build/rust beside whatever Rust the machine has: nothing is installed, so it
# cannot quarrel with rustup. rustup's own standard libraries for other machines are no Debian package; this is how a
# machine without Docker builds for them. Sourced by ci/cross, after ci/lib.sh.

# shellcheck source=ci/debian.sh
. "$ROOT/ci/debian.sh"

# Delete it for newer packages.
RUST=$BUILD/rust

# need_cross_rust: makes $RUST/rustc, with the standard libraries of this machine and of aarch64 as packaged, and the
# source of the standard library for machines whose package is too old (Debian has armhf's of 1.85 only).
need_cross_rust() {
  if [ ! -x "$RUST/rustc" ]; then bring_cross_rust; fi
  "$RUST/rustc" --version >/dev/null || die "$RUST/rustc does not run: delete build/rust and try again"
}

bring_cross_rust() {
  local packages
  [ "$HOST_ARCH" = amd64 ] || die "ci/cross builds on amd64; this is $HOST_ARCH"
  debian_update
  # What rustc loads: its driver and LLVM have their versions in their names.
  mapfile -t packages < <(apt-cache "${DEBIAN_OPTIONS[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances rustc-web | grep -E '^(rustc-web|libstd-rust-web|libllvm|libz3|libedit|libbsd|libmd)[^:]*$' | sort -u)
  [[ " ${packages[*]} " == *" libllvm"* ]] || die "found no rustc-web with its LLVM in the Debian sources of this machine"
  debian_unpack "$RUST" "${packages[@]}" libstd-rust-web-dev:arm64 rust-web-src
  write_rustc "$RUST/rustc"
}

# A rustc that finds its own libraries, wherever the folder is.
write_rustc() {
  cat >"$1" <<'RUSTC'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH=$here/usr/lib/x86_64-linux-gnu exec "$here/usr/bin/rustc" "$@"
RUSTC
  chmod +x "$1"
}

# need_emulator MACHINE: sets EMULATOR to what runs a program of that machine here: qemu's user mode with the cross compiler's
# libc. Unpacked, not installed: installing would register it with the kernel for every program.
need_emulator() {
  local qemu=$BUILD/qemu-user/usr/bin/qemu-${1/armv7/arm}-static
  debian_unpack "$BUILD/qemu-user" qemu-user-static
  EMULATOR=("$qemu" -L "/usr/$(gnu_triple "$1")")
  "${EMULATOR[@]}" --version >/dev/null || die "$qemu does not run"
}

gnu_triple() {
  case $1 in
    aarch64) echo aarch64-linux-gnu ;;
    armv7) echo arm-linux-gnueabihf ;;
    x86_64) echo x86_64-linux-gnu ;;
    *) die "unknown machine \"$1\": aarch64, armv7 or x86_64" ;;
  esac
}

# glibc_needed BINARY: the newest version of its symbols.
glibc_needed() {
  local version
  version=$(readelf --version-info "$1" | grep -oE '\bGLIBC_[0-9.]+' | sort -uV | tail -1)
  [ -n "$version" ] || die "$1 names no glibc version"
  echo "${version#GLIBC_}"
}
