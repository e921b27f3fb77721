# shellcheck shell=bash
# Commands and signals under a real systemd: their account, their sandbox, and that no process survives. Sourced by ci/nspawn.

# A command that does everything to survive: it leaves its session and its parents, twice, and ignores signals.
ORPHANS='trap "" TERM HUP INT
( setsid sh -c '\''trap "" TERM HUP; ( setsid sh -c "trap \"\" TERM HUP; echo here; while :; do sleep 600; done" & ); while :; do sleep 600; done'\'' & )
while :; do sleep 600; done'

# setup_exec: allows a shell to run anything without approval, to test what happens after the allow-list.
setup_exec() {
  c sh -c 'test -e /etc/raspi-mcp/70-exec.toml' && return
  c mkdir -p /srv/work
  c chown raspi-mcp-exec: /srv/work
  c tee /etc/raspi-mcp/70-exec.toml >/dev/null <<'TOML'
[policy]
"exec.run" = "allow"

[exec]
cwd_roots = ["/srv/work"]
max_output_bytes = 4096

[[exec.commands]]
name = "sh"
program = "/bin/sh"
options = ["-c"]
args = ["(?s).*"]
stdin = true
timeout_seconds = 600

[[exec.commands]]
name = "alone"
program = "/bin/sh"
options = ["-c"]
args = ["(?s).*"]
network = false

[[exec.commands]]
name = "innocent"
program = "/usr/local/bin/innocent"
TOML
  c ln -sf /usr/bin/raspi-mcp /usr/local/bin/innocent
  restart_halves
}

json_string() {
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "${text//$'\n'/\\n}"
}

# run_sh SCRIPT [MEMBER...]: prints the response of exec.run as JSON. MEMBER is like '"timeout_ms":1500'.
run_sh() {
  local args
  args="{\"command\":\"${COMMAND:-sh}\",\"args\":[\"-c\",$(json_string "$1")]"
  shift
  exec_call exec.run "$args${1:+,$1}}"
}

# exec_call TOOL ARGUMENTS: prints the response as JSON, on one line.
exec_call() { c raspi-mcp call "$1" --json --args "$2" | sed -e 's/^ *//' -e 's/^\("[a-z_]*":\) /\1/' | tr -d '\n'; }

# Prints the processes of commands, by their control group, one per line.
# shellcheck disable=SC2016
of_commands() { c sh -c 'grep -l raspi-mcp-exec- /proc/[0-9]*/cgroup 2>/dev/null | while read -r f; do echo "${f%/cgroup}"; done' || true; }
none_left() { [ -z "$(of_commands)" ]; }
orphans_there() { [ "$(of_commands | wc -l)" -ge 6 ]; }

check_exec_sandbox() {
  local said
  setup_exec
  said=$(run_sh 'id -un; id -Gn; pwd; umask; cat /proc/self/cgroup; grep -E "^(NoNewPrivs|CapBnd)" /proc/self/status; env | sort')
  expect_in "the account" 'raspi-mcp-exec\\nraspi-mcp-exec\\n/srv/work\\n0077' "$said"
  expect_in "its control group" '/raspi-mcp-exec.slice/raspi-mcp-exec-[0-9a-f]{32}.service' "$said"
  expect_in "no new privileges" 'NoNewPrivs:\\t1' "$said"
  expect_in "no capability" 'CapBnd:\\t0000000000000000' "$said"
  if grep -qE 'RASPI_MCP__|NOTIFY_SOCKET|LISTEN_FDS|WATCHDOG' <<<"$said"; then die "the agent's environment: $said"; fi
  # shellcheck disable=SC2016
  expect_in "arguments are taken as they are" '"stdout":"\$HOME \$\{USER\} %n\\n"' \
    "$(run_sh 'printf "%s\n" '\''$HOME ${USER} %n'\')"
  for hidden in /run/raspi-mcp /run/raspi-mcp-agent /var/lib/raspi-mcp /var/lib/raspi-mcp-agent /etc/raspi-mcp; do
    expect_in "$hidden" '"exit_code":(1|2)' "$(run_sh "ls $hidden")"
  done
  expect_in "our program" '"exit_code":126' "$(run_sh '/usr/bin/raspi-mcp approve --list')"
  expect_in "writing outside" '"exit_code":[12]' "$(run_sh 'touch /usr/x')"
  expect_in "writing inside" '"exit_code":0' "$(run_sh 'touch x')"
  expect_in "the network" 'lo:' "$(run_sh 'cat /proc/net/dev')"
  [ "$(run_sh 'readlink /proc/self/ns/net' | grep -o 'net:\[[0-9]*\]')" = "$(c readlink /proc/1/ns/net)" ] ||
    die "a command is not in the machine's network namespace"
  [ "$(COMMAND=alone run_sh 'readlink /proc/self/ns/net' | grep -o 'net:\[[0-9]*\]')" != "$(c readlink /proc/1/ns/net)" ] ||
    die "a command without network is in the machine's network namespace"
  expect_in "exit code" '"exit_code":7' "$(run_sh 'exit 7')"
  expect_in "signal" '"exit_code":137' "$(run_sh 'kill -9 $$')"
  expect_in "input" '"stdout":"words"' "$(run_sh cat '"stdin":"words"')"
  expect_in "both ends" 'bytes left out' "$(run_sh 'head -c 100000 /dev/zero | tr "\0" x; echo; echo last')"
  fails_with "raspi-mcp by another name" 5 'never run' c raspi-mcp call exec.run -a command=innocent
  # The agent reports it at every start, and so does doctor; the following checks need a healthy machine.
  c sed -i ':a;N;$!ba;s/\n\[\[exec.commands\]\]\nname = "innocent"\nprogram = "[^"]*"//' /etc/raspi-mcp/70-exec.toml
  fails_with "what is not listed" 5 'none of the commands' c raspi-mcp call exec.run -a command=id
  none_left || die "still running: $(of_commands)"
  expect "units left" "" "$(c systemctl list-units --all --plain --no-legend 'raspi-mcp-exec-*')"
  say "as raspi-mcp-exec, in its own unit, with the network and without our sockets, state and configuration"
}

# A folder below the root is exchanged for a link to /etc all the time, as by somebody who may write there.
check_exec_folder() {
  local said exchanges entered=0 refused=0
  setup_exec
  c mkdir -p /srv/work/sub/deep
  c ln -s /etc /srv/work/link
  c chown -R raspi-mcp-exec: /srv/work
  # shellcheck disable=SC2016
  expect_in "the folder" '"stdout":"/srv/work/sub/deep\\n\$HOME words\\n"' "$(run_sh 'pwd -P; echo "\$HOME $(cat)"' '"cwd":"sub/deep","stdin":"words"')"
  expect_in "exit code" '"exit_code":7' "$(run_sh 'exit 7' '"cwd":"sub"')"
  # Most of the time it is the folder, so that calls pass the check.
  c sh -c 'cd /srv/work && until [ -e /run/enough ]; do mv sub kept && mv link sub && mv sub link && mv kept sub && sleep 0.02; done' &
  exchanges=$!
  for _ in $(seq 40); do
    said=$(run_sh 'pwd -P' '"cwd":"sub"' 2>&1) || true
    if grep -q '"stdout":"/etc' <<<"$said"; then
      c touch /run/enough
      die "a command ran in /etc: $said"
    fi
    if grep -q '"stdout":"/srv/work/' <<<"$said"; then entered=$((entered + 1)); fi
    if grep -q 'nothing was run' <<<"$said"; then refused=$((refused + 1)); fi
  done
  c touch /run/enough
  wait "$exchanges"
  c rm -rf /srv/work/sub /srv/work/kept /srv/work/link
  [ "$entered" -gt 0 ] || die "no command met the folder: $said"
  say "below its root, while it was exchanged for a link: $entered commands in it, $refused stopped after the check, none in /etc"
}

# orphans: starts them, and waits until all are running.
orphans() {
  run_sh "$ORPHANS" >"$WORK/call" 2>&1 &
  CALL=$!
  until_true 20 "the orphans are there" orphans_there
}

check_exec_orphans() {
  local pid said status=0
  setup_exec
  said=$(run_sh "$ORPHANS" '"timeout_ms":1500' 2>&1) || status=$?
  [ "$status" != 0 ] || die "a command that timed out succeeded: $said"
  expect_in "what was timed out" 'timed_out|did not finish' "$said"
  none_left || die "after the timeout: $(of_commands)"

  # The caller disconnects: the server cancels the request.
  orphans
  # shellcheck disable=SC2016
  c sh -c 'for p in /proc/[0-9]*; do case $(tr "\0" " " <"$p/cmdline" 2>/dev/null) in "raspi-mcp call exec.run"*) kill "${p#/proc/}" ;; esac; done; true'
  wait "$CALL" 2>/dev/null || true
  until_true 20 "nothing is left after the caller went away" none_left

  orphans
  pid=$(show raspi-mcp MainPID)
  signal KILL "$pid"
  until_true 20 "nothing is left after the server was killed" none_left
  wait "$CALL" 2>/dev/null || true
  until_true 20 "the server is back" restarted raspi-mcp "$pid"

  orphans
  pid=$(show raspi-mcp-agent MainPID)
  signal KILL "$pid"
  until_true 20 "nothing is left after the agent was killed" none_left
  wait "$CALL" 2>/dev/null || true
  until_true 20 "the agent is back" restarted raspi-mcp-agent "$pid"

  orphans
  c systemctl stop raspi-mcp-agent
  none_left || until_true 5 "nothing is left after the agent was stopped" none_left
  wait "$CALL" 2>/dev/null || true
  c systemctl start raspi-mcp-agent
  expect_in "commands run again" '"exit_code":0' "$(run_sh true)"
  say "a double-forked, setsid, signal-ignoring tree is ended by timeout, disconnection, and SIGKILL of server or agent"
}

check_signals() {
  local pid said
  setup_exec
  c systemd-run --quiet --collect --unit=victim --uid=bob sleep 600
  pid=$(show victim MainPID)
  said=$(exec_call process.get_process_details "{\"pid\":$pid}")
  expect_in "another user's environment, through the agent" '"environment":\{' "$said"
  expect_in "another user's program, through the agent" '"exe":"[^"]*/sleep"' "$said"
  expect_in "a dry run" '"sent":false' "$(exec_call process.send_signal "{\"pid\":$pid,\"dry_run\":true}")"
  expect "after a dry run" active "$(c systemctl is-active victim)"
  exec_call process.send_signal "{\"pid\":$pid,\"signal\":\"KILL\"}" >/dev/null
  until_true 10 "it has ended" c sh -c "! test -e /proc/$pid"
  for pid in 1 "$(show raspi-mcp MainPID)" "$(show raspi-mcp-agent MainPID)" "$(show dbus MainPID)"; do
    fails_with "a signal to $pid" 5 'gets no signal' c raspi-mcp call process.send_signal -a "pid=$pid" -a signal=KILL
  done
  c systemctl stop raspi-mcp-agent
  pid=$(show dbus MainPID)
  expect_in "details without an agent" '"unavailable":\{' "$(exec_call process.get_process_details "{\"pid\":$pid}")"
  c systemctl start raspi-mcp-agent
  say "details of other users' processes and signals to them go through the agent; essential processes get none"
}
