# shellcheck shell=bash
# The oneshot service that prepares an appliance, in its sandbox: what it may write, who owns that, and that a second start grants
# nothing. Its card is simulated, since a container has no disk. Sourced by ci/nspawn.

check_prepare() {
  local unit=/run/systemd/system/raspi-mcp-prepare.service folder=/run/raspi-mcp-identity said code exposure
  c systemctl stop raspi-mcp raspi-mcp-agent
  c tee "$unit" <"$ROOT/dist/slots/raspi-mcp-prepare.service" >/dev/null
  c mkdir -p "$unit.d"
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/raspi-mcp --set board=simulated prepare\nReadWritePaths=/var/lib/raspi-mcp-agent\n' |
    c tee "$unit.d/simulated.conf" >/dev/null
  c systemctl daemon-reload
  said=$(c systemd-analyze verify --man=no raspi-mcp-prepare.service 2>&1)
  expect "systemd-analyze verify" "" "$said"
  c systemctl start raspi-mcp-prepare || die "it did not run: $(c journalctl --no-pager -n 5 -u raspi-mcp-prepare)"

  expect "the folder" "2750 root:raspi-mcp" "$(c stat -c '%a %U:%G' $folder)"
  for said in tls.crt tls.key state.json conf.d/10-settings.toml conf.d/20-tokens.toml; do
    expect "$said" "640 root:raspi-mcp" "$(c stat -c '%a %U:%G' $folder/$said)"
  done
  expect "the claim" "600 root" "$(c stat -c '%a %U' $folder/claim)"
  expect "the server reads its key" "" "$(c runuser -u raspi-mcp -- cat $folder/tls.key 2>&1 >/dev/null)"
  expect_in "the server does not read the code" "Permission denied" "$(c runuser -u raspi-mcp -- cat $folder/claim 2>&1)"
  expect_in "others see nothing of it" "Permission denied" "$(c runuser -u bob -- ls $folder 2>&1)"

  # Again in the same boot, as `systemctl restart` does.
  code=$(c cat $folder/claim)
  c systemctl restart raspi-mcp-prepare
  expect "the claim after a second start" "$code" "$(c cat $folder/claim)"
  # While the agent runs, nobody else may write the record.
  c systemctl start raspi-mcp-agent
  said=$(c raspi-mcp --set board=simulated prepare 2>&1) && die "it wrote while the agent was running"
  expect_in "beside an agent" "the agent runs" "$said"
  # By its name: the complete list omits units that do not stay running.
  exposure=$(c systemd-analyze security --no-pager raspi-mcp-prepare.service | sed -n 's/.*exposure level.*: \([0-9.]*\) .*/\1/p')
  awk -v it="$exposure" 'BEGIN { exit !(it != "" && it < 4.0) }' || die "its exposure is \"$exposure\", and must be under 4.0"

  # Restored: a machine that is not an appliance has no owner to wait for.
  c systemctl stop raspi-mcp-prepare raspi-mcp-agent
  c rm -rf "$unit" "$unit.d" $folder /var/lib/raspi-mcp-agent/card /var/lib/raspi-mcp-agent/machine
  c systemctl daemon-reload
  c systemctl start raspi-mcp-agent raspi-mcp
  say "prepared in its sandbox, exposure $exposure (under 4.0); the server can read its key, and only root the code"
}
