# shellcheck shell=bash
# A real NetworkManager with two profiles for one interface, and a peer at the other end of the link that answers in both
# networks. Tests what is reported, activated and reverted automatically. Sourced by ci/nspawn.

NEAR=mcp0
HERE_A=192.0.2.2 THERE_A=192.0.2.1
HERE_B=198.51.100.2 THERE_B=198.51.100.1

# network_up: sets up, once, the link, the peer, NetworkManager and both profiles, activates "home", and enables the namespace.
network_up() {
  [ ! -f "$WORK/network" ] || return 0
  c test -f /usr/sbin/NetworkManager || die "the container has no NetworkManager"
  # The peer has its own network namespace, which lives as long as the container.
  c systemd-run --quiet --collect --unit=far-end --property=PrivateNetwork=yes sleep infinity
  local far
  # With the tools and process IDs of the host.
  far=$(pgrep --ns "$LEADER" --nslist pid --full 'sleep infinity$' | head -1)
  nsenter --target "$LEADER" --net ip link add "$NEAR" type veth peer name far
  nsenter --target "$LEADER" --net ip link set far netns "$far"
  nsenter --target "$far" --net ip address add "$THERE_A/24" dev far
  nsenter --target "$far" --net ip address add "$THERE_B/24" dev far
  nsenter --target "$far" --net ip link set far up
  # Only the interfaces in the container.
  printf '[main]\nno-auto-default=*\n' | c tee /etc/NetworkManager/conf.d/only.conf >/dev/null
  c systemctl start NetworkManager
  c nmcli --wait 10 device set "$NEAR" managed yes
  profile home "$HERE_A" && profile office "$HERE_B"
  c nmcli --wait 20 connection up home >/dev/null
  touch "$WORK/network"
}

# profile NAME ADDRESS
profile() {
  c nmcli connection add type ethernet ifname "$NEAR" con-name "$1" autoconnect no \
    ipv4.method manual ipv4.addresses "$2/24" ipv6.method disabled >/dev/null
}

# Prints the profile that is active on the link.
on_cable() { c nmcli --get-values NAME,DEVICE connection show --active | sed -n "s/:$NEAR\$//p"; }
on_cable_is() { [ "$(on_cable)" = "$1" ]; }
reaches() { c raspi-mcp call --json network.ping -a address="$1" -a count=1 -a timeout_ms=500 | grep -q '"packets_received": *1'; }
checkpoints() { c busctl get-property org.freedesktop.NetworkManager /org/freedesktop/NetworkManager org.freedesktop.NetworkManager Checkpoints; }

check_network() {
  local said
  network_up
  said=$(c raspi-mcp call --json system.get_network_info)
  expect_in "the address, by rtnetlink from inside the sandbox" "\"$HERE_A\"" "$said"
  expect_in "its mask" '"255.255.255.0"' "$said"
  [[ $said != *unreadable* ]] || die "unreadable: $said"
  said=$(c raspi-mcp call --json network.get_status)
  expect_in "NetworkManager" '"running": *true' "$said"
  expect_in "the connection" '"primary_connection": *"home"|"state": *"connected' "$said"
  # The server reads by itself: its own account and D-Bus policy, without the agent.
  said=$(as bob raspi-mcp call --json network.list_connections)
  expect_in "the profiles" '"office"' "$said"
  expect_in "where the active one is" "^ *\"$NEAR\"\$" "$said"
  said=$(c raspi-mcp call --json network.ping -a address="$THERE_A" -a count=3 -a interval_ms=200)
  expect_in "three echoes" '"packets_received": *3' "$said"
  said=$(c raspi-mcp call --json network.ping -a address="::1" -a count=1)
  expect_in "IPv6" '"packets_received": *1' "$said"
  said=$(c raspi-mcp call --json network.ping -a address="$HERE_B" -a count=1 -a timeout_ms=200 2>&1 || true)
  expect_in "nobody there, or no way" 'packets_received": *0|no way' "$said"
  fails_with "bob changes the network" 5 'ops_rw|admin' as bob raspi-mcp call network.activate_connection -a connection=office
  fails_with "no such connection" 1 'there is no connection' c raspi-mcp call network.activate_connection -a connection='office; reboot'
  expect "active" home "$(on_cable)"
  say "addresses, profiles and pings, by the server's own account; three replies from $THERE_A"
}

check_network_confirmed() {
  local said
  network_up
  said=$(c raspi-mcp call --json network.activate_connection -a connection=office -a dry_run=true)
  expect_in "a dry run" '"activated": *false' "$said"
  expect "active after a dry run" home "$(on_cable)"
  said=$(c raspi-mcp call --json network.activate_connection -a connection=office -a confirm_seconds=60)
  expect_in "what is active now" '"name": *"office"' "$said"
  expect_in "what was before" '"name": *"home"' "$said"
  expect_in "until when" '"confirm_by"' "$said"
  expect "active" office "$(on_cable)"
  reaches "$THERE_B" || die "$THERE_B does not answer"
  # Neither server nor agent depends on its memory.
  c systemctl kill --signal=KILL raspi-mcp-agent raspi-mcp
  until_true 20 "both halves are back" halves_are_up
  expect_in "it still waits" '"pending_change"' "$(c raspi-mcp call --json network.get_status)"
  expect_in "confirmed" '"confirmed": *true' "$(c raspi-mcp call --json network.confirm_connection)"
  # Nothing is left that could revert it.
  expect "checkpoints" "ao 0" "$(checkpoints)"
  expect "active" office "$(on_cable)"
  # And back, on request.
  c raspi-mcp call network.activate_connection -a connection=home >/dev/null
  expect_in "taken back" '"reverted": *true' "$(c raspi-mcp call --json network.confirm_connection -a keep=false)"
  until_true 20 "office is back" on_cable_is office
  c nmcli --wait 20 connection up home >/dev/null
  say "a confirmed change stays, even if server and agent were killed meanwhile; keep=false reverts it at once"
}

lab_is_gone() { on_cable_is home && ! c nmcli connection show lab >/dev/null 2>&1; }

# Connections that are added and changed, by NetworkManager's own checkpoints and files.
check_network_edited() {
  local secret="correct horse" files=/etc/NetworkManager/system-connections
  network_up
  expect "active" home "$(on_cable)"
  asked network.add_connection -a connection=lab -a device="$NEAR" -a ipv4="$HERE_B/24" -a confirm_seconds=10
  # shellcheck disable=SC2153 # ours: what was answered
  expect_in "added, and in memory" '"saved": *false' "$SAID"
  expect "active" lab "$(on_cable)"
  reaches "$THERE_B" || die "$THERE_B does not answer"
  fails_with "its file" 1 '' c test -e "$files/lab.nmconnection"
  until_true 30 "home is back, and lab is gone" lab_is_gone
  asked network.add_connection -a connection=lab -a device="$NEAR" -a ipv4="$HERE_B/24"
  expect_in "kept" '"confirmed": *true' "$(c raspi-mcp call --json network.confirm_connection)"
  c test -f "$files/lab.nmconnection" || die "what was kept has no file"

  # A change of the one in use, which NetworkManager takes back with its settings.
  asked network.update_connection -a connection=lab -a ipv4="$HERE_A/24" -a dns="[\"$THERE_A\"]"
  reaches "$THERE_A" || die "$THERE_A does not answer"
  expect_in "taken back" '"reverted": *true' "$(c raspi-mcp call --json network.confirm_connection -a keep=false)"
  until_true 20 "its old address is back" reaches "$THERE_B"
  expect "its address" "$HERE_B/24" "$(c nmcli --get-values ipv4.addresses connection show lab)"
  expect "its name servers" "" "$(c nmcli --get-values ipv4.dns connection show lab)"

  # A passphrase: saved, kept by a change that does not name it, and read by root alone.
  asked network.add_connection -a connection=attic -a ssid=attic -a passphrase="$secret" -a activate=false
  expect_in "what the person read" 'attic' "$(cat "$WORK/question")"
  asked network.update_connection -a connection=attic -a hidden=true -a dns="[\"$THERE_A\", \"$THERE_B\"]"
  expect "the passphrase" "$secret" "$(c nmcli --show-secrets --get-values 802-11-wireless-security.psk connection show attic)"
  expect "hidden" yes "$(c nmcli --get-values 802-11-wireless.hidden connection show attic)"
  expect "name servers" "$THERE_A,$THERE_B" "$(c nmcli --get-values ipv4.dns connection show attic | tr -d ' ')"
  expect "who reads it" 600 "$(c stat --format %a "$files/attic.nmconnection")"
  fails_with "the passphrase in the question" 1 '' grep -q "$secret" "$WORK/question"
  fails_with "the passphrase in the journal" 1 '' c journalctl --quiet --no-pager --grep "$secret" -u raspi-mcp -u raspi-mcp-agent
  fails_with "the passphrase in files of ours" 1 '' c grep -rq "$secret" /var/lib/raspi-mcp /var/lib/raspi-mcp-agent
  c nmcli connection delete attic lab >/dev/null
  c nmcli --wait 20 connection up home >/dev/null
  say "an added connection went back by itself, a confirmed one is on the card; a passphrase is kept, and in nothing of ours"
}

check_network_reverts() {
  local said took began=$SECONDS
  network_up
  expect "active" home "$(on_cable)"
  c raspi-mcp call network.activate_connection -a connection=office -a confirm_seconds=10 >/dev/null
  expect "active" office "$(on_cable)"
  c systemctl kill --signal=KILL raspi-mcp-agent raspi-mcp
  c systemctl stop raspi-mcp-agent raspi-mcp
  until_true 30 "home is back, with neither half alive" on_cable_is home
  c systemctl start raspi-mcp-agent raspi-mcp
  reaches "$THERE_A" || die "$THERE_A does not answer"
  fails_with "confirming too late" 5 'taken back' c raspi-mcp call network.confirm_connection
  took=$((SECONDS - began))
  c systemctl stop NetworkManager
  fails_with "without NetworkManager" 1 'NetworkManager' c raspi-mcp call network.activate_connection -a connection=office
  said=$(c raspi-mcp call --json network.get_status)
  expect_in "without NetworkManager" '"running": *false' "$said"
  c systemctl stop far-end
  c systemctl restart raspi-mcp-agent raspi-mcp
  rm "$WORK/network"
  say "unconfirmed, with server and agent killed: the old connection was back after $took s"
}

# The conversation about echo requests, in the container's network: the line in dist/sysctl.d allows them there.
check_network_pinged() {
  expect "the groups that may" "$(printf '0\t2147483647')" "$(c cat /proc/sys/net/ipv4/ping_group_range)"
  RUST_BACKTRACE=0 RASPI_MCP_PING=must nsenter --target "$LEADER" --net cargo test --locked --quiet --test tools ping:: \
    >"$WORK/ping" 2>&1 || die "$(cat "$WORK/ping")"
  grep -qE '^test result: ok\. [1-9]' "$WORK/ping" || die "no test ran: $(cat "$WORK/ping")"
  say "progress for each request, IPv4 and IPv6, and an end on cancellation"
}

halves_are_up() { c systemctl is-active --quiet raspi-mcp raspi-mcp-agent && c raspi-mcp call network.get_status >/dev/null 2>&1; }
