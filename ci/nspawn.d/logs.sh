# shellcheck shell=bash
# Text in single quotes is for the shell in the container.
# shellcheck disable=SC2016
# logs.query_journal with the real journal: units that log, pages, following, and no process left behind. Sourced by ci/nspawn.

journal() { c raspi-mcp call --json logs.query_journal "$@"; }

# talker UNIT COMMAND: runs a transient unit with one line of shell.
talker() { c systemd-run --quiet --collect --wait --unit="$1" sh -c "$2"; }

# field_of NAME: prints a field of the JSON on standard input; the container has no jq, and this machine may not have it either.
field_of() { grep -oE "\"$1\": (\"[^\"]*\"|[^,}]*)" | head -1 | cut -d' ' -f2- | tr -d '"'; }

# messages: prints the messages of the JSON on standard input, on one line.
messages() { grep -oE '"message": "[^"]*"' | cut -d'"' -f4 | tr '\n' ' ' | sed 's/ $//'; }

# Finds a journalctl of the server that is still running.
journalctl_runs() { c sh -c 'grep -lx journalctl /proc/[0-9]*/comm' >/dev/null 2>&1; }
journalctl_gone() { ! journalctl_runs; }

check_query_journal() {
  local said cursor
  # shellcheck disable=SC2016
  talker talker 'for n in 1 2 3 4 5 6 7; do echo "line $n"; done; echo "password=hunter2" >&2; printf "by\377te\n"'
  c journalctl --sync
  said=$(journal -a unit=talker -a grep='^line' -a limit=3)
  expect source journal "$(field_of source <<<"$said")"
  expect "the newest" "line 7 line 6 line 5" "$(messages <<<"$said")"
  cursor=$(field_of next_cursor <<<"$said")
  expect "the page after it" "line 4 line 3 line 2" "$(messages < <(journal -a unit=talker -a grep='^line' -a limit=3 -a cursor="$cursor"))"
  said=$(journal -a unit=talker.service -a grep='^line' -a limit=2 -a order=oldest_first)
  expect "the oldest" "line 1 line 2" "$(messages <<<"$said")"
  cursor=$(field_of next_cursor <<<"$said")
  said=$(journal -a unit=talker -a grep='^line' -a order=oldest_first -a cursor="$cursor" -a since=2026-01-01T00:00:00Z)
  expect "on from there" "line 3 line 4 line 5 line 6 line 7" "$(messages <<<"$said")"
  expect_in "what is secret" 'password=\[redacted\]' "$(journal -a unit=talker -a grep=password)"
  expect_in "what is no UTF-8" 'by.te' "$(journal -a unit=talker -a grep=^by)"
  # systemd's messages about the unit are included.
  expect_in "systemd's own words" 'Started' "$(journal -a unit=talker -a grep=Started)"
  # The server's user is in systemd-journal and sees all messages, and so does bob through it.
  said=$(as bob raspi-mcp call --json logs.query_journal -a unit=talker -a limit=1)
  expect "bob's answer" 1 "$(field_of returned_count <<<"$said")"
  expect "nothing fits" 0 "$(field_of returned_count < <(journal -a grep=nothing-says-this-ever))"
  expect "a time without lines" 0 "$(field_of returned_count < <(journal -a until=2001-01-01T00:00:00Z))"
  expect_in "the kernel's and others', by severity" '"source": "journal"' "$(journal -a priority=err)"
  fails_with "a bad expression" 2 'pattern|grep' c raspi-mcp call logs.query_journal -a 'grep=(('
  fails_with "a cursor of nobody's" 2 'cursor' c raspi-mcp call logs.query_journal -a cursor=abc
  fails_with "a unit that is none" 2 'unit' c raspi-mcp call logs.query_journal -a unit='a;b'
  say "pages in both directions, secrets masked, bytes that are not text, systemd's messages about the unit"
}

check_follow_journal() {
  local said started=$SECONDS
  journal -a unit=chatter -a follow_seconds=30 -a limit=3 >"$WORK/followed" &
  CALL=$!
  until_true 10 "journalctl follows" journalctl_runs
  talker chatter 'echo one; echo two; echo three; echo four'
  wait "$CALL" || die "following failed: $(cat "$WORK/followed")"
  said=$(cat "$WORK/followed")
  expect "lines" 3 "$(field_of returned_count <<<"$said")"
  expect_in "lines" 'one' "$(messages <<<"$said")"
  [ $((SECONDS - started)) -lt 20 ] || die "a full page did not end the call"
  until_true 10 "journalctl is gone after the page" journalctl_gone
  # Its caller disconnects.
  journal -a follow_seconds=300 >/dev/null 2>&1 &
  CALL=$!
  until_true 10 "journalctl follows again" journalctl_runs
  kill "$CALL"
  wait "$CALL" 2>/dev/null || true
  # shellcheck disable=SC2016
  c sh -c 'for at in /proc/[0-9]*; do
    if [ "$(cat $at/comm)" = raspi-mcp ] && tr "\0" " " <$at/cmdline | grep -q "call --json"; then kill ${at#/proc/}; fi
  done' 2>/dev/null || true
  until_true 15 "journalctl is gone with its caller" journalctl_gone
  # The server is stopped during a call.
  journal -a follow_seconds=300 >/dev/null 2>&1 &
  until_true 10 "journalctl follows once more" journalctl_runs
  c systemctl restart raspi-mcp
  until_true 15 "journalctl is gone with the server" journalctl_gone
  say "new lines end a full page at once; no journalctl is left after the page, the caller or the server has ended"
}
