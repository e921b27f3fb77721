# shellcheck shell=bash
# Tests of services: units that run, fail, hang, restart and depend on others, and attempts to stop protected ones. Sourced by ci/nspawn.

# unit NAME: writes standard input as that unit file in the container's root.
unit() { install -D -m 644 /dev/stdin "$1"; }

# prepare_service ROOT: writes the units, and a configuration that allows tools to control units named t-*, including protected ones.
prepare_service() {
  local etc=$1/etc/systemd/system name
  printf '[service]\nallow = ["t-*.service", "dbus.service", "raspi-mcp*.service", "systemd-logind.service"]\n' \
    >"$1/etc/raspi-mcp/60-service.toml"
  for name in t-run t-base t-under t-restart t-plain; do
    unit "$etc/$name.service" <<EOF
[Unit]
Description=Test $name
[Service]
ExecStart=/usr/bin/sleep infinity
ExecReload=/usr/bin/true
Environment=COLOUR=red API_TOKEN=hunter2
[Install]
WantedBy=multi-user.target
EOF
  done
  printf '[Service]\nRestart=always\nRestartSec=0\n' | unit "$etc/t-restart.service.d/restart.conf"
  # Correct, if unusual: a unit without commands can still be reloaded, which does nothing.
  printf '[Service]\nExecReload=\n' | unit "$etc/t-plain.service.d/no-reload.conf"
  for name in Requires PartOf BindsTo; do
    printf '[Unit]\n%s=t-base.service\nAfter=t-base.service\n[Service]\nExecStart=/usr/bin/sleep infinity\n' "$name" |
      unit "$etc/t-$(tr '[:upper:]' '[:lower:]' <<<"$name").service"
  done
  unit "$etc/t-fail.service" <<'EOF'
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo no such luck; exit 3'
EOF
  unit "$etc/t-hang.service" <<'EOF'
[Service]
Type=notify
TimeoutStartSec=1
ExecStart=/usr/bin/sleep infinity
EOF
  unit "$etc/t-wrong.service" <<'EOF'
[Unit]
Requires=t-nowhere.service
[Service]
ExecStart=/usr/bin/no-such-program
User=no-such-user
EOF
  printf '[Unit]\nBogus=1\n[Service]\nExecStartPre=/usr/bin/touch /run/t-typo-ran\nExecStart=/usr/bin/true\n' | unit "$etc/t-typo.service"
  # Traps: each of these would stop a unit that must keep running.
  printf '[Unit]\nConflicts=dbus.service\n[Service]\nExecStart=/usr/bin/true\n' | unit "$etc/t-conflict.service"
  printf '[Unit]\nWants=t-conflict.service\n[Service]\nExecStart=/usr/bin/true\n' | unit "$etc/t-far.service"
  printf '[Unit]\nWants=reboot.target\n[Service]\nExecStart=/usr/bin/true\n' | unit "$etc/t-reboot.service"
  printf '[Unit]\nFailureAction=reboot\n[Service]\nExecStart=/usr/bin/false\n' | unit "$etc/t-action.service"
  printf '[Unit]\nOnFailure=poweroff.target\n[Service]\nExecStart=/usr/bin/false\n' | unit "$etc/t-onfailure.service"
  printf '[Service]\nExecStart=/usr/bin/true\n[Install]\nAlso=raspi-mcp.service\n' | unit "$etc/t-also.service"
  printf '[Unit]\nWants=reboot.target\n[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n' | unit "$etc/t-boot.service"
  printf '[Unit]\nRequires=t-under.service\nAfter=t-under.service\n' | unit "$etc/systemd-logind.service.d/t.conf"
  ln -s t-run.service "$etc/t-alias.service"
  ln -s /usr/lib/systemd/system/dbus.service "$etc/t-bus.service"
}

# service_call TOOL ARG...: calls a tool as an administrator on the Unix socket.
service_call() { c raspi-mcp call "$@"; }

# service_act ACTION NAME ARG...: performs one action on one service.
service_act() {
  local action=$1 name=$2
  shift 2
  service_call service.control_service -a action="$action" -a service_name="$name" "$@"
}

active() { c systemctl is-active "$1" || true; }

check_service_reads() {
  local said
  said=$(service_call service.list_services -a 'name=t-*' --json)
  expect_in "installed, not loaded" '"name": ?"t-fail.service"' "$said"
  expect_in "as bob" 't-run' "$(as bob raspi-mcp call service.list_services -a 'name=t-r*')"
  said=$(service_call service.get_status -a service_name=dbus --json)
  expect_in "dbus" '"status": ?"active"' "$said"
  expect_in "its process" "\"pid\": ?$(show dbus MainPID)" "$said"
  expect_in "its memory" '"memory_bytes": ?[1-9]' "$said"
  fails_with "no such service" 1 "'nowhere' not found" service_call service.get_status -a service_name=nowhere
  fails_with "no service" 2 'is a socket' service_call service.get_status -a service_name=dbus.socket
  said=$(service_call service.validate_unit_file -a service_name=t-wrong --json)
  for wanted in no-such-program no-such-user t-nowhere.service; do expect_in "t-wrong" "$wanted" "$said"; done
  expect_in "t-wrong, as systemd says it" 'verify: t-wrong.service: Command /usr/bin/no-such-program is not executable' "$said"
  said=$(service_call service.validate_unit_file -a service_name=t-typo --json)
  expect_in "t-typo, as systemd says it" "verify: /etc/systemd/system/t-typo.service:2: Unknown key" "$said"
  expect_in "t-typo" '"verify": ?"findings"' "$said"
  c test ! -e /run/t-typo-ran || die "a command of the unit was run"
  said=$(service_call service.validate_unit_file -a service_name=t-run --json)
  expect_in "t-run" '"valid": ?true' "$said"
  expect_in "t-run" '"verify": ?"clean"' "$said"
  expect_in "t-run" '"can_enable": ?true' "$said"
  for name in dbus systemd-logind raspi-mcp raspi-mcp-agent systemd-journald; do
    said=$(service_call service.validate_unit_file -a service_name=$name --json)
    expect_in "$name" '"valid": ?true' "$said"
    expect_in "$name" '"verify": ?"clean"' "$said"
  done
  c systemctl start t-run
  expect_in "what it logged last" 'Started .*t-run' "$(service_call service.get_status -a service_name=t-run --json)"
  said=$(service_call service.get_status -a service_name=raspi-mcp --json)
  expect_in "what we logged last" '"message": ?"listening on ' "$said"
  c systemctl stop t-run
  say "listed, shown with their logs and validated, for bob too; systemd-analyze finds nothing in the system's own units"
}

check_service_control() {
  local said pid
  expect_in "start" 'done' "$(service_act start t-run)"
  expect "t-run" active "$(active t-run)"
  said=$(service_call service.get_status -a service_name=t-run --json)
  expect_in "environment" '"COLOUR": ?"red"' "$said"
  grep -q hunter2 <<<"$said" && die "a secret is shown: $said"
  pid=$(show t-run MainPID)
  said=$(service_call service.restart -a service_name=t-run --json)
  expect_in "restart" '"previous_status": ?"active"' "$said"
  [ "$(show t-run MainPID)" != "$pid" ] || die "restarted, but it is the same process"
  service_act reload t-run >/dev/null
  fails_with "nothing to reload with" 5 'nothing to reload' service_act reload t-plain
  expect_in "dry run" 'dry.run: yes' "$(service_act stop t-run -a dry_run=true)"
  expect "after a dry run" active "$(active t-run)"
  service_call service.stop -a service_name=t-alias >/dev/null
  expect "stopped by its alias" inactive "$(active t-run)"
  fails_with "a failing start" 5 'ended with code 3' service_act start t-fail
  fails_with "a hanging start" 5 'longer than its unit allows' service_act start t-hang
  expect_in "not waited for" 'queued' "$(service_act start t-hang -a no_block=true)"
  service_call service.start -a service_name=t-restart >/dev/null
  c sh -c "kill -KILL $(show t-restart MainPID)"
  until_true 10 "systemd has restarted it" restarted_by_itself
  fails_with "bob starts something" 5 'ops_rw' as bob raspi-mcp call service.start -a service_name=t-run
  fails_with "not allowed" 5 'raspi-mcp allow service.control_service cron' service_act stop cron
  service_call service.stop -a service_name=t-restart >/dev/null
  say "started, restarted, reloaded, stopped; failing, hanging and restarting units are distinguished"
}

restarted_by_itself() { grep -qE '"restart_count": ?[1-9]' <<<"$(service_call service.get_status -a service_name=t-restart --json)"; }

check_service_dependents() {
  local name
  for name in t-requires t-partof t-bindsto; do service_act start $name >/dev/null; done
  service_act start t-base >/dev/null
  fails_with "three depend on it" 5 '3 active units depend on it' service_act stop t-base
  fails_with "one word is not enough" 2 'confirm_breaking_dependencies' service_act stop t-base -a force=true
  expect "t-base" active "$(active t-base)"
  expect_in "restart takes them along" 't-bindsto.service' "$(service_act restart t-base --json)"
  service_act stop t-base -a force=true -a confirm_breaking_dependencies=true >/dev/null
  for name in t-requires t-partof t-bindsto; do expect "$name" inactive "$(active $name)"; done
  say "Requires=, PartOf= and BindsTo= are found before a stop, and an admin can insist"
}

check_service_protected() {
  local boot pids said action
  boot=$(boot_id) pids="$(show raspi-mcp MainPID) $(show raspi-mcp-agent MainPID) $(show dbus MainPID) $(show systemd-logind MainPID)"
  c systemctl start t-under
  for action in stop restart reload start; do
    fails_with "$action dbus" 5 'protected' service_act $action dbus -a dry_run=true
    fails_with "$action the server" 5 'protected' service_act $action raspi-mcp
    fails_with "$action the agent" 5 'protected' service_act $action raspi-mcp-agent
    fails_with "$action dbus by an alias" 5 'protected' service_act $action t-bus
  done
  for action in stop restart; do
    fails_with "$action what logind requires" 5 'systemd-logind.service, which is protected' service_act $action t-under
  done
  fails_with "start against dbus" 5 'dbus.service, which is protected' service_act start t-conflict
  fails_with "start against dbus, from afar" 5 'dbus.service, which is protected' service_act start t-far
  fails_with "a reboot by a dependency" 5 'takes the machine down|protected' service_act start t-reboot
  fails_with "a reboot by failing" 5 'FailureAction=reboot' service_act start t-action
  fails_with "a power off by failing" 5 'takes the machine down|protected' service_act start t-onfailure
  fails_with "disabled together" 5 'raspi-mcp.service, which is protected' \
    service_call service.set_enabled -a service_name=t-also -a enabled=false
  fails_with "a reboot at every boot" 5 'takes the machine down|protected' service_call service.set_enabled -a service_name=t-boot -a enabled=true
  for said in ../dbus 'dbus service' --all 'dbus*' $'dbus\n' multi-user.target init.scope getty@; do
    fails_with "the name $said" 2 'service_name|name|is a' service_act stop "$said"
  done
  expect "boot" "$boot" "$(boot_id)"
  expect "processes" "$pids" "$(show raspi-mcp MainPID) $(show raspi-mcp-agent MainPID) $(show dbus MainPID) $(show systemd-logind MainPID)"
  c systemctl reset-failed
  say "server, agent, D-Bus and logind keep running: by name, by alias, by dependency, conflict, failure and Also="
}

check_service_enabled() {
  expect_in "enabled" 'enabled: yes' "$(service_call service.set_enabled -a service_name=t-run -a enabled=true)"
  expect "systemd" enabled "$(c systemctl is-enabled t-run)"
  expect_in "listed" 't-run.service' "$(service_call service.list_services -a 'name=t-*' -a enabled=true)"
  expect_in "disabled" 'enabled: no' "$(service_call service.set_enabled -a service_name=t-run -a enabled=false)"
  expect "systemd" disabled "$(c systemctl is-enabled t-run)"
  # Changes by others are seen too, through systemd.
  c systemctl enable --quiet t-plain
  until_true 5 "the list knows what systemctl did" listed_enabled t-plain
  c systemctl disable --quiet t-plain
  fails_with "no [Install]" 5 'cannot be enabled' service_call service.set_enabled -a service_name=t-fail -a enabled=true
  fails_with "a wrong file" 5 'no-such-program' service_call service.set_enabled -a service_name=t-wrong -a enabled=true
  say "enabled and disabled, and changes by systemctl are seen"
}

listed_enabled() { grep -q "$1.service" <<<"$(service_call service.list_services -a "name=$1" -a enabled=true)"; }

check_service_agent_absent() {
  c systemctl stop raspi-mcp-agent
  fails_with "a write without an agent" 4 'systemctl start raspi-mcp-agent' service_act restart t-under -a dry_run=true
  expect_in "a read without an agent" 't-run' "$(service_call service.get_status -a service_name=t-run)"
  c systemctl start raspi-mcp-agent
  service_act start t-run >/dev/null
  service_call service.stop -a service_name=t-run >/dev/null
  say "without the agent, services can be read but not controlled; with it again, both at once"
}
