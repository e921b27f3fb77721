# shellcheck shell=bash
# An agent on the system bus under a real systemd and dbus-daemon with the rules that are shipped. Sourced by ci/nspawn.

# agent_on_bus TYPE: the example as another type.
agent_on_bus() { sed "s/^TYPE = .*/TYPE = \"$1\"/" examples/agents/climate.py; }

setup_agents_bus() {
  local type
  for type in climate stuck guest; do
    if [ "$type" = stuck ]; then
      agent_on_bus stuck | sed 's/^        room = .*/        __import__("subprocess").Popen(["setsid", "sleep", "600"]); time.sleep(600)/'
    else
      agent_on_bus "$type"
    fi | c sh -c "mkdir -p /opt/$type; cat >/opt/$type/agent; chmod 755 /opt/$type/agent"
    printf '[[agents]]\ntype = "%s"\nkind = "dbus"\nprogram = "/opt/%s/agent"\n' "$type" "$type"
    [ "$type" != guest ] || printf 'start = "never"\n'
    # Once its time is over, a program that hangs has to show that it lives.
    printf '[agents.tools.read]\ntier = "fundamental"\ntimeout_seconds = %s\n' "$([ "$type" = stuck ] && echo 15 || echo 60)"
  done >"$WORK/agents_bus.toml"
  c tee /etc/raspi-mcp/81-agents-bus.toml <"$WORK/agents_bus.toml" >/dev/null
  printf '[Service]\nExecStart=/opt/guest/agent\nUser=raspi-mcp-agent-2\n' | c tee /run/systemd/system/guest.service >/dev/null
  c systemctl daemon-reload
  c systemctl reload dbus
  restart_halves
}

reads() { c raspi-mcp call "$1.read" -a room=shed >/dev/null 2>&1; }
reads_not() { ! reads "$1"; }
# shellcheck disable=SC2016
of_bus_agent() { c sh -c 'grep -l "$1" /proc/[0-9]*/cgroup 2>/dev/null | while read -r f; do echo "${f%/cgroup}"; done' sh "raspi-mcp-agent-$1-" || true; }
bus_agent_gone() { [ -z "$(of_bus_agent "$1")" ]; }
# The program, and the sleep that its call has started.
stuck_in_call() { [ "$(of_bus_agent stuck | wc -l)" = 2 ]; }
stuck_waits() { [ "$(of_bus_agent stuck | wc -l)" = 1 ] && c raspi-mcp call agents.get_status -a agent_id=stuck | grep -q running; }
as_user() { c setpriv --reuid "$1" --regid "$1" --clear-groups busctl "${@:2}"; }
may_not() { fails_with "$1" 1 'Access denied|AccessDenied|rejected|Permission denied' "${@:2}"; }

check_agents_bus() {
  local said one bus=(call org.freedesktop.DBus / org.freedesktop.DBus)
  setup_agents_bus
  until_true 20 "the agents are declared" c sh -c 'raspi-mcp agents list | grep -q climate.read'
  accept_agent climate
  until_true 20 "its tool is there" reads climate
  said=$(exec_call climate.read '{"room": "shed"}')
  expect_in "its answer" '"celsius":21.5' "$said"
  one=$(of_bus_agent climate)
  expect_in "its control group" '/raspi-mcp-agents.slice/raspi-mcp-agent-climate-[0-9a-f]{32}.service' "$(c cat "$one/cgroup")"
  expect "its account" raspi-mcp-agent-0 "$(c stat -c %U "$one")"
  [ "$(c readlink "$one/ns/net")" != "$(c readlink /proc/1/ns/net)" ] || die "an agent has the machine's network"
  c nsenter --target "${one##*/}" --mount ls /run/dbus/system_bus_socket >/dev/null || die "it does not see the bus"
  if said=$(c nsenter --target "${one##*/}" --mount ls /run/raspi-mcp/mcp.sock 2>/dev/null); then die "an agent sees $said"; fi

  may_not "another user has such a name" as_user bob "${bus[@]}" RequestName su org.dbusmcp.Agent.greenhouse 4
  may_not "root has such a name" c busctl "${bus[@]}" RequestName su org.dbusmcp.Agent.greenhouse 4
  may_not "an agent has another name" as_user raspi-mcp-agent-0 "${bus[@]}" RequestName su org.raspimcp.x 4
  may_not "an agent calls systemd" as_user raspi-mcp-agent-0 call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager ListUnits
  may_not "an agent calls us" as_user raspi-mcp-agent-0 call org.raspimcp /org/raspimcp org.raspimcp.Tools1 List 'a{sv}' 0
  may_not "an agent asks who is there" as_user raspi-mcp-agent-0 "${bus[@]}" ListNames
  for one in root bob; do
    may_not "$one calls an agent" as_user "$one" call org.dbusmcp.Agent.climate /org/dbusmcp/Agent/climate/0 org.dbusmcp.Agent GetCapabilities
  done

  accept_agent stuck
  for _ in 1 2 3; do
    until_true 30 "the agent is there" stuck_waits
    c raspi-mcp call stuck.read -a room=shed >"$WORK/said" 2>&1 &
    one=$!
    until_true 20 "it is in its call" stuck_in_call
    c systemctl kill --signal=KILL --kill-whom=main 'raspi-mcp-agent-stuck-*'
    wait "$one" && die "a killed agent answers: $(cat "$WORK/said")"
    expect_in "the call" 'stuck died|UNAVAILABLE|unavailable' "$(cat "$WORK/said")"
    [ "$(of_bus_agent stuck | wc -l)" -le 1 ] || die "an orphan is left: $(of_bus_agent stuck)"
  done
  # Cancelled: a program that hangs as a whole gives no sign of life, and is ended with what it has started.
  until_true 30 "the agent is there" stuck_waits
  c timeout 3 raspi-mcp call stuck.read -a room=shed >/dev/null 2>&1 &
  until_true 3 "it is in its call" stuck_in_call
  until_true 40 "nothing is left of it" bus_agent_gone stuck
  # As an upgrade of the package does it.
  c systemctl daemon-reload
  c systemctl restart raspi-mcp-agent
  until_true 20 "the agent is there again" reads climate
  c systemctl kill --signal=KILL --kill-whom=main raspi-mcp-agent
  until_true 20 "no agent outlives the privileged half" bus_agent_gone climate

  until_true 30 "the privileged half is there again" c raspi-mcp agents list
  reads guest && die "one that has not come answers"
  c systemctl start guest
  accept_agent guest
  until_true 20 "one that came by itself answers" reads guest
  c systemctl stop guest
  until_true 20 "one that has left does not" reads_not guest
  c systemctl start guest
  until_true 20 "one that came again answers" reads guest
  c systemctl stop guest
  c rm -r /etc/raspi-mcp/81-agents-bus.toml /opt/climate /opt/stuck /opt/guest /run/systemd/system/guest.service
  c systemctl daemon-reload
  restart_halves
  say "as raspi-mcp-agent-0 on the bus: called by the server alone, calls nobody, killed in mid-call without an orphan; one that comes by itself"
}
