# shellcheck shell=bash
# Boots a Debian with systemd, D-Bus and a journal in a container whose only network is its own loopback.
# Sourced by ci/nspawn.

SUITE=bookworm
PACKAGES=systemd,systemd-sysv,dbus,libpam-systemd,polkitd,udev,network-manager,python3-dbus-next

# More options of systemd-nspawn for boot_container.
NSPAWN_OPTIONS=()

# make_root FOLDER: unpacks the Debian, which is built once and kept in build/nspawn under a name made of its contents.
make_root() {
  local kept=$BUILD/nspawn/$SUITE-${PACKAGES//,/-}.tar
  if [ ! -f "$kept" ]; then
    say "building a Debian $SUITE with $PACKAGES (into ${kept#"$ROOT"/})"
    mkdir -p "$BUILD/nspawn"
    mmdebstrap --quiet --variant=minbase --include="$PACKAGES" "$SUITE" "$kept.part.tar" ||
      die "mmdebstrap could not build the root file system; its messages are above"
    mv "$kept.part.tar" "$kept"
  fi
  mkdir -p "$1"
  tar -C "$1" --numeric-owner -xf "$kept"
}

# our_binary: prints the path of the binary to test: the named one, a release that is newer than every source, or a debug
# build made now.
our_binary() {
  local release=$TARGET/release/raspi-mcp
  if [ -n "${RASPI_MCP_BINARY:-}" ]; then
    [ -x "$RASPI_MCP_BINARY" ] || die "RASPI_MCP_BINARY is $RASPI_MCP_BINARY, which is not a program"
    printf '%s\n' "$RASPI_MCP_BINARY"
  elif [ -x "$release" ] && [ -z "$(find src crates schemas build.rs Cargo.toml Cargo.lock -newer "$release" -print -quit)" ]; then
    printf '%s\n' "$release"
  else
    cargo build --locked --quiet >&2
    printf '%s\n' "$TARGET/debug/raspi-mcp"
  fi
}

# install_product BINARY ROOT: installs the same files as the packages, and a configuration that allows a reboot.
install_product() {
  local binary=$1 root=$2 folder
  install -D -m 755 "$binary" "$root/usr/bin/raspi-mcp"
  for folder in systemd:lib/systemd/system sysusers.d:lib/sysusers.d tmpfiles.d:lib/tmpfiles.d \
    modules-load.d:lib/modules-load.d sysctl.d:lib/sysctl.d udev/rules.d:lib/udev/rules.d dbus-1/system.d:share/dbus-1/system.d \
    dbus-1/interfaces:share/dbus-1/interfaces conf.d:lib/raspi-mcp/conf.d; do
    install -D -m 644 -t "$root/usr/${folder#*:}" dist/"${folder%%:*}"/*
  done
  install -D -m 644 -t "$root/etc/raspi-mcp" dist/raspi-mcp.toml
  # The container is not a board; with "linux", a reboot really restarts it.
  printf 'board = "linux"\n\n[tools]\nenable = ["system", "service", "network", "process", "files", "exec"]\n' >"$root/etc/raspi-mcp/50-nspawn.toml"
  systemd-sysusers --root="$root" 2>/dev/null || die "systemd-sysusers does not accept dist/sysusers.d"
  # NetworkManager runs only in the checks of it.
  systemctl --root="$root" disable --quiet NetworkManager NetworkManager-wait-online NetworkManager-dispatcher 2>/dev/null
  systemctl --root="$root" enable --quiet raspi-mcp.service raspi-mcp-agent.service raspi-mcp-routeros.service
  # Two people: one who may administer and approve, one who may not.
  chroot "$root" useradd --groups raspi-mcp-admin,raspi-mcp-approver ann
  chroot "$root" useradd bob
}

# A name for the machine and its cgroups, which nothing else on this computer has.
MACHINE=raspi-mcp-ci-$$

# own_cgroup: moves this shell, and what it starts, into a cgroup of its own in each hierarchy that systemd uses. A container in its
# caller's cgroup shares it with every other one there: two systemds then find each other's processes in units of the same name, and
# neither may kill them ("Failed to send signal SIGKILL to auxiliary processes").
own_cgroup() {
  local id controllers path root
  while IFS=: read -r id controllers path; do
    case $id:$controllers in
      0:) root=$(findmnt -n -o TARGET -t cgroup2 | head -1) ;;
      *:name=systemd) root=$(findmnt -n -o TARGET -t cgroup -O name=systemd | head -1) ;;
      *) continue ;;
    esac
    if [ -z "$root" ]; then continue; fi
    # Inside the caller's, where a systemd on this computer may have delegated it.
    mkdir -p "$root${path%/}/$MACHINE"
    echo "$BASHPID" >"$root${path%/}/$MACHINE/cgroup.procs"
    printf '%s\n' "$root${path%/}/$MACHINE" >>"$WORK/cgroups"
  done </proc/self/cgroup
}

# remove_cgroups: removes what own_cgroup and the container made, from below.
remove_cgroups() {
  local folder
  [ -f "$WORK/cgroups" ] || return 0
  while read -r folder; do find "$folder" -depth -type d -exec rmdir {} \; 2>/dev/null || true; done <"$WORK/cgroups"
}

# boot_container ROOT: boots it, also after each reboot from inside, and waits until it is up. Sets LEADER.
boot_container() {
  local started=${EPOCHREALTIME/./}
  # systemd-nspawn(1): with --keep-unit a container that restarts itself ends with 133, for others to start it again.
  (
    own_cgroup
    status=133
    while [ "$status" = 133 ]; do
      status=0
      systemd-nspawn --quiet --boot --private-network --register=no --keep-unit --link-journal=no "${NSPAWN_OPTIONS[@]}" \
        --machine="$MACHINE" --directory="$1" &
      echo $! >"$WORK/nspawn.pid"
      wait $! || status=$?
    done
    exit "$status"
  ) </dev/null >"$WORK/console" 2>&1 &
  SUPERVISOR=$!
  until_true 60 "the container is up" is_up
  say "booted in $(((${EPOCHREALTIME/./} - started) / 1000)) ms: $(c systemctl --version | head -1), Debian $(c cat /etc/debian_version)"
}

# Every unit of the boot has started or failed; the checks decide which is right.
is_up() {
  local state
  find_leader || return 1
  state=$(PATIENCE=3 c systemctl is-system-running 2>/dev/null) || true
  [[ $state == running || $state == degraded ]]
}

# find_leader: sets LEADER to the host's process ID of the container's first process.
find_leader() {
  LEADER=$(pgrep -P "$(cat "$WORK/nspawn.pid" 2>/dev/null)" -x systemd 2>/dev/null) && [ -n "$LEADER" ]
}

stop_container() {
  # Switched off already: another process may have its ID by now.
  if ! kill -0 "${SUPERVISOR:-none}" 2>/dev/null; then
    remove_cgroups
    return 0
  fi
  # nspawn answers SIGTERM by telling the system inside to power off.
  kill "$(cat "$WORK/nspawn.pid")" 2>/dev/null || true
  if ! timeout 30 tail --pid="$SUPERVISOR" -f /dev/null; then
    say "the container did not power off in 30 s and is killed"
    kill -KILL "$(cat "$WORK/nspawn.pid")" 2>/dev/null || true
  fi
  wait "$SUPERVISOR" 2>/dev/null || true
  SUPERVISOR=
  remove_cgroups
}

# c COMMAND...: runs it in the container as root, without this environment. It is killed after a minute: a system that
# shuts down stops all processes first, and nsenter stops with the process that it waits for.
c() {
  timeout --foreground --signal=KILL "${PATIENCE:-60}" nsenter --target "$LEADER" --all env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}

# as USER COMMAND...: the same as another user, with that user's groups.
as() {
  local user=$1
  shift
  c setpriv --reuid "$user" --regid "$user" --init-groups env HOME="/home/$user" "$@"
}

# restart_halves: restarts server and agent after a change of the configuration, and resets systemd's start counter.
restart_halves() {
  c systemctl reset-failed raspi-mcp-agent raspi-mcp
  c systemctl restart raspi-mcp-agent raspi-mcp
}

# until_true SECONDS WHAT COMMAND...: tries the command ten times a second until it succeeds.
until_true() {
  local seconds=$1 what=$2 last=$((SECONDS + $1))
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$last" ] || die "not within $seconds s: $what"
    sleep 0.1
  done
}

# expect WHAT WANTED GOT
expect() {
  [ "$2" = "$3" ] || die "$1: expected \"$2\", got \"$3\""
}

# expect_in WHAT PATTERN TEXT
expect_in() {
  grep -qE -- "$2" <<<"$3" || die "$1: no \"$2\" in: $3"
}

# fails_with WHAT CODE PATTERN COMMAND...: the command must exit with that code and print a match.
fails_with() {
  local what=$1 code=$2 pattern=$3 said status=0
  shift 3
  said=$("$@" 2>&1) || status=$?
  expect "$what, exit code" "$code" "$status"
  expect_in "$what" "$pattern" "$said"
}

# show UNIT PROPERTY
show() { c systemctl show --value --property "$2" "$1"; }
