# shellcheck shell=bash
# Tests of permissions: server, agent, users, and systemd's assessment. Sourced by ci/nspawn.

check_units() {
  local said
  said=$(c systemd-analyze verify --man=no /usr/lib/systemd/system/raspi-mcp.service \
    /usr/lib/systemd/system/raspi-mcp-agent.service /usr/lib/systemd/system/raspi-mcp-trial.service \
    /usr/lib/systemd/system/raspi-mcp-trial.timer /usr/lib/systemd/system/raspi-mcp-approval.service \
    /usr/lib/systemd/system/raspi-mcp-approval.socket /usr/lib/systemd/system/raspi-mcp-routeros.service 2>&1)
  expect "systemd-analyze verify" "" "$said"
  said=$(c env SYSTEMD_LOG_LEVEL=info udevadm test /devices/virtual/mem/null 2>&1 | grep raspi-mcp || true)
  expect "udev about our rules" "" "$said"
  said=$(c journalctl --boot --no-pager --quiet -u dbus | grep -i 'raspi-mcp' || true)
  expect "dbus-daemon about our policy" "" "$said"
  expect "failed units" "" "$(c systemctl --failed --plain --no-legend)"
  say "systemd, udev and dbus-daemon report nothing about our files, and nothing failed"
}

check_ready() {
  local unit
  for unit in raspi-mcp raspi-mcp-agent; do
    expect "$unit's type" notify "$(show $unit Type)"
    expect "$unit" active "$(c systemctl is-active $unit)"
    expect "$unit's restarts" 0 "$(show $unit NRestarts)"
    expect_in "$unit's status" '^listening on ' "$(show $unit StatusText)"
    [ "$(show $unit WatchdogUSec)" != 0 ] || die "$unit has no watchdog"
  done
  say "both active and notified: $(show raspi-mcp StatusText)"
}

# field PID NAME: prints a line of /proc/PID/status.
field() { c sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }

# capless PID FIELD...: checks that those capability sets are empty.
capless() {
  local pid=$1 set
  shift
  for set in "$@"; do expect "$set" 0000000000000000 "$(field "$pid" "$set")"; done
}

check_server_rights() {
  local pid group uid
  pid=$(show raspi-mcp MainPID) uid=$(c id -u raspi-mcp)
  [ "$uid" != 0 ] || die "raspi-mcp is root"
  expect uid "$(printf '%s\t%s\t%s\t%s' "$uid" "$uid" "$uid" "$uid")" "$(field "$pid" Uid)"
  capless "$pid" CapInh CapPrm CapEff CapBnd CapAmb
  expect "no new privileges" 1 "$(field "$pid" NoNewPrivs)"
  for group in gpio i2c spi dialout video systemd-journal; do
    expect_in "group $group" "(^| )$(c getent group $group | cut -d: -f3)( |\$)" "$(field "$pid" Groups)"
  done
  expect "root's door of its socket" "660 raspi-mcp raspi-mcp" "$(c stat -c '%a %U %G' /run/raspi-mcp/mcp-root.sock)"
  expect "the doors of the agent's" "660 root raspi-mcp-approver, 660 root raspi-mcp-approval, 600 root root, 660 root raspi-mcp-routeros, 660 root raspi-mcp" \
    "$(c sh -c 'stat -c "%a %U %G" /run/raspi-mcp-agent/agent-*.sock' | paste -sd, | sed 's/,/, /g')"
  # The same unit with another program in it: this tests the kernel's behaviour, not the text of the file.
  probe raspi-mcp \
    'socket AF_INET ok' 'socket AF_INET6 ok' 'socket AF_UNIX ok' 'socket AF_NETLINK ok' 'socket AF_PACKET no' \
    'write /var/lib/raspi-mcp ok' 'write /run/raspi-mcp ok' \
    'write /etc/raspi-mcp no' 'write /usr no' 'write /var/lib no' 'write /home no' 'write /root no' \
    'write /var/lib/raspi-mcp-agent no' 'read /var/lib/raspi-mcp-agent no' 'read /proc/1/status ok' \
    'write /sys/kernel no' 'write /proc/sys/kernel no' 'hostname no' 'mount no' 'unshare no' 'kill 1 no'
  say "uid $uid, hardware groups, no capability; has network, writes only to its own folders"
}

check_agent_rights() {
  local pid
  pid=$(show raspi-mcp-agent MainPID)
  expect uid "$(printf '0\t0\t0\t0')" "$(field "$pid" Uid)"
  capless "$pid" CapInh CapAmb
  # CAP_DAC_READ_SEARCH, CAP_KILL and CAP_SYS_PTRACE, and no other.
  expect "the agent's capabilities" 0000000000080024 "$(field "$pid" CapBnd)"
  expect "no new privileges" 1 "$(field "$pid" NoNewPrivs)"
  # The lines of an approval button, and no disk, no memory, no terminal.
  expect "the agent's devices" closed "$(show raspi-mcp-agent DevicePolicy)"
  expect_in "the agent's devices" '^char-gpiochip rw' "$(show raspi-mcp-agent DeviceAllow)"
  # The container has only lo as well, so the namespace must be another one.
  [ "$(c readlink "/proc/$pid/ns/net")" != "$(c readlink /proc/1/ns/net)" ] || die "the agent is in the machine's network namespace"
  expect "interfaces" lo "$(c nsenter --target "$pid" --net sed -n 's/^ *\([a-z0-9]*\):.*/\1/p' /proc/net/dev)"
  probe raspi-mcp-agent \
    'socket AF_INET no' 'socket AF_INET6 no' 'socket AF_NETLINK no' 'socket AF_PACKET no' 'socket AF_UNIX ok' \
    'write /var/lib/raspi-mcp-agent ok' 'write /run/raspi-mcp-agent ok' \
    'write /etc/raspi-mcp ok' 'write /etc no' 'write /usr no' 'write /root no' 'read /var/lib/raspi-mcp/store.db no' \
    'write /sys/kernel no' 'write /proc/sys/kernel no' 'mount no' 'unshare no'
  say "root for systemd, with three capabilities and no network: only Unix sockets, only its own folders and the site's"
}

# An image with two slots adds only disks to the agent's unit. A container has no disk; ci/qemu tests in a guest that one can be
# written.
check_agent_slots() {
  local folder=/run/systemd/system/raspi-mcp-agent.service.d before said
  before=$(show raspi-mcp-agent CapabilityBoundingSet)
  said=$(show raspi-mcp-agent DeviceAllow)
  expect "classes of disks without it" 0 "$(grep -c block- <<<"$said" || true)"
  c mkdir -p "$folder"
  c tee "$folder/slots.conf" <"$ROOT/dist/slots/raspi-mcp-agent.service.d/slots.conf" >/dev/null
  c systemctl daemon-reload
  said=$(c systemd-analyze verify --man=no raspi-mcp-agent.service 2>&1)
  expect "systemd-analyze verify" "" "$said"
  expect "the agent's devices" closed "$(show raspi-mcp-agent DevicePolicy)"
  said=$(show raspi-mcp-agent DeviceAllow)
  expect "classes of disks" 4 "$(grep -o 'block-[a-z]* rw' <<<"$said" | sort -u | wc -l)"
  expect "its capabilities" "$before" "$(show raspi-mcp-agent CapabilityBoundingSet)"
  check_exposure
  c rm -r "$folder"
  c systemctl daemon-reload
}

# The approval page: systemd holds its port, the first visit starts it, and it may carry and nothing else.
check_approval_page() {
  local pid key device exposure order=() secret
  expect "before the first visit" inactive "$(c systemctl is-active raspi-mcp-approval.service || true)"
  c systemctl start raspi-mcp-approval.socket
  expect "with its port open" inactive "$(c systemctl is-active raspi-mcp-approval.service || true)"
  device=$(nsenter --target "$LEADER" --net curl --silent --show-error --insecure --max-time 20 https://127.0.0.1:8444/approvals/device)
  expect "after a visit" active "$(c systemctl is-active raspi-mcp-approval.service)"
  expect_in "the device's id" '"id":"[0-9a-f]{64}"' "$device"
  pid=$(show raspi-mcp-approval MainPID)
  capless "$pid" CapInh CapPrm CapEff CapBnd CapAmb
  expect_in "its user" "^$(c id -u raspi-mcp-approval)[[:space:]]" "$(field "$pid" Uid)"
  fails_with "its user lists asks" 5 'approval page' as raspi-mcp-approval raspi-mcp approve --list
  fails_with "its user enrols a key" 5 'approver' as raspi-mcp-approval raspi-mcp approver add --name x \
    --key MCowBQYDK2VwAyEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
  fails_with "the server's user takes its port" 1 'in use' as raspi-mcp raspi-mcp approval-page --listen 0.0.0.0:8444 --folder /tmp/page
  # An approval from outside, signed.
  as bob raspi-mcp approver key --out /tmp/bob.key >"$WORK/public"
  key=$(cat "$WORK/public")
  c raspi-mcp approver add --name bob --key "$key" | tee "$WORK/added" >/dev/null
  expect_in "what enrolment says" '^device [0-9a-f]{64}$' "$(cat "$WORK/added")"
  # And orders: the agent writes what root would.
  order=(--url https://127.0.0.1:8444 --key /tmp/bob.key --device "$(sed -n 's/^device //p' "$WORK/added")"
    --pin "$(c journalctl --no-pager --quiet --output cat -u raspi-mcp-approval | sed -n 's/.*, certificate //p' | tail -1)")
  as bob raspi-mcp token make --name far --role read_only "${order[@]}" >"$WORK/made"
  secret=$(grep -o 'rmcp_[A-Za-z0-9_-]*' "$WORK/made")
  expect "the file of an ordered token" "640 root raspi-mcp" "$(c stat -c '%a %U %G' /etc/raspi-mcp/60-token-far.toml)"
  expect "a call with it" 200 "$(nsenter --target "$LEADER" --net curl --silent --max-time 20 --output /dev/null --write-out '%{http_code}' \
    --header "Authorization: Bearer $secret" --json '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}' http://127.0.0.1:8765/api/mcp)"
  as bob raspi-mcp token revoke far "${order[@]}" >/dev/null
  as bob raspi-mcp allow system.reboot --for loopback --ask "${order[@]}" >/dev/null
  expect "the file of an ordered grant" "644 root root" "$(c stat -c '%a %U %G' /etc/raspi-mcp/50-allow-system.toml)"
  as bob raspi-mcp revoke system.reboot "${order[@]}" >/dev/null
  expect "what orders left" "" "$(c find /etc/raspi-mcp -name '50-allow-*' -o -name '60-token-*')"
  # While it runs: a unit that is not loaded is not listed.
  exposure=$(c systemd-analyze security --no-pager | awk '$1 == "raspi-mcp-approval.service" { print $2 }')
  c systemctl stop raspi-mcp-approval.socket raspi-mcp-approval.service
  c raspi-mcp approver revoke bob >/dev/null
  awk -v page="$exposure" 'BEGIN { exit !(page != "" && page < 2.0) }' || die "exposure of the approval page: \"$exposure\" must be under 2.0"
  say "systemd holds the port; the page has a user of its own, no capability, exposure $exposure (under 2.0), and carries only"
}

# probe UNIT 'ATTEMPT ok|no'...: tries each attempt from inside a copy of the unit whose program is ci/nspawn.d/probe.pl.
probe() {
  local unit=$1 copy=probe-$1 attempt outcome got
  shift
  c tee /usr/local/bin/probe.pl <"$ROOT/ci/nspawn.d/probe.pl" >/dev/null
  c chmod 755 /usr/local/bin/probe.pl
  c sed -e 's|^ExecStart=.*|ExecStart=/usr/bin/perl /usr/local/bin/probe.pl|' -e 's|^Type=.*|Type=oneshot|' \
    -e '/^WatchdogSec=/d' -e '/^Restart/d' -e '/^Wants=/d' "/usr/lib/systemd/system/$unit.service" >"$WORK/$copy"
  c tee "/run/systemd/system/$copy.service" <"$WORK/$copy" >/dev/null
  c mkdir -p "/run/systemd/system/$copy.service.d"
  # Into a file: the journal names a process (_COMM) only while it lives, and this one has often ended before journald looks.
  printf '[Service]\nRuntimeDirectoryPreserve=yes\nStandardOutput=truncate:/run/%s.out\nEnvironment="ATTEMPTS=%s"\n' "$copy" "$(printf '%s;' "${@% *}")" |
    c tee "/run/systemd/system/$copy.service.d/attempts.conf" >/dev/null
  c systemctl daemon-reload
  c systemctl start "$copy" || die "the probe in $unit's place did not run: $(c journalctl --no-pager -n 5 -u "$copy")"
  got=$(c cat "/run/$copy.out")
  for attempt in "$@"; do
    outcome=${attempt##* } attempt=${attempt% *}
    expect "$unit: $attempt" "$outcome" "$(sed -n "s|^$attempt: \([a-z]*\).*|\1|p" <<<"$got" | tail -1)"
  done
}

check_exposure() {
  local all server agent
  all=$(c systemd-analyze security --no-pager)
  server=$(awk '$1 == "raspi-mcp.service" { print $2 }' <<<"$all")
  agent=$(awk '$1 == "raspi-mcp-agent.service" { print $2 }' <<<"$all")
  awk -v server="$server" -v agent="$agent" 'BEGIN { exit !(server != "" && agent != "" && server < 2.0 && agent < 4.0) }' ||
    die "exposure: serve \"$server\" must be under 2.0, agent \"$agent\" under 4.0"
  say "systemd-analyze security: serve $server (under 2.0), agent $agent (under 4.0)"
}

# What the server's account may send on the bus. The same messages from root show that the account is refused, not the message.
check_bus() {
  local manager=(org.freedesktop.systemd1 /org/freedesktop/systemd1)
  as raspi-mcp busctl get-property "${manager[@]}" org.freedesktop.systemd1.Manager Version >/dev/null
  as raspi-mcp busctl call "${manager[@]}" org.freedesktop.systemd1.Manager ListUnits >/dev/null
  as raspi-mcp busctl get-property org.freedesktop.login1 /org/freedesktop/login1 \
    org.freedesktop.login1.Manager PreparingForShutdown >/dev/null
  c busctl call "${manager[@]}" org.freedesktop.systemd1.Manager ResetFailed >/dev/null
  fails_with "ResetFailed as raspi-mcp" 1 'denied' \
    as raspi-mcp busctl call "${manager[@]}" org.freedesktop.systemd1.Manager ResetFailed
  c busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager CanReboot >/dev/null
  fails_with "Reboot as raspi-mcp" 1 'denied' \
    as raspi-mcp busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager Reboot b false
  fails_with "a name on the bus for raspi-mcp" 1 'not allowed|denied' \
    as raspi-mcp busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus RequestName su org.example 0
  say "on D-Bus the server's account can read but change nothing"
}

# The kernel identifies the peers of the Unix sockets, and their groups decide.
check_callers() {
  as bob raspi-mcp call system.get_basic_info >/dev/null
  fails_with "bob restarts the machine" 5 'admin' as bob raspi-mcp call system.reboot
  fails_with "bob at the agent" 5 'may not talk to the agent' as bob raspi-mcp approve --list
  as ann raspi-mcp approve --list >/dev/null
  as ann raspi-mcp call system.reboot -a cancel=true >/dev/null
  fails_with "ann reads the server's folder" 2 'denied' as ann ls /var/lib/raspi-mcp
  fails_with "raspi-mcp reads the agent's folder" 2 'denied' as raspi-mcp ls /var/lib/raspi-mcp-agent
  say "ann (raspi-mcp-admin, -approver) is allowed, bob is not, identified by the kernel"
}

# Calls over the bus, with the shipped rules and fragment.
check_bus_door() {
  local call=(busctl call org.raspimcp /org/raspimcp org.raspimcp.Tools1 Call 'ssa{sv}')
  expect_in "bob's call" 'uptime_seconds' "$(as bob "${call[@]}" system.get_clock '{}' 0)"
  fails_with "bob restarts the machine" 1 'admin' as bob "${call[@]}" system.reboot '{}' 0
  as ann "${call[@]}" system.reboot '{"cancel": true}' 0 >/dev/null
  expect_in "who owns the name" '^UID=' "$(c busctl status org.raspimcp)"
  expect "its user" "$(c id -u raspi-mcp)" "$(c busctl status org.raspimcp | sed -n 's/^UID=//p')"
  fails_with "bob takes the name" 1 'Access denied' as bob \
    busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus RequestName su org.raspimcp 4
  c busctl introspect org.raspimcp /org/raspimcp >/dev/null
  say "bob reads, ann administers, nobody else has the name"
}
