# shellcheck shell=bash
# Servers that people have, in the sandbox of an agent and over a reboot of the machine: in JavaScript, Python, Go and Rust. ci/parts/agents
# installs them and runs this check; it is not among those that ci/nspawn runs by itself. Sourced by ci/nspawn.

# official TYPE PROGRAM TOOL ARG...: a declaration.
official() {
  local type=$1 program=$2 tool=$3 args
  shift 3
  args=
  [ $# = 0 ] || args=$(printf '"%s", ' "$@")
  printf '[[agents]]\ntype = "%s"\nkind = "mcp"\nprogram = "%s"\nargs = [%s]\nmemory_mb = 300\ntasks = 64\nstart_seconds = 60\n' "$type" "$program" "${args%, }"
  printf '[agents.tools.%s]\ntier = "fundamental"\n' "$tool"
}

official_there() { c raspi-mcp call "$@" >"$WORK/said" 2>&1; }
accepted_official() { c raspi-mcp call agents.get_status --json -a agent_id="$1" | grep -q '"accepted"'; }

check_agents_official() {
  local root=$WORK/root/opt/official before type packages older
  local npm=/opt/official/node_modules/@modelcontextprotocol
  local -A calls=(
    [everything]='echo -a message=moin'
    [folder]='list_allowed_directories'
    [memory]='read_graph'
    [thinking]='sequentialthinking -a thought=one -a nextThoughtNeeded=false -a thoughtNumber=1 -a totalThoughts=1'
    [clock]='get_current_time -a timezone=Asia/Kolkata'
    [tables]='list_tables'
    [go]='add_time -a time=2026-01-01T00:00:00Z -a duration=90m'
    [rust]='compute_duration -a start=2026-01-01T00:00:00Z -a end=2026-01-01T01:30:00Z'
  )
  local -A says=([everything]=moin [folder]=/srv/shared [memory]=entities [thinking]=thoughtNumber [clock]=05:30 [tables]="" [go]=01:30 [rust]=5400)
  need_node
  mkdir -p "$root"
  cp -a --no-preserve=ownership "$NODE" "$root/node"
  cp -a --no-preserve=ownership "$BUILD/npm-official/node_modules" "$BUILD/agents-python" "$BUILD/agents-python-older" "$root/"
  chmod -R go-w "$root"
  # Its scripts name the folder that they were installed into.
  packages=$(echo "$root"/agents-python/lib/python3*/site-packages)
  older=$(echo "$root"/agents-python-older/lib/python3*/site-packages)
  c mkdir -p /srv/shared
  {
    official everything /opt/official/node echo "$npm/server-everything/dist/index.js"
    official clock /usr/bin/python3 get_current_time -m mcp_server_time --local-timezone UTC |
      sed "/^start_seconds/a env = { PYTHONPATH = \"${packages#"$WORK/root"}\" }"
    official folder /opt/official/node list_allowed_directories "$npm/server-filesystem/dist/index.js" /srv/shared
    official memory /opt/official/node read_graph "$npm/server-memory/dist/index.js" |
      sed '/^start_seconds/a env = { MEMORY_FILE_PATH = "/tmp/graph.jsonl" }'
    official thinking /opt/official/node sequentialthinking "$npm/server-sequential-thinking/dist/index.js"
    official tables /usr/bin/python3 list_tables -c 'import mcp_server_sqlite; mcp_server_sqlite.main()' --db-path /tmp/tables.db |
      sed "/^start_seconds/a env = { PYTHONPATH = \"${older#"$WORK/root"}\" }"
    official rust /opt/official/node_modules/@temporal-cortex/cortex-mcp-linux-x64/bin/cortex-mcp compute_duration
    official go /opt/official/node_modules/mcp-time-linux-x64/bin/mcp-time add_time --transport stdio
  } | c tee /etc/raspi-mcp/80-official.toml >/dev/null
  restart_halves
  for type in "${!calls[@]}"; do
    typed "raspi-mcp agents accept $type" "Type yes: " yes >"$WORK/accepted" || die "$type is not accepted: $(cat "$WORK/accepted")"
    expect_in "$type is accepted" "the tools of $type are on" "$(cat "$WORK/accepted")"
    # shellcheck disable=SC2086 # the tool and its arguments
    until_true 60 "$type answers" official_there $type.${calls[$type]}
    expect_in "$type" "${says[$type]}" "$(cat "$WORK/said")"
  done
  before=$(boot_id)
  ask_reboot -a delay_seconds=1 -a reason="agents over a reboot"
  approve y >/dev/null
  answered || die "an approved reboot failed: $SAID"
  until_true 60 "the machine is up again" up_again "$before"
  for type in "${!calls[@]}"; do
    until_true 30 "$type is accepted after the reboot" accepted_official "$type"
    [ -z "$(c systemctl list-units --all --plain --no-legend "raspi-mcp-agent-$type-*")" ] || die "$type was started before anybody called it"
    # shellcheck disable=SC2086
    official_there $type.${calls[$type]} || die "$type does not answer its first call after a reboot: $(cat "$WORK/said")"
    expect_in "$type after a reboot" "${says[$type]}" "$(cat "$WORK/said")"
  done
  c rm -r /etc/raspi-mcp/80-official.toml /opt/official
  restart_halves
  say "${#calls[@]} servers in JavaScript, Python, Go and Rust: accepted, called, listed after a reboot, and started by the first call"
}
