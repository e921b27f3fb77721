# shellcheck shell=bash
# An agent that does what no server should, without pause: what other callers, other agents and the server's memory notice. Run by
# ci/parts/agents; not among the checks that ci/nspawn runs by itself. Sourced by ci/nspawn.

HOSTILE_SECONDS=${HOSTILE_SECONDS:-30}

check_agents_hostile() {
  local said tool before anon p99
  c mkdir -p /opt/hostile
  c sh -c 'cat >/opt/hostile/server; chmod 755 /opt/hostile/server' <"$ROOT/ci/nspawn.d/hostile_server.py"
  agent_server | sed 's/"name":"port"/"name":"echo"/' | c sh -c 'cat >/opt/hostile/good; chmod 755 /opt/hostile/good'
  c sh -c 'cat >/opt/hostile/driver.py' <"$ROOT/ci/nspawn.d/hostile.py"
  {
    printf '[[agents]]\ntype = "hostile"\nkind = "mcp"\nprogram = "/opt/hostile/server"\nmemory_mb = 300\n'
    for tool in notify values text garbage changed picture hang die endless; do
      printf '[agents.tools.%s]\ntier = "fundamental"\ntimeout_seconds = 2\n' "$tool"
    done
    printf '[[agents]]\ntype = "good"\nkind = "mcp"\nprogram = "/opt/hostile/good"\n[agents.tools.echo]\ntier = "fundamental"\n'
  } | c tee /etc/raspi-mcp/80-hostile.toml >/dev/null
  restart_halves
  accept_agent hostile
  accept_agent good
  until_true 20 "the good one answers" official_there good.echo
  before=$(c systemctl list-units --plain --no-legend 'raspi-mcp-agent-good-*' | cut -d' ' -f1)
  said=$(PATIENCE=$((HOSTILE_SECONDS + 60)) c python3 /opt/hostile/driver.py "$HOSTILE_SECONDS")
  say "$said"
  anon=$(sed -n 's/.*"anon_kib": \([0-9]*\).*/\1/p' <<<"$said") p99=$(sed -n 's/.*"p99_ms": \([0-9]*\).*/\1/p' <<<"$said")
  expect_in "calls of the good agent" '"failed": 0' "$said"
  expect "the good agent's process" "$before" "$(c systemctl list-units --plain --no-legend 'raspi-mcp-agent-good-*' | cut -d' ' -f1)"
  [ "$anon" -lt $((40 * 1024)) ] || die "the server took $anon KiB"
  [ "$p99" -lt 50 ] || die "others waited $p99 ms (p99)"
  c rm -r /etc/raspi-mcp/80-hostile.toml /opt/hostile
  restart_halves
  say "beside a hostile agent: the server takes $((anon / 1024)) MiB at most, others wait $p99 ms (p99), and no other agent dies"
}
