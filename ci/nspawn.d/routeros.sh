# shellcheck shell=bash
# The routers' process: not there without a router, alone with the passwords, and of use to the server only. Sourced by ci/nspawn.

# The simulated router runs in the container, which has no network but its own.
simulated_router() {
  local example=$TARGET/debug/examples/routeros
  if [ -n "${RASPI_MCP_ROUTER:-}" ]; then example=$RASPI_MCP_ROUTER; else cargo build --locked --quiet --example routeros >&2; fi
  c tee /usr/local/bin/router <"$example" >/dev/null
  c chmod 755 /usr/local/bin/router
  # Its standard input is commands, and it ends with them.
  c systemd-run --quiet --unit=router sh -c 'sleep infinity | /usr/local/bin/router'
  until_true 20 "the simulated router listens" c sh -c 'journalctl --no-pager --quiet --output cat -u router | grep -q certificate'
}

# A plan is applied once a person said yes on a terminal; the agent writes down that it let it through.
apply_plan() {
  local plan calling
  plan=$(c raspi-mcp call routeros.plan_add_firewall_rule --args '{"device_ids": ["edge"], "chain": "forward", "action": "drop",
    "src_address": "198.51.100.0/24", "place": "first"}' | grep -o 'plan-[0-9a-f]*' | head -1)
  c raspi-mcp call routeros.apply_firewall_plan -a "plan_id=$plan" >"$WORK/applied" 2>&1 &
  calling=$!
  until_true 20 "the question about the plan" open_question
  expect_in "what a person is shown" 'Adds a firewall rule: action drop' "$(approve y)"
  wait "$calling" || die "the plan was not applied: $(cat "$WORK/applied")"
  expect_in "the job" 'status: done' "$(cat "$WORK/applied")"
  expect_in "the rule" '198\.51\.100\.0/24' "$(c raspi-mcp call routeros.list_firewall_filter_rules -a device_id=edge)"
  expect_in "the agent's log" 'authorize_router_write.*routeros.apply_firewall_plan' "$(c cat /var/lib/raspi-mcp-agent/operations.ndjson)"
}

check_routeros() {
  local said address pin pid uid password="correct horse" exposure rss
  expect "without a router" inactive "$(c systemctl is-active raspi-mcp-routeros || true)"
  expect "why" no "$(show raspi-mcp-routeros ConditionResult)"
  expect "tools without a router" "" "$(c raspi-mcp call tools.search -a query=mikrotik | grep -o 'routeros\.[a-z_]*' || true)"
  simulated_router
  said=$(c journalctl --no-pager --quiet --output cat -u router)
  address=$(sed -n 's|.*https://\([0-9.:]*\)/rest.*|\1|p' <<<"$said")
  pin=$(sed -n 's/^certificate //p' <<<"$said")
  c sh -c "printf '%s\n' '$password' | raspi-mcp routeros add edge --address $address --user raspi --pin $pin --password-file - \
    --environment lab --allow-advanced --allow-professional" >"$WORK/added"
  expect_in "what add says" 'systemctl restart raspi-mcp-agent raspi-mcp-routeros raspi-mcp' "$(cat "$WORK/added")"
  expect "the password file" "600 root root" "$(c stat -c '%a %U %G' /etc/raspi-mcp/routeros/edge)"
  expect "its folder" "700 root root" "$(c stat -c '%a %U %G' /etc/raspi-mcp/routeros)"
  c systemctl restart raspi-mcp-agent raspi-mcp-routeros raspi-mcp
  expect "with a router" active "$(c systemctl is-active raspi-mcp-routeros)"
  expect_in "the right to look" 'RouterOS 7' "$(c raspi-mcp routeros test edge)"

  pid=$(show raspi-mcp-routeros MainPID) uid=$(c id -u raspi-mcp-routeros)
  expect_in "its user" "^${uid}[[:space:]]" "$(field "$pid" Uid)"
  capless "$pid" CapInh CapPrm CapEff CapBnd CapAmb
  # Who may read a password: root, and this process through systemd.
  for user in raspi-mcp raspi-mcp-routeros raspi-mcp-exec; do
    fails_with "$user reads the password" 1 'denied' as "$user" cat /etc/raspi-mcp/routeros/edge
  done
  fails_with "the server's user reads the credential" 1 'denied' as raspi-mcp cat "/run/credentials/raspi-mcp-routeros.service/routeros_edge"
  fails_with "its user lists asks" 5 'server or an approver|approver' as raspi-mcp-routeros raspi-mcp approve --list
  probe raspi-mcp-routeros \
    'socket AF_INET ok' 'socket AF_UNIX ok' 'socket AF_NETLINK no' 'socket AF_PACKET no' \
    'write /var/lib/raspi-mcp-routeros ok' 'write /etc/raspi-mcp no' 'write /usr no' 'read /var/lib/raspi-mcp no' \
    'read /var/lib/raspi-mcp-agent no' 'write /sys/kernel no' 'mount no' 'unshare no' 'kill 1 no'

  expect_in "a read through the server" 'version: 7' "$(c raspi-mcp call routeros.get_system_overview -a device_id=edge)"
  as ann raspi-mcp call routeros.set_system_identity -a device_id=edge -a identity=attic >/dev/null
  expect_in "the name afterwards" 'attic' "$(c raspi-mcp call routeros.get_system_overview -a device_id=edge)"
  apply_plan
  # Restarted alone, it is found by the next call.
  c systemctl restart raspi-mcp-routeros
  c raspi-mcp call routeros.get_system_clock -a device_id=edge >/dev/null
  c systemctl stop raspi-mcp-routeros
  fails_with "a call without the process" 4 'systemctl' c raspi-mcp call routeros.get_system_clock -a device_id=edge
  c systemctl start raspi-mcp-routeros
  rss=$(field "$(show raspi-mcp-routeros MainPID)" VmRSS)
  exposure=$(c systemd-analyze security --no-pager | awk '$1 == "raspi-mcp-routeros.service" { print $2 }')
  awk -v exposure="$exposure" 'BEGIN { exit !(exposure != "" && exposure < 2.0) }' || die "exposure: \"$exposure\" must be under 2.0"
  # In no file but root's own, in no log.
  said=$(c grep -rlF "$password" /etc /var/lib/raspi-mcp /var/lib/raspi-mcp-agent /var/lib/raspi-mcp-routeros /run/raspi-mcp || true)
  expect "files with the password" /etc/raspi-mcp/routeros/edge "$said"
  expect "lines of the journal with it" "" "$(c journalctl --no-pager --quiet --output cat -u 'raspi-mcp*' | grep -F "$password" || true)"

  c raspi-mcp routeros remove edge >/dev/null
  c systemctl stop router raspi-mcp-routeros
  restart_halves
  c systemctl start raspi-mcp-routeros
  expect "without a router again" inactive "$(c systemctl is-active raspi-mcp-routeros || true)"
  say "the routers' process: only with a router, alone with its password, exposure $exposure (under 2.0), memory $rss"
}
