# shellcheck shell=bash
# The names of dbus-mcp on the real bus, with the shipped rules and as several users. Sourced by ci/nspawn.

orchestrator_there() { c busctl status org.dbusmcp.Orchestrator >/dev/null 2>&1; }

# same_xml NAME PATH FILE: introspection is the committed file, byte for byte, and a line feed of busctl's own.
same_xml() {
  c busctl introspect --xml-interface "$1" "$2" | head -c -1 >"$WORK/introspected"
  cmp "$WORK/introspected" "$ROOT/dist/dbus-1/interfaces/$3" || die "introspection of $1 differs from $3"
}

check_orchestrator() {
  local spawn said id
  # As it stands in the document of dbus-mcp.
  spawn='busctl call org.dbusmcp.Orchestrator /org/dbusmcp/Orchestrator org.dbusmcp.Orchestrator SpawnAgent ss "systemd" "{}"'
  printf 'compat = ["dbus-mcp"]\n[tools]\nenable = ["system", "service", "network", "process", "files", "exec", "agents"]\n[policy]\n"agents.spawn" = "allow"\n' |
    c tee /etc/raspi-mcp/81-compat.toml >/dev/null
  restart_halves
  until_true 20 "the name of dbus-mcp is there" orchestrator_there
  same_xml org.raspimcp /org/raspimcp org.raspimcp.xml
  same_xml org.dbusmcp.Orchestrator /org/dbusmcp/Orchestrator org.dbusmcp.Orchestrator.xml
  said=$(as ann sh -c "$spawn")
  expect_in "ann's agent" '^s "systemd_[0-9]+"$' "$said"
  id=$(sed -n 's/^s "\(.*\)"$/\1/p' <<<"$said")
  said=$(as ann busctl call org.dbusmcp.Orchestrator /org/dbusmcp/Orchestrator org.dbusmcp.Orchestrator SendTask ss "$id" \
    '{"type": "get_status", "params": {"service_name": "dbus"}}')
  expect_in "her task" 'success.*active' "$said"
  fails_with "bob's agent" 1 'admin' as bob sh -c "$spawn"
  fails_with "bob asks for hers" 1 'no agent of this id' as bob busctl call org.dbusmcp.Orchestrator /org/dbusmcp/Orchestrator \
    org.dbusmcp.Orchestrator GetAgentStatus s "$id"
  for name in org.dbusmcp.Orchestrator org.dbusmcp.Agent.thing; do
    fails_with "bob takes $name" 1 'Access denied' as bob \
      busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus RequestName su "$name" 4
  done
  c rm /etc/raspi-mcp/81-compat.toml
  restart_halves
  say "the line of dbus-mcp's document works for ann and not for bob, and introspection is the committed XML"
}
