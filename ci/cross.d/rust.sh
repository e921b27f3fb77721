# shellcheck shell=bash
# Debian's packaged Rust, unpacked below build/rust beside whatever Rust the machine has: nothing is installed, so it
# cannot quarrel with rustup. rustup's own standard libraries for other machines are no Debian package; this is how a
# machine without Docker builds for them. Sourced by ci/cross, after ci/lib.sh.

RUST=$BUILD/rust
# The packages that were unpacked. Delete build/rust for newer ones.
RUST_STAMP=$RUST/.packages

# apt with lists of its own, which also knows arm64: the system's sources and lists stay as they are.
cross_apt() {
  local command=$1 lists=$BUILD/apt
  shift
  mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial"
  "$command" -o Dir::State::Lists="$lists/lists" -o Dir::Cache="$lists/cache" -o APT::Sandbox::User="" \
    -o APT::Architectures::="$(dpkg --print-architecture)" -o APT::Architectures::=arm64 "$@"
}

# need_cross_rust: makes $RUST/rustc, with the standard libraries of this machine and of aarch64 as packaged, and the
# source of the standard library for machines whose package is too old (Debian has armhf's of 1.85 only).
need_cross_rust() {
  [ -s "$RUST_STAMP" ] || bring_cross_rust
  "$RUST/rustc" --version >/dev/null || die "$RUST/rustc does not run: delete build/rust and try again"
}

bring_cross_rust() {
  local packages unpacked=$RUST.new package
  [ "$(dpkg --print-architecture)" = amd64 ] || die "ci/cross builds from amd64; this is $(dpkg --print-architecture)"
  say "bringing Debian's rustc-web into build/rust ..."
  cross_apt apt-get -qq update
  # What rustc loads: its driver and LLVM have their versions in their names.
  mapfile -t packages < <(cross_apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances rustc-web | grep -E '^(rustc-web|libstd-rust-web|libllvm|libz3|libedit|libbsd|libmd)[^:]*$' | sort -u)
  [[ " ${packages[*]} " == *" libllvm"* ]] || die "found no rustc-web with its LLVM in the Debian sources of this machine"
  rm -rf "$unpacked" "$BUILD/debs/rust"
  mkdir -p "$unpacked" "$BUILD/debs/rust"
  (cd "$BUILD/debs/rust" && cross_apt apt-get -qq download "${packages[@]}" libstd-rust-web-dev:arm64 rust-web-src)
  for package in "$BUILD"/debs/rust/*.deb; do dpkg-deb --extract "$package" "$unpacked"; done
  write_rustc "$unpacked/rustc"
  (cd "$BUILD/debs/rust" && printf '%s\n' *.deb) >"$unpacked/$(basename "$RUST_STAMP")"
  rm -rf "$RUST" "$BUILD/debs/rust"
  mv "$unpacked" "$RUST"
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

# need_emulator ARCH: sets EMULATOR to what runs a program of that machine here: qemu's user mode with the cross compiler's
# libc. Unpacked, not installed: installing would register it with the kernel for every program.
need_emulator() {
  local qemu=$BUILD/qemu-user/usr/bin/qemu-${1/armv7/arm}-static
  if [ ! -x "$qemu" ]; then
    say "bringing qemu-user-static into build/qemu-user ..."
    rm -rf "$BUILD/debs/qemu-user"
    mkdir -p "$BUILD/debs/qemu-user" "$BUILD/qemu-user"
    cross_apt apt-get -qq update
    (cd "$BUILD/debs/qemu-user" && cross_apt apt-get -qq download qemu-user-static)
    dpkg-deb --extract "$BUILD"/debs/qemu-user/*.deb "$BUILD/qemu-user"
    rm -rf "$BUILD/debs/qemu-user"
  fi
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
