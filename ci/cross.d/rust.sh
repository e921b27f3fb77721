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

# rust_triple MACHINE: what rustc calls it.
rust_triple() {
  case $1 in
    aarch64) echo aarch64-unknown-linux-gnu ;;
    armv7) echo armv7-unknown-linux-gnueabihf ;;
    x86_64) echo x86_64-unknown-linux-gnu ;;
  esac
}

# program_features MACHINE: cargo's options for the features of the program, a line each. Devices have no console of a fleet: it is in the
# build for this computer's kind (decision 326).
program_features() {
  if [ "$1" != x86_64 ]; then printf '%s\n' --no-default-features --features guard --features fleet --features routeros; fi
}

# need_compiler MACHINE: the C compiler that links for it, and compiles SQLite and ring; with it come the kernel's headers.
need_compiler() {
  case $1 in
    aarch64)
      need_debian aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
      need_packing_linker
      ;;
    armv7)
      need_debian arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
      need_packing_linker
      ;;
    x86_64) need_debian x86_64-linux-gnu-gcc gcc libc6-dev ;;
  esac
  if [ "$1" != x86_64 ] && ! grep -qxF "[target.$(rust_triple "$1")]" Cross.toml; then
    die "Cross.toml does not name $(rust_triple "$1"): users of cross would not build what ci/cross builds"
  fi
}

# Debian 12's GNU linker packs no relative relocations for other machines: 450 kB of the program for arm64, 170 for armv7.
need_packing_linker() {
  need_debian ld.lld-16 lld-16
  mkdir -p "$BUILD/cross/ld"
  ln -sf "$(command -v ld.lld-16)" "$BUILD/cross/ld/ld"
}

# need_cross MACHINE...: all that cross_cargo takes.
need_cross() {
  local machine
  need_rust
  need_cross_rust
  for machine in "$@"; do need_compiler "$machine"; done
}

# cross_cargo MACHINE COMMAND ARGUMENTS...: cargo, with the packaged Rust, for that machine, into build/cross/target-MACHINE.
cross_cargo() {
  local machine=$1 command=$2 triple under upper gnu remap cargo
  shift 2
  triple=$(rust_triple "$machine")
  gnu=$(gnu_triple "$machine")
  under=${triple//-/_}
  upper=${under^^}
  cargo=(cargo "$command" --locked --target "$triple" "$@")
  # The standard library from its source, which stable cargo must be told to: armhf's package is older than our crates allow, and one
  # that is compiled for size like the rest, and reads no symbols for backtraces (the program has none), is smaller (decision 338).
  if [ "$machine" != x86_64 ]; then
    cargo=(env RUSTC_BOOTSTRAP=1 "${cargo[@]}" "-Zbuild-std=std,panic_unwind" "-Zbuild-std-features=panic-unwind,optimize_for_size")
  fi
  # bindgen reads the kernel's header as that machine's compiler would.
  [ "$machine" = x86_64 ] || cargo=(env "BINDGEN_EXTRA_CLANG_ARGS_$under=--sysroot=/usr/$gnu" "${cargo[@]}")
  [ "$machine" = x86_64 ] || cargo=(env "RASPI_MCP_LD=$BUILD/cross/ld" "${cargo[@]}")
  # The binary names no folder of the machine that built it.
  remap="--remap-path-prefix=$ROOT=/raspi-mcp --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
  # A folder each: what stable cargo is told for one machine would have it build everything anew for the other.
  env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS "RUSTC=$RUST/rustc" "CARGO_TARGET_DIR=$BUILD/cross/target-$machine" \
    "CARGO_TARGET_${upper}_LINKER=$gnu-gcc" \
    "CARGO_TARGET_${upper}_RUSTFLAGS=$remap --remap-path-prefix=$RUST/usr/src=/rust" "${cargo[@]}"
}

# build_hardware_test MACHINE: builds the assertions of tests/hardware.rs for it and prints the program's path. Only a few crates are
# optimised, which saves minutes. ci/bench, which measures times, sets OPTIMISED=1.
build_hardware_test() {
  local machine=$1 log=$BUILD/cross/hardware-$1.log program crate options=()
  for crate in gpio-cdev jpeg-encoder png fdeflate zune-jpeg; do
    options+=(--config "profile.dev.package.\"$crate\".opt-level=2")
  done
  [ -z "${OPTIMISED:-}" ] || options+=(--config profile.dev.opt-level=1)
  mkdir -p "$BUILD/cross"
  say "building the assertions for $machine (see ${log#"$ROOT"/}) ..." >&2
  program=$(cross_cargo "$machine" build "${options[@]}" --test hardware --message-format=json 2>"$log" |
    sed -nE 's/.*"name":"hardware".*"executable":"([^"]+)".*/\1/p') || true
  [ -x "$program" ] || {
    tail -40 "$log" >&2
    return 1
  }
  printf '%s\n' "$program"
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

# answers_alike MACHINE: the program for it answers calls of ten tools under emulation as it does here.
answers_alike() {
  local machine=$1 work
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the folder of this call
  trap "stop_server; rm -rf '$work'" EXIT
  need_emulator "$machine"
  sandbox "$work/sandbox"
  start_server "$work/log" "${EMULATOR[@]}" "$BUILD/cross/$machine/raspi-mcp" serve --http 127.0.0.1:0
  RASPI_MCP_GROUND=$SERVER_URL cargo test --locked --quiet --test it -- grounds::ten_tools --nocapture | tee "$work/said"
  # cargo succeeds even if the filter matches no test.
  grep -q "tools answered alike on $SERVER_URL" "$work/said" || die "the conversation did not run"
  stop_server
}

# glibc_needed BINARY: the newest version of its symbols.
glibc_needed() {
  local version
  version=$(readelf --version-info "$1" | grep -oE '\bGLIBC_[0-9.]+' | sort -uV | tail -1)
  [ -n "$version" ] || die "$1 names no glibc version"
  echo "${version#GLIBC_}"
}
