# shellcheck shell=bash
# Kills in the middle of calls of agents, under a real systemd: one error for the caller, no process left, and the next call works.
# Sourced by ci/nspawn.

# Of kind command: `hang` leaves its session and its parents and ignores signals.
kills_program() {
  cat <<'SH'
#!/bin/sh
[ "$RASPI_MCP_TOOL" = hang ] || exec echo quick
( trap "" TERM; setsid sh -c 'trap "" TERM; sleep 600; exit' & )
sleep 600
SH
}

# Of kind mcp: `hang` starts a child in a session of its own and never answers.
kills_server() {
  cat <<'PERL'
#!/usr/bin/perl
$| = 1;
my %known = (
  initialize => '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"t","version":"1"}}',
  'tools/list' => '{"tools":[{"name":"hang","description":"H","inputSchema":{"type":"object"}},{"name":"quick","description":"Q","inputSchema":{"type":"object"}}]}',
);
while (<STDIN>) {
  my ($id) = /"id":(\d+)/ or next;
  my ($method) = /"method":"([^"]*)"/;
  if (/"name":"hang"/) { system "setsid", "-f", "sleep", "600"; sleep 600 }
  my $result = $known{$method} // '{"content":[{"type":"text","text":"quick"}]}';
  print qq({"jsonrpc":"2.0","id":$id,"result":$result}\n);
}
PERL
}

# A caller that prints each message it is sent for one call, and that of a ping which it sends once the call is answered.
kills_caller() {
  cat <<'PERL'
#!/usr/bin/perl
use IO::Socket::UNIX;
alarm 50;
$SIG{PIPE} = 'IGNORE';
my $server = IO::Socket::UNIX->new("/run/raspi-mcp/mcp.sock") or die "no server: $!\n";
$server->autoflush(1);
print $server qq({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"$ARGV[0]","arguments":{}}}\n);
while (my $line = <$server>) {
  print $line;
  exit if $line =~ /"id":2\b/;
  print $server qq({"jsonrpc":"2.0","id":2,"method":"ping"}\n);
}
print "closed\n";
PERL
}

setup_kills() {
  local kind tool half
  kills_program | c sh -c 'mkdir -p /opt/kills; cat >/opt/kills/program'
  kills_server | c sh -c 'cat >/opt/kills/server'
  kills_caller | c sh -c 'cat >/opt/kills/caller; chmod 755 /opt/kills/*'
  {
    printf '[[agents]]\ntype = "runs"\nkind = "command"\nprogram = "/opt/kills/program"\n'
    for tool in hang quick; do
      printf '[agents.tools.%s]\ntier = "fundamental"\ntimeout_seconds = 600\ndescription = "A test."\ninput = '\''{"type": "object"}'\''\n' "$tool"
    done
    printf '[[agents]]\ntype = "stays"\nkind = "mcp"\nprogram = "/opt/kills/server"\n'
    printf '[agents.tools.%s]\ntier = "fundamental"\ntimeout_seconds = 600\n' hang quick
  } | c tee /etc/raspi-mcp/80-kills.toml >/dev/null
  # Not two seconds, forty times.
  for half in raspi-mcp raspi-mcp-agent; do
    c mkdir -p "/run/systemd/system/$half.service.d"
    printf '[Service]\nRestartSec=100ms\n' | c tee "/run/systemd/system/$half.service.d/kills.conf" >/dev/null
  done
  c systemctl daemon-reload
  restart_halves
  for kind in runs stays; do
    until_true 20 "$kind is declared" kills_declared "$kind"
    accept_agent "$kind"
    until_true 20 "$kind answers" kills_quick "$kind"
  done
}

# The processes of agents of one type, by their control group.
# shellcheck disable=SC2016
kills_of() {
  c sh -c 'grep -l "raspi-mcp-agent-$1-" /proc/[0-9]*/cgroup 2>/dev/null | sed "s|/proc/\([0-9]*\)/cgroup|\1|"' sh "$1" || true
}
kills_none() { [ -z "$(kills_of runs)$(kills_of stays)" ]; }
kills_running() { [ "$(kills_of "$1" | wc -l)" -ge "$2" ]; }
# shellcheck disable=SC2016
kills_gone() { c sh -c 'for pid; do if test -e "/proc/$pid"; then exit 1; fi; done' sh "$@"; }
kills_declared() { c raspi-mcp agents list | grep -q "^$1$"; }
kills_quick() { c raspi-mcp call "$1.quick" >/dev/null 2>&1; }

# kill_in_call VICTIM TYPE...: kills the process of the type, or one of the halves while a call of each type runs. Counts in KILLED.
kill_in_call() {
  local victim=$1 type half=raspi-mcp pid said calls=() pids=() these
  shift
  c systemctl reset-failed raspi-mcp-agent raspi-mcp
  for type in "$@"; do
    # The kill before this one, of a half, ended it too.
    until_true 40 "$type answers" kills_quick "$type"
    c /opt/kills/caller "$type.hang" >"$WORK/answers-$type" 2>&1 &
    calls+=($!)
    # The program leaves its session and parents with a child of its own; the server has one child.
    until_true 20 "$type.hang runs" kills_running "$type" "$([ "$type" = runs ] && echo 4 || echo 2)"
    mapfile -t these < <(kills_of "$type")
    pids+=("${these[@]}")
  done
  if [ "$victim" = process ]; then
    c systemctl kill --kill-whom=main --signal=KILL "raspi-mcp-agent-$1-*"
  else
    [ "$victim" = server ] || half=raspi-mcp-agent
    pid=$(show "$half" MainPID)
    signal KILL "$pid"
  fi
  for type in "$@"; do
    wait "${calls[0]}" || die "$victim, $type: the caller heard nothing: $(cat "$WORK/answers-$type")"
    calls=("${calls[@]:1}")
    said=$(cat "$WORK/answers-$type")
    if [ "$victim" = server ]; then
      expect "$victim, $type: what the caller heard" closed "$said"
    else
      expect "$victim, $type: messages to the caller" 2 "$(wc -l <<<"$said")"
      expect_in "$victim, $type: the first" '"id":1,.*\\"error_code\\":\\"unavailable\\"' "$(head -1 <<<"$said")"
      expect_in "$victim, $type: the second" '"id":2,"result"' "$(tail -1 <<<"$said")"
    fi
    KILLED=$((KILLED + 1))
  done
  until_true 20 "$victim, $*: no process is left" kills_gone "${pids[@]}"
  for type in "$@"; do until_true 40 "$victim, $type: the next call works" kills_quick "$type"; done
}

# KILL_ROUNDS=7 kills 42 calls, which takes a minute.
check_agent_kills() {
  local KILLED=0
  setup_kills
  for ((round = 0; round < ${KILL_ROUNDS:-2}; round++)); do
    kill_in_call process runs
    kill_in_call process stays
    kill_in_call agent runs stays
    kill_in_call server runs stays
  done
  c rm -r /etc/raspi-mcp/80-kills.toml /opt/kills /run/systemd/system/raspi-mcp.service.d/kills.conf \
    /run/systemd/system/raspi-mcp-agent.service.d/kills.conf
  # As when any package is installed: systemd reads the units that run again, and can end them.
  until_true 20 "stays answers" kills_quick stays
  c systemctl daemon-reload
  expect "an agent's unit, read again" loaded "$(c systemctl show --value --property LoadState 'raspi-mcp-agent-stays-*')"
  restart_halves
  until_true 20 "no agent is left" kills_none
  expect "units left" "" "$(c systemctl list-units --all --plain --no-legend 'raspi-mcp-agent-*-*.service')"
  say "$KILLED calls killed with their agent, the privileged half or the server: one error each, no process left, and the next call works"
}
