# shellcheck shell=bash
# Text in single quotes is for the shell in the container.
# shellcheck disable=SC2016
# files.* under the real unit: what its sandbox allows it to write, and the effects of a full disk and a mount. Sourced by ci/nspawn.

DROP_IN=/etc/systemd/system/raspi-mcp.service.d/files.conf

# files_call TOOL ARG...: calls a tool as root, over the Unix socket.
files_call() {
  local tool=$1
  shift
  c raspi-mcp call "files.$tool" "$@"
}

check_files() {
  local said status=0
  c install -d -o raspi-mcp -g raspi-mcp /srv/data /srv/small
  c mount -t tmpfs -o size=256k,mode=777 tmpfs /srv/small
  printf '%s\n' '[[files.roots]]' 'name = "data"' 'path = "/srv/data"' 'writable = true' \
    '[[files.roots]]' 'name = "small"' 'path = "/srv/small"' 'writable = true' | c tee /etc/raspi-mcp/55-files.toml >/dev/null
  c systemctl restart raspi-mcp

  # The configuration allows it, the unit does not yet: the error and doctor both say what to do.
  fails_with "a write without the drop-in" 5 'systemctl edit raspi-mcp.*ReadWritePaths=/srv/data' \
    files_call write -a path=note.txt -a content=hello
  said=$(c raspi-mcp doctor) || status=$?
  expect "doctor's exit code" 1 "$status"
  expect_in "doctor" 'data: /srv/data is read-only for the service' "$said"
  c test ! -e /srv/data/note.txt || die "something was written"

  c mkdir -p "${DROP_IN%/*}"
  printf '[Service]\nReadWritePaths=/srv/data /srv/small\n' | c tee $DROP_IN >/dev/null
  c systemctl daemon-reload
  c systemctl restart raspi-mcp
  expect_in "doctor with the drop-in" 'data: /srv/data can be read and written' "$(c raspi-mcp doctor)"
  expect_in "a write" 'created: yes' "$(files_call write -a path=a/note.txt -a content=hello)"
  expect "what is there" hello "$(c cat /srv/data/a/note.txt)"
  expect "whose it is" 'raspi-mcp 644' "$(c stat -c '%U %a' /srv/data/a/note.txt)"
  expect "its folder, past the unit's umask" 755 "$(c stat -c %a /srv/data/a)"
  expect_in "a read by full path" 'content: hello' "$(files_call read -a path=/srv/data/a/note.txt)"
  expect_in "a list" 'note.txt' "$(files_call list -a recursive=true)"
  fails_with "bob writes" 5 'ops_rw' as bob raspi-mcp call files.write -a path=b -a content=x
  expect_in "bob reads" 'hello' "$(as bob raspi-mcp call files.read -a path=a/note.txt)"
  fails_with "out of the root" 5 'none of the folders' files_call read -a path=/etc/passwd

  # Another user's file that the group may write: it is replaced, group and mode are kept, and the answer names the previous owner.
  c sh -c 'echo old >/srv/data/shared && chown ann:raspi-mcp /srv/data/shared && chmod 664 /srv/data/shared'
  expect_in "another's file" 'owner kept: no' "$(files_call write -a path=shared -a content=new -a overwrite=true)"
  expect "its group and mode" 'raspi-mcp raspi-mcp 664' "$(c stat -c '%U %G %a' /srv/data/shared)"
  c sh -c 'echo mine >/srv/data/rooted && chmod 644 /srv/data/rooted'
  fails_with "root's file" 5 'no right' files_call write -a path=rooted -a content=new -a overwrite=true
  expect "root's file" mine "$(c cat /srv/data/rooted)"

  # A full disk: the old file is intact, and no temporary file is left.
  files_call write -a root=small -a path=old -a content=kept >/dev/null
  call_with_file overwrite '"overwrite":true'
  call_with_file append '"mode":"append"'
  expect "after a full disk" kept "$(c cat /srv/small/old)"
  expect "what is left there" old "$(c ls -A /srv/small)"

  # A device mounted in the root is never opened.
  c touch /srv/data/zero
  c mount --bind /dev/zero /srv/data/zero
  c systemctl restart raspi-mcp
  fails_with "a mounted device" 5 'leads out of the root' files_call read -a path=zero
  c sh -c 'mkdir -p /srv/data/held/in && mount --bind /srv/small /srv/data/held/in'
  c chown -R raspi-mcp /srv/data/held
  c systemctl restart raspi-mcp
  fails_with "a folder with a mount in it" 5 'mounted at /srv/data/held/in' files_call delete -a path=held -a recursive=true
  expect "what is mounted there" old "$(c ls -A /srv/small)"
  c umount /srv/data/held/in
  c umount /srv/data/zero
  expect_in "a delete" 'deleted: yes' "$(files_call delete -a path=a -a recursive=true)"
  c test ! -e /srv/data/a || die "/srv/data/a still exists"
  c rm -r $DROP_IN /etc/raspi-mcp/55-files.toml
  c systemctl daemon-reload
  c systemctl restart raspi-mcp
  c umount /srv/small
  expect_in "the audit" 'the audit is whole' "$(c raspi-mcp audit verify)"
  say "read-only without the drop-in, as doctor reports; then written as raspi-mcp; a full disk leaves the old file intact"
}

# call_with_file WHAT JSON: writes 400 kB to a file system of 256 KiB, as a bare call on the socket, because a command's argument
# has at most 128 KiB.
call_with_file() {
  local said
  # shellcheck disable=SC2016
  said=$(c perl -e '
    use IO::Socket::UNIX;
    my $socket = IO::Socket::UNIX->new("/run/raspi-mcp/mcp.sock") or die "no socket: $!";
    my $content = "x" x 400000;
    print $socket qq({"jsonrpc":"2.0","id":1,"method":"files.write","params":{"root":"small","path":"old",$ARGV[0],"content":"$content"}}\n);
    $socket->flush;
    print scalar <$socket>;' "$2")
  expect_in "a full disk, $1" '"error_code":"resource_exhausted"' "$said"
  expect_in "a full disk, $1" 'no space left' "$said"
}
