# shellcheck shell=bash
# Agents under a real systemd: their accounts, their sandbox, their limits, and that no process survives. Sourced by ci/nspawn.

# A program with a tool for each thing that an agent must not be able to do.
agent_program() {
  cat <<'SH'
#!/bin/sh
cat >/dev/null
case $RASPI_MCP_TOOL in
who) id -un; id -Gn; cat /proc/self/cgroup; grep -E '^(NoNewPrivs|CapBnd)' /proc/self/status ;;
hidden)
  for path in /run/dbus/system_bus_socket /run/raspi-mcp/mcp.sock /run/raspi-mcp-agent/agent.sock /etc/raspi-mcp/dist.toml /var/lib/raspi-mcp-agent; do
    ls "$path" >/dev/null 2>&1 && echo "sees $path"
  done
  touch /usr/x 2>/dev/null && echo "writes /usr"
  grep -q lo: /proc/net/dev && echo "net $(readlink /proc/self/ns/net)"
  ;;
memory) exec perl -e '$x = "x" x (2 << 30); print length $x' ;;
forks) while :; do sh -c 'sleep 600' & done ;;
orphans) ( trap "" TERM; setsid sh -c 'trap "" TERM; sleep 600' & ); sleep 600 ;;
esac
SH
}

# An MCP server with one tool, which tries to call us without a token.
agent_server() {
  cat <<'SH'
#!/bin/sh
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case $line in
  *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"t","version":"1"}}' ;;
  *'"tools/list"'*) result='{"tools":[{"name":"port","description":"A test.","inputSchema":{"type":"object"}}]}' ;;
  *)
    said=closed
    perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => "127.0.0.1:8765", Timeout => 2) or exit 1;
      print $s "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"; exit !defined readline $s' && said=open
    result="{\"content\":[{\"type\":\"text\",\"text\":\"$said to $(id -un)\"}]}"
    ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
SH
}

setup_agents() {
  c sh -c 'test -e /etc/raspi-mcp/80-agents.toml' && return
  agent_program | c sh -c 'mkdir -p /opt/thing; cat >/opt/thing/thing; chmod 755 /opt/thing/thing'
  {
    printf '[[agents]]\ntype = "thing"\nkind = "command"\nprogram = "/opt/thing/thing"\n'
    for tool in who hidden memory forks orphans; do
      printf '[agents.tools.%s]\ntier = "fundamental"\ntimeout_seconds = 5\ndescription = "A test."\ninput = '\''{"type": "object"}'\''\n' "$tool"
    done
    printf '[[agents]]\ntype = "talker"\nkind = "mcp"\nprogram = "/opt/thing/server"\nnetwork = true\n[agents.tools.port]\ntier = "fundamental"\n'
  } | c tee /etc/raspi-mcp/80-agents.toml >/dev/null
  agent_server | c sh -c 'cat >/opt/thing/server; chmod 755 /opt/thing/server'
  restart_halves
}

accept_agent() { typed "raspi-mcp agents accept $1" "Type yes: " yes >/dev/null; }

# shellcheck disable=SC2016
of_agents() { c sh -c 'grep -l raspi-mcp-agent-thing /proc/[0-9]*/cgroup 2>/dev/null | while read -r f; do echo "${f%/cgroup}"; done' || true; }
no_agent_left() { [ -z "$(of_agents)" ]; }
agent_there() { [ -n "$(of_agents)" ]; }
agent_listed() { c raspi-mcp agents list | grep -q "thing.who  $1"; }
server_tool_there() { c raspi-mcp call talker.port >/dev/null 2>&1; }
tool_there() { c raspi-mcp call thing.who >/dev/null 2>&1; }

check_agents() {
  local said
  setup_agents
  until_true 20 "the agent is declared" agent_listed new
  accept_agent thing
  until_true 20 "its tools are there" tool_there
  said=$(exec_call thing.who '{}')
  expect_in "the account" 'raspi-mcp-agent-0\\nraspi-mcp-agent-0\\n' "$said"
  expect_in "its control group" '/raspi-mcp-agents.slice/raspi-mcp-agent-thing-[0-9a-f]{32}.service' "$said"
  expect_in "no new privileges" 'NoNewPrivs:\\t1' "$said"
  expect_in "no capability" 'CapBnd:\\t0000000000000000' "$said"
  said=$(exec_call thing.hidden '{}')
  if grep -qE 'sees|writes' <<<"$said"; then die "an agent reaches what it must not: $said"; fi
  [ "$(grep -o 'net:\[[0-9]*\]' <<<"$said")" != "$(c readlink /proc/1/ns/net)" ] || die "an agent has the machine's network"
  accept_agent talker
  until_true 20 "the server's tool is there" server_tool_there
  said=$(exec_call talker.port '{}')
  expect_in "an MCP server, and our port" 'closed to raspi-mcp-agent-1' "$said"
  c systemctl kill --signal=KILL --kill-whom=main 'raspi-mcp-agent-talker-*'
  until_true 20 "the server is there again" server_tool_there
  # As after a reboot of the device: what was accepted is listed, and starts at the first call.
  c systemctl restart raspi-mcp-agent raspi-mcp
  until_true 20 "its tool is on" c sh -c 'raspi-mcp call agents.get_status --json -a agent_id=talker | grep -q "\"accepted\""'
  [ -z "$(c systemctl list-units --all --plain --no-legend 'raspi-mcp-agent-talker-*')" ] || die "it was started before anybody called it"
  expect_in "the first call after a restart" 'closed to raspi-mcp-agent-1' "$(exec_call talker.port '{}')"
  fails_with "2 GiB of memory" 4 'signal 9|exit code' c raspi-mcp call thing.memory
  fails_with "a fork bomb" 4 'signal 9|exit code' c raspi-mcp call thing.forks
  until_true 20 "the forks are gone" no_agent_left
  c raspi-mcp call thing.who >/dev/null || die "no agent runs after the fork bomb"
  for _ in 1 2 3; do
    c raspi-mcp call thing.orphans >/dev/null 2>&1 &
    until_true 20 "it runs" agent_there
    kill $! 2>/dev/null
    until_true 20 "no orphan is left" no_agent_left
  done
  # Killing the privileged half ends its agents (BindsTo=).
  c raspi-mcp call thing.orphans >/dev/null 2>&1 &
  until_true 20 "it runs" agent_there
  c systemctl kill --signal=KILL --kill-whom=main raspi-mcp-agent
  until_true 20 "no agent outlives the privileged half" no_agent_left
  c sh -c 'echo "# changed" >>/opt/thing/thing'
  until_true 20 "the change is noticed" agent_listed changed
  said=$(c raspi-mcp call thing.who 2>&1) && die "a changed program runs: $said"
  expect_in "a changed program" 'Unknown tool|no tool|has changed' "$said"
  c rm -r /etc/raspi-mcp/80-agents.toml /opt/thing
  restart_halves
  say "as raspi-mcp-agent-0, in its own unit: no bus, no sockets of ours, no network, 100 MiB, 32 tasks, and nothing left behind"
}
