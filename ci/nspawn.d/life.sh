# shellcheck shell=bash
# Tests of operation: calls, approvals, processes that stop and hang, and a machine that restarts. Sourced by ci/nspawn.

SOCKET=/run/raspi-mcp/mcp.sock

check_doors() {
  local door
  for door in "--socket $SOCKET" "--url http://127.0.0.1:8765" "--url http://127.0.0.1:8765/mcp"; do
    # shellcheck disable=SC2086
    expect_in "$door" 'Debian GNU/Linux' "$(c raspi-mcp call $door system.get_basic_info)"
  done
  say "the Unix socket and HTTP on loopback answer"
}

check_journal_fields() {
  local lines
  # Reads are logged with log.level = "debug" only; changes and refusals always.
  c raspi-mcp call system.reboot -a cancel=true >/dev/null
  until_true 10 "the call is in the journal" audited '"tool":"system.reboot"'
  lines=$(c journalctl --no-pager --quiet --output json -u raspi-mcp-agent TARGET=agent F_PEER="raspi-mcp ($(c id -u raspi-mcp))")
  expect_in "the agent's line" '"MESSAGE":"cancel"' "$lines"
  say "calls (TARGET=audit, F_RECORD) and what the agent does (TARGET=agent, F_PEER) are in the journal by field"
}

audited() { c journalctl --no-pager --quiet --output cat --output-fields F_RECORD -u raspi-mcp TARGET=audit | grep -qF "$1"; }

# The conversation of tests/it, in this environment: from the host through the container's file system, and through its network.
# Root would be an admin on the socket, so systemd's proxy connects as a user who may only read.
check_conversation() {
  local said
  grep -q RASPI_MCP_GROUND tests/it/grounds.rs 2>/dev/null || die "tests/it/grounds.rs is missing"
  c systemd-run --quiet --collect --unit=reader --uid=daemon --socket-property=ListenStream=/run/reader.sock \
    /lib/systemd/systemd-socket-proxyd "$SOCKET"
  RUST_BACKTRACE=0 RASPI_MCP_GROUND=unix:/proc/$LEADER/root/run/reader.sock \
    cargo test --locked --quiet --test it grounds >"$WORK/unix" 2>&1 || die "over the Unix socket: $(cat "$WORK/unix")"
  said=$(grep -E '^test result: ok\. [1-9]' "$WORK/unix") || die "no test ran: $(cat "$WORK/unix")"
  RUST_BACKTRACE=0 RASPI_MCP_GROUND=http://127.0.0.1:8765/mcp nsenter --target "$LEADER" --net \
    cargo test --locked --quiet --test it grounds >"$WORK/http" 2>&1 || die "over HTTP: $(cat "$WORK/http")"
  grep -qE '^test result: ok\. [1-9]' "$WORK/http" || die "no test ran: $(cat "$WORK/http")"
  say "the ten tools, over the Unix socket and over HTTP: $said"
}

# ask_reboot ARG...: root calls system.reboot and waits. Sets CALL, the caller's process, and ASK, the request's ID.
ask_reboot() {
  c raspi-mcp call system.reboot "$@" >"$WORK/call" 2>&1 &
  CALL=$!
  until_true 10 "a question is open" open_question
}

open_question() { ASK=$(c raspi-mcp approve --list | sed -n 's/^ask //p' | head -1) && [ -n "$ASK" ]; }

# approve ANSWER: answers the open question like a person at a terminal.
approve() { typed "raspi-mcp approve $ASK" "Enter = decide later] " "$1"; }

# typed COMMAND QUESTION ANSWER: prints what COMMAND says to a person at a terminal. Input before the question appears is
# discarded, so the answer is typed once the question is readable, and again until it has an effect.
typed() {
  local said='' letter person code=0
  coproc PERSON { c script --quiet --return --command "$1" /dev/null; }
  person=$PERSON_PID
  local -a at=("${PERSON[@]}")
  while :; do
    code=0
    IFS= read -r -N1 -t 0.5 -u "${at[0]}" letter || code=$?
    if [ "$code" = 0 ]; then
      said+=$letter
      continue
    fi
    # More than 128: half a second without a character. Anything else: it has ended.
    [ "$code" -gt 128 ] || break
    if [[ $said == *"$2"* ]]; then printf '%s\n' "$3" >&"${at[1]}" || break; fi
  done
  code=0
  wait "$person" || code=$?
  printf '%s' "$said"
  return "$code"
}

# Waits for the pending call, sets SAID to its output, and returns its status. Never use it in "$(...)": a subshell cannot wait for
# a child of its parent, so it would read incomplete output and treat a successful call as failed.
answered() {
  local status=0
  wait "$CALL" || status=$?
  [ "$status" != 127 ] || die "the call (process $CALL) is not a child of this shell"
  SAID=$(cat "$WORK/call")
  return "$status"
}

# asked TOOL ARGUMENT...: root calls a tool that asks, and approves it. Sets SAID; what the person read is in $WORK/question.
asked() {
  c raspi-mcp call --json "$@" >"$WORK/call" 2>&1 &
  CALL=$!
  until_true 10 "a question is open" open_question
  approve y >"$WORK/question"
  answered || die "an approved call failed: $SAID"
}

boot_id() { c cat /proc/sys/kernel/random/boot_id; }

check_agent_absent() {
  local pid
  pid=$(show raspi-mcp MainPID)
  c systemctl stop raspi-mcp-agent
  fails_with "a reboot without an agent" 4 'systemctl start raspi-mcp-agent' c raspi-mcp call system.reboot
  expect_in "a read without an agent" 'Debian' "$(c raspi-mcp call system.get_basic_info)"
  c systemctl start raspi-mcp-agent
  expect_in "once it is back" 'cancelled: no' "$(c raspi-mcp call system.reboot -a cancel=true)"
  expect "the server's process" "$pid" "$(show raspi-mcp MainPID)"
  say "without the agent: unavailable, and reads still work; with it again: as before, without a restart of the server"
}

check_reboot_cancelled() {
  local before
  before=$(boot_id)
  ask_reboot -a delay_seconds=600 -a reason=first
  approve n >/dev/null
  ! answered || die "a denied reboot was performed: $SAID"
  expect_in "denied" 'said no' "$SAID"
  ask_reboot -a delay_seconds=600 -a reason=second
  expect_in "what the person reads" 'reason = "second"' "$(approve y)"
  answered || die "an approved reboot failed: $SAID"
  expect_in "approved" 'scheduled: yes' "$SAID"
  fails_with "a second one, before anybody is asked" 1 'scheduled already' c raspi-mcp call system.reboot -a delay_seconds=5
  expect_in "cancelled" 'cancelled: yes' "$(c raspi-mcp call system.reboot -a cancel=true)"
  expect "boot" "$before" "$(boot_id)"
  say "requested and denied; requested, approved at a terminal, scheduled, a second one refused, cancelled"
}

check_agent_restarted() {
  local pid
  ask_reboot -a delay_seconds=600 -a reason=kept
  approve y >/dev/null
  answered || die "an approved reboot failed: $SAID"
  pid=$(show raspi-mcp-agent MainPID)
  signal KILL "$pid"
  until_true 10 "systemd has restarted the agent" restarted raspi-mcp-agent "$pid"
  expect_in "the date is kept" '"pending":\{.*"kept"' "$(c cat /var/lib/raspi-mcp-agent/power.json)"
  expect_in "the date can be taken back" 'cancelled: yes' "$(c raspi-mcp call system.reboot -a cancel=true)"
  say "killed and restarted: the scheduled reboot is kept and can still be cancelled"
}

# signal NAME PID: sends a signal; a minimal Debian has kill only in its shell.
signal() { c sh -c "kill -$1 $2"; }

# restarted UNIT PID: the unit runs as another process than PID.
restarted() {
  [ "$(c systemctl is-active "$1")" = active ] && [ "$(show "$1" MainPID)" != "$2" ]
}

# watch UNIT SECONDS: sets a shorter watchdog than the unit's, until the machine restarts.
watch() {
  c mkdir -p "/run/systemd/system/$1.service.d"
  printf '[Service]\nWatchdogSec=%s\n' "$2" | c tee "/run/systemd/system/$1.service.d/watchdog.conf" >/dev/null
  c systemctl daemon-reload
  c systemctl restart "$1"
}

check_watchdog() {
  local unit pid started took=()
  for unit in raspi-mcp raspi-mcp-agent; do
    watch $unit 2
    pid=$(show $unit MainPID) started=$SECONDS
    # It serves the watchdog for longer than its timeout: a healthy process is not killed.
    sleep 3
    expect "$unit's process" "$pid" "$(show $unit MainPID)"
    signal STOP "$pid"
    until_true 20 "the watchdog has restarted $unit" restarted $unit "$pid"
    took+=("$unit $((SECONDS - started)) s")
    expect_in "why" 'watchdog' "$(c journalctl --no-pager --quiet --output cat -u $unit --lines 30 _PID=1)"
    c rm -r "/run/systemd/system/$unit.service.d"
    c systemctl daemon-reload
    c systemctl restart $unit
  done
  expect_in "a call after it" 'Debian' "$(c raspi-mcp call system.get_basic_info)"
  say "a process that hangs is replaced: ${took[*]}"
}

check_clean_stop() {
  local started took
  # A call in progress: it waits up to 20 s for approval.
  ask_reboot -a delay_seconds=300
  started=${EPOCHREALTIME/./}
  c systemctl stop raspi-mcp
  took=$(((${EPOCHREALTIME/./} - started) / 1000))
  [ "$took" -lt 10000 ] || die "stopping took $took ms"
  ! answered || die "the waiting call succeeded: $SAID"
  expect_in "the waiting call" 'stopping|cancel|shutting' "$SAID"
  expect result success "$(show raspi-mcp Result)"
  expect "exit status" 0 "$(show raspi-mcp ExecMainStatus)"
  c test ! -e $SOCKET || die "$SOCKET still exists"
  c systemctl stop raspi-mcp-agent
  expect "the agent's result" success "$(show raspi-mcp-agent Result)"
  expect "the agent's exit status" 0 "$(show raspi-mcp-agent ExecMainStatus)"
  c systemctl start raspi-mcp
  expect "the agent, wanted by the server" active "$(c systemctl is-active raspi-mcp-agent)"
  expect_in "the audit" 'the audit is whole' "$(c raspi-mcp audit verify)"
  say "stopped with a call in progress in $took ms, exit 0, the caller answered, the audit intact"
}

check_doctor() {
  local said status=0
  said=$(c raspi-mcp doctor) || die "doctor reports problems on a healthy machine: $said"
  expect_in "doctor" 'agent' "$said"
  c systemctl stop raspi-mcp-agent
  said=$(c raspi-mcp doctor) || status=$?
  expect "doctor's exit code without an agent" 1 "$status"
  expect_in "doctor without an agent" 'systemctl start raspi-mcp-agent' "$said"
  c systemctl start raspi-mcp-agent
  say "raspi-mcp doctor: nothing wrong; it reports a missing agent, and how to fix it"
}

check_reboot() {
  local before
  before=$(boot_id)
  ask_reboot -a delay_seconds=1 -a reason="ci restarts this machine"
  approve y >/dev/null
  answered || die "an approved call failed: $SAID"
  expect_in "the call" 'scheduled: yes' "$SAID"
  until_true 60 "the machine is up again" up_again "$before"
  expect "the server, by itself" active "$(c systemctl is-active raspi-mcp)"
  expect "the agent, by itself" active "$(c systemctl is-active raspi-mcp-agent)"
  expect_in "what the agent knows" '"outcome":"done"' "$(c cat /var/lib/raspi-mcp-agent/power.json)"
  expect_in "the audit across the restart" 'the audit is whole' "$(c raspi-mcp audit verify)"
  say "requested, approved, and really restarted; server and agent came back, the agent recorded it, the audit is intact"
}

check_hostname() {
  local before name=pi-in-a-nutshell
  before=$(c hostname)
  expect_in "a dry run" 'changed: yes' "$(c raspi-mcp call system.set_hostname -a hostname=$name -a dry_run=true)"
  expect "after a dry run" "$before" "$(c hostname)"
  expect_in "the call" "hostname: $name" "$(rename_by_call $name)"
  expect "the machine's name" "$name" "$(c hostname)"
  expect "the name for later starts" "$name" "$(c cat /etc/hostname)"
  # The server was started before; a sandbox with its own host name would hide the new one.
  expect_in "what the server reads" "hostname: $name" "$(c raspi-mcp call system.get_basic_info)"
  say "$before is now $name, kept for later boots, and visible to the running server"
}

asked_or_done() { open_question || ! kill -0 "$CALL" 2>/dev/null; }

# As on a card (dist/initramfs/shared): /etc is on a read-only file system, its hostname a file of another one.
check_hostname_mounted() {
  local folder=/run/systemd/system/raspi-mcp-agent.service.d before name said
  before=$(c hostname)
  c systemctl stop systemd-hostnamed
  c sh -c 'cp /etc/hostname /var/lib/hostname && mkdir /run/card && mount -t tmpfs -o mode=755 card /run/card && cp -a /etc/. /run/card &&
    mount -o remount,ro /run/card && mount --bind /run/card /etc && mount --bind /var/lib/hostname /etc/hostname'
  said=$(c hostnamectl set-hostname refused 2>&1) && die "hostnamed replaced the file: this is not like a card"
  expect_in "hostnamed itself" 'read-only' "$said"
  expect "the name after that" "$before" "$(c hostname)"
  restart_halves
  fails_with "without the right to write it" 4 'ReadWritePaths' rename_by_call pi-of-nobody
  expect "what is kept then" "$before" "$(c cat /etc/hostname)"
  c mkdir -p "$folder"
  c tee "$folder/slots.conf" <"$ROOT/dist/slots/raspi-mcp-agent.service.d/slots.conf" >/dev/null
  c systemctl daemon-reload
  restart_halves
  # The first name is the one that hostnamed was asked for, could not store and regards as stored; then a longer one, then a shorter one.
  for name in refused a-pi-with-a-name-that-takes-much-of-a-line pi; do
    expect_in "the call" "hostname: $name" "$(rename_by_call "$name")"
    expect "the machine's name" "$name" "$(c hostname)"
    expect "the name for later starts" "$name" "$(c cat /var/lib/hostname)"
    expect "what hostnamed says" "s \"$name\"" "$(c busctl get-property org.freedesktop.hostname1 /org/freedesktop/hostname1 org.freedesktop.hostname1 StaticHostname)"
  done
  # As at the next boot: hostnamed knows only the file.
  c systemctl restart systemd-hostnamed
  expect "hostnamed, started anew" pi "$(c hostnamectl --static)"
  c systemctl stop systemd-hostnamed
  c rm -r "$folder"
  c umount --lazy /etc/hostname /etc /run/card
  c rmdir /run/card
  c hostname "$(c cat /etc/hostname)"
  c systemctl daemon-reload
  restart_halves
  say "hostnamed cannot write a read-only /etc; the agent writes the mounted file, three names long and short, and hostnamed reads them"
}

# zone_now: what the server says of the clock.
zone_now() { c raspi-mcp call system.get_clock --json | sed -n 's/.*"timezone": *"\([^"]*\)".*/\1/p'; }

# The real timedated sets a real machine's zone.
check_timezone() {
  local before
  before=$(zone_now)
  expect_in "a dry run" 'changed: yes' "$(c raspi-mcp call system.set_timezone -a timezone=Asia/Kolkata -a dry_run=true)"
  expect "after a dry run" "$before" "$(zone_now)"
  fails_with "no zone" 1 'perhaps Asia/Kolkata' c raspi-mcp call system.set_timezone -a timezone=India/Kolkata
  expect_in "the call" 'timezone: Asia/Kolkata' "$(zone_by_call Asia/Kolkata)"
  expect "the link" /usr/share/zoneinfo/Asia/Kolkata "$(c readlink -f /etc/localtime)"
  expect "what timedated says" 's "Asia/Kolkata"' "$(c busctl get-property org.freedesktop.timedate1 /org/freedesktop/timedate1 org.freedesktop.timedate1 Timezone)"
  expect "what the running server reads" Asia/Kolkata "$(zone_now)"
  expect "what a new program reads" +0530 "$(c date +%z)"
  zone_by_call Etc/UTC >/dev/null
  expect "back" Etc/UTC "$(zone_now)"
  say "$before became Asia/Kolkata by timedated, seen by the running server and by a new program"
}

# As on an appliance: the link of a read-only /etc leads into /run. There is no card here to record it on, which the agent says; what is
# recorded and applied at each start is tests/it/appliance/timezone.rs, and ci/qemu's story \`use\`.
check_timezone_bound() {
  local folder=/run/systemd/system/raspi-mcp-agent.service.d
  c sh -c 'mkdir /run/card && mount -t tmpfs -o mode=755 card /run/card && cp -a /etc/. /run/card && ln -sfn /run/raspi-mcp-zone/localtime /run/card/localtime &&
    mkdir -p /run/raspi-mcp-zone && ln -sfn /usr/share/zoneinfo/Europe/London /run/raspi-mcp-zone/localtime &&
    mount -o remount,ro /run/card && mount --bind /run/card /etc'
  c mkdir -p "$folder"
  c tee "$folder/slots.conf" <"$ROOT/dist/slots/raspi-mcp-agent.service.d/slots.conf" >/dev/null
  c systemctl daemon-reload
  restart_halves
  expect "the server, by both links" Europe/London "$(zone_now)"
  expect "a program, by both links" "$(TZ=Europe/London date +%Z)" "$(c date +%Z)"
  fails_with "without a card" 1 'no two slots' zone_by_call Asia/Kolkata
  expect "the zone after that" Europe/London "$(zone_now)"
  c rm -r "$folder" /run/raspi-mcp-zone
  c umount --lazy /etc /run/card
  c rmdir /run/card
  c systemctl daemon-reload
  restart_halves
  say "both links are followed; without a card to record it on nothing is changed"
}

# zone_by_call ZONE, rename_by_call NAME: sets it, with or without approval; another check tests the policy.
zone_by_call() { set_by_call system.set_timezone "timezone=$1"; }
rename_by_call() { set_by_call system.set_hostname "hostname=$1"; }

# set_by_call TOOL ARGUMENT: prints the answer.
set_by_call() {
  local status=0
  c raspi-mcp call "$1" -a "$2" >"$WORK/call" 2>&1 &
  CALL=$!
  until_true 10 "it is asked, or done" asked_or_done
  [ -z "$ASK" ] || approve y >/dev/null
  answered || status=$?
  printf '%s' "$SAID"
  return "$status"
}

# What is installed and plugged in, on a real Debian; its USB is that of the computer below.
check_inventory() {
  local said
  said=$(c raspi-mcp call system.list_packages -a name=systemd -a limit=1000 --json)
  expect_in "dpkg's list" '"source": ?"dpkg"' "$said"
  # shellcheck disable=SC2016 # dpkg-query's own variables
  expect "packages with systemd in their names" "$(c dpkg-query -W -f '${db:Status-Status}\n' '*systemd*' | grep -vc not-installed)" "$(grep -o '"state": *"' <<<"$said" | grep -c .)"
  # shellcheck disable=SC2016 # dpkg-query's own variables
  expect_in "its version" "\"version\": ?\"$(c dpkg-query -W -f '${Version}' systemd)\"" "$said"
  expect_in "without BlueZ" '"devices"' "$(c raspi-mcp call system.list_devices --json)"
  expect_in "adapters without BlueZ" 'no such device' "$(c raspi-mcp call system.list_devices -a bus=bluetooth)"
  say "as many packages as dpkg-query lists, with systemd's version; no adapters without BlueZ"
}

# The last check: nothing answers after it.
check_shutdown() {
  fails_with "a shutdown that no policy names" 5 'policy|den' c raspi-mcp call system.shutdown
  printf '[policy]\n"system.shutdown" = "ask"\n' | c tee /etc/raspi-mcp/60-shutdown.toml >/dev/null
  c systemctl restart raspi-mcp-agent raspi-mcp
  c raspi-mcp call system.shutdown -a delay_seconds=1 >"$WORK/call" 2>&1 &
  CALL=$!
  until_true 10 "a question is open" open_question
  approve y >/dev/null
  answered || die "an approved call failed: $SAID"
  expect_in "the call" 'scheduled: yes' "$SAID"
  timeout 60 tail --pid="$SUPERVISOR" -f /dev/null || die "it is still running after 60 s"
  expect_in "its last words" 'Powering off|Power down|poweroff' "$(tail -5 "$WORK/console" | tr -d '\0')"
  say "denied until the policy names it; then requested, approved, and really off"
}

up_again() { is_up && [ "$(PATIENCE=3 boot_id)" != "$1" ]; }
