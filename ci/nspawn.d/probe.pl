# Tries each of ATTEMPTS and reports whether it succeeded. Runs in place of one of our programs, inside its sandbox. Written in
# Perl, since a minimal Debian has it.
use strict;
use warnings;
use Socket;
use POSIX ();

my %family = (AF_INET => AF_INET, AF_INET6 => AF_INET6, AF_UNIX => AF_UNIX, AF_NETLINK => 16, AF_PACKET => 17);
# Numbers of system calls: x86_64, then the generic table that arm64 uses.
my %call = (POSIX::uname())[4] eq "x86_64"
    ? (sethostname => 170, mount => 165, unshare => 272)
    : (sethostname => 161, mount => 40, unshare => 97);
my $CLONE_NEWNS = 0x20000;

sub attempt {
    my ($what, $on) = @_;
    if ($what eq "socket") { return socket(my $socket, $family{$on}, SOCK_DGRAM, 0) }
    if ($what eq "write") {
        my $path = "$on/.probe";
        # sysfs and procfs accept no new files: an existing one is opened there, and not changed.
        $path = { "/sys/kernel" => "/sys/kernel/mm/ksm/run", "/proc/sys/kernel" => "/proc/sys/kernel/hostname" }->{$on} // $path;
        open(my $file, ">>", $path) or return 0;
        unlink $path if $path =~ /\.probe$/;
        return 1;
    }
    # An existing file is opened, and not changed.
    if ($what eq "change") { return open(my $file, "+<", $on) }
    if ($what eq "read") { return -d $on ? opendir(my $folder, $on) : open(my $file, "<", $on) }
    if ($what eq "hostname") { my $name = "probe"; return syscall($call{sethostname}, $name, length $name) == 0 }
    if ($what eq "mount") { my ($none, $type, $at) = ("none", "tmpfs", "/tmp"); return syscall($call{mount}, $none, $at, $type, 0, 0) == 0 }
    if ($what eq "unshare") { return syscall($call{unshare}, $CLONE_NEWNS) == 0 }
    if ($what eq "kill") { return kill 0, $on }
    die "unknown attempt: $what\n";
}

$| = 1;
for my $line (grep { length } split /;/, $ENV{ATTEMPTS} // die "no ATTEMPTS\n") {
    my ($what, $on) = split / /, $line;
    $! = 0;
    my $went = attempt($what, $on);
    print "$line: ", ($went ? "ok" : "no ($!)"), "\n";
}
