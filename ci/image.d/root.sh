# shellcheck shell=bash
# Builds the root file system of the appliance for QEMU from Debian's arm64 packages. They are only unpacked: no maintainer script runs,
# and root is not needed. Sourced by ci/image, after ci/lib.sh, ci/debian.sh and ci/qemu.d/guest.sh.

IMAGE=$BUILD/image
# Parts of the packages that an appliance does not need: documentation, consoles and passwords, other boot methods, foreign file systems.
LEFT_OUT=(
  etc/NetworkManager/{NetworkManager.conf,dispatcher.d/01-ifupdown} usr/lib/aarch64-linux-gnu/NetworkManager/*/libnm-settings-plugin-ifupdown.so
  etc/{apt,cron*,default,init.d,logrotate.d,pam.d,rc?.d,security}
  usr/lib/{apt,dpkg,environment.d,init,initcpio,kernel,pcrlock.d,tmpfiles.d/x11.conf} usr/lib/aarch64-linux-gnu/{gconv,sasl2}
  usr/lib/aarch64-linux-gnu/NetworkManager/*/libnm-{device-plugin-{adsl,bluetooth,ovs,team,wwan},ppp-plugin,wwan}.so
  usr/lib/systemd/system-generators/systemd-{cryptsetup,debug,getty,gpt-auto,integritysetup,rc-local,sysv,veritysetup}-generator
  usr/lib/systemd/system/{,container-,serial-}getty@.service usr/lib/systemd/system/{autovt@,console-getty,debug-shell}.service
  usr/lib/systemd/system/{multi-user,sysinit}.target.wants/{systemd-ask-password*,systemd-logind*,systemd-update-utmp*,getty.target,dev-hugepages*,sys-fs-fuse*}
  usr/lib/systemd/system/{multi-user,sysinit}.target.wants/{systemd-firstboot*,systemd-machine-id-commit*,systemd-repart*,systemd-sysusers*,systemd-update-done*}
  usr/lib/systemd/system/{multi-user,sysinit}.target.wants/{cryptsetup*,integritysetup*,veritysetup*,systemd-hwdb-update*,ldconfig*,proc-sys-fs-binfmt*,systemd-binfmt*}
  usr/lib/systemd/system/sockets.target.wants/systemd-initctl.socket usr/lib/systemd/system/*.target.wants/systemd-update-utmp*
  usr/bin/nmtui* usr/lib/udev/hwdb.bin usr/lib/udev/hwdb.d
  usr/sbin/{badblocks,debugfs,dumpe2fs,e2freefrag,e2image,e2label,e2mmpstatus,e2undo,e4crypt,e4defrag,filefrag,logsave,mklost+found}
  usr/share/{bash-completion,bug,common-licenses,debconf,doc,fish,gtk-doc,i18n,info,initramfs-tools,lintian,locale,man,menu,pam,pam-configs,perl5,polkit-1,zsh}
)
# Modules of Debian's kernel for this board's hardware.
# shellcheck disable=SC2034
ROOT_MODULES=(virtio_net virtio_rng i6300esb i2c-dev autofs4 configfs)
# shellcheck disable=SC2034
INITRAMFS_MODULES=(virtio_blk dm-verity ext4 i6300esb)

# apt_for_arm64 COMMAND...: runs apt-get as on an arm64 machine where nothing is installed.
apt_for_arm64() {
  mkdir -p "$IMAGE"
  : >"$IMAGE/no-packages"
  apt-get "${DEBIAN_OPTIONS[@]}" -o "Dir::State::status=$IMAGE/no-packages" -o APT::Architecture=arm64 --no-install-recommends "$@"
}

# image_packages: prints name and version of all packages with their dependencies, without those that ci/image.d/packages leaves out.
image_packages() {
  local wanted
  mapfile -t wanted < <(sed -n '/^[a-z]/p' ci/image.d/packages)
  apt_for_arm64 -s install "${wanted[@]}" | sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' |
    awk 'NR == FNR { if (sub("^-", "")) out[$1]; next } !($1 in out)' ci/image.d/packages - | LC_ALL=C sort
}

# need_base: unpacks all packages into one tree, which is kept until ci/image.d changes.
need_base() {
  local recipe base=$IMAGE/base debs=$IMAGE/debs deb
  recipe=$(cat ci/image.d/packages ci/image.d/root.sh | sha256sum)
  if [ "$(cat "$base.recipe" 2>/dev/null)" = "$recipe" ]; then return; fi
  rm -rf "$base"
  mkdir -p "$base"/usr/{bin,sbin,lib}
  # Packages of this release still have files in both places.
  for folder in bin sbin lib; do ln -s "usr/$folder" "$base/$folder"; done
  if [ "$(cat "$debs/.recipe" 2>/dev/null)" != "$(sha256sum <ci/image.d/packages)" ]; then fetch_packages "$debs"; fi
  for deb in "$debs"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -C "$base" --keep-directory-symlink --no-same-owner -x
  done
  # All files belong to root here, so set-user-ID and set-group-ID bits are removed.
  find "$base" -xdev -type f -perm /6000 -exec chmod ug-s {} +
  # Patterns.
  # shellcheck disable=SC2086,SC2068
  (cd "$base" && rm -rf ${LEFT_OUT[@]})
  echo "$recipe" >"$base.recipe"
}

fetch_packages() {
  local into=$1 names
  debian_update
  rm -rf "$into"
  mkdir -p "$into"
  image_packages >"$IMAGE/packages"
  mapfile -t names < <(tr ' ' = <"$IMAGE/packages")
  say "downloading ${#names[@]} arm64 packages from Debian"
  (cd "$into" && apt_for_arm64 -qq download "${names[@]}")
  sha256sum <ci/image.d/packages >"$into/.recipe"
}

# Replaces the maintainer scripts.
configure_root() {
  local root=$1 file
  cat "$root"/usr/share/ca-certificates/mozilla/*.crt | install -D -m 644 /dev/stdin "$root/etc/ssl/certs/ca-certificates.crt"
  rm -rf "$root/usr/share/ca-certificates"
  ln -sf dash "$root/usr/bin/sh"
  ln -sf ../usr/lib/os-release "$root/etc/os-release"
  ln -sf ../proc/self/mounts "$root/etc/mtab"
  ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
  echo raspi-mcp >"$root/etc/hostname"
  # Without the host name, which changes: systemd-resolved resolves it.
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
  printf 'passwd: files systemd\ngroup: files systemd\nshadow: files\ngshadow: files\nhosts: files resolve [!UNAVAIL=return] dns\nnetworks: files\nservices: files\nprotocols: files\n' \
    >"$root/etc/nsswitch.conf"
  : >"$root/etc/fstab"
  # Debian's packages create these in their scripts.
  printf '%s\n' 'u messagebus - "D-Bus" /run/dbus' 'g input -' 'g kvm -' 'g render -' 'g sgx -' >"$root/usr/lib/sysusers.d/debian.conf"
  rm -rf "${root:?}/var" "$root"/etc/systemd/system/*
  mkdir -p "$root"/{home,mnt,opt,root,srv,var}
  systemd-sysusers --root="$root" >"$IMAGE/sysusers.log" 2>&1 || die "the accounts cannot be created: $(cat "$IMAGE/sysusers.log")"
  for file in passwd- group- shadow- gshadow- .pwd.lock; do rm -f "$root/etc/$file"; done
  # systemd-sysusers creates them without any permissions, so that only root could put them into an image.
  chmod 0400 "$root/etc/shadow" "$root/etc/gshadow"
  systemctl --root="$root" preset-all >"$IMAGE/preset.log" 2>&1 || die "the units cannot be enabled: $(cat "$IMAGE/preset.log")"
}

# check_libraries ROOT: checks that all linked libraries are present, since parts of the packages were left out.
check_libraries() {
  local root=$1 file missing
  missing=$(find "$root/usr" -type f \( -perm -100 -o -name '*.so*' \) -print0 |
    { xargs -0 "${READELF:-readelf}" -d 2>/dev/null || true; } | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | while read -r file; do
    [ -n "$(find "$root/usr/lib" -name "$file" -print -quit)" ] || echo "$file"
  done)
  [ -z "$missing" ] || die "the root lacks libraries that its programs need: $missing"
}

# root_modules INTO MODULE...: installs those kernel modules, their dependencies, and depmod's files.
root_modules() {
  local into=$1 file release=$GUEST_RELEASE
  shift
  for module in "$@"; do modprobe -d "$GUEST_KERNEL" -S "$release" --show-depends "$module"; done |
    awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
    install -D -m 644 "$file" "$into/usr/lib/modules/$release/${file#*/modules/"$release"/}"
  done
  cp "$GUEST_KERNEL/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$into/usr/lib/modules/$release/"
}

# bench_hardware INTO: installs drivers that Debian does not build, and the CA certificate of the bench's web space.
bench_hardware() {
  need_drivers
  rm -rf "$1"
  install -D -m 644 -t "$1/usr/lib/modules/$GUEST_RELEASE/extra" "$DRIVERS/gpio-sim.ko" "$DRIVERS/i2c-stub.ko"
  python3 -B -c 'import sys; sys.path.insert(0, "ci/qemu.d"); import webspace; webspace.certificates(sys.argv[1])' "$IMAGE/certificates"
  install -D -m 644 "$IMAGE/certificates/ca.pem" "$1/usr/share/bench/updates-ca.pem"
}

# initramfs_modules INTO MODULE...: installs modules numbered in insmod's order, with a list that dist/initramfs/init reads.
initramfs_modules() {
  local into=$1 file
  shift
  rm -rf "$into"
  guest_modules "$into" "$@"
  for file in "$into"/*.ko; do
    file=${file##*/}
    # Longer than an emulated machine on a busy computer needs to start the root's first process.
    case $file in *i6300esb*) echo "$file heartbeat=120" ;; *) echo "$file" ;; esac
  done >"$into/list"
}

# tells_firmware MODULES: adds a driver for boards whose firmware selects the slot by the restart argument; the root uses it too.
tells_firmware() {
  need_drivers
  cp "$DRIVERS/pi-restart.ko" "$1/99-pi-restart.ko"
  echo 99-pi-restart.ko >>"$1/list"
}

# initramfs_programs INTO: installs programs that the initramfs needs and no package of the root has.
initramfs_programs() {
  debian_unpack "$IMAGE/initramfs" busybox-static:arm64 dmsetup:arm64 libdevmapper1.02.1:arm64
  mkdir -p "$IMAGE/initramfs/usr/libexec/raspi-mcp"
  aarch64-linux-gnu-gcc -O2 -Wall -Werror -o "$IMAGE/initramfs/usr/libexec/raspi-mcp/restart" dist/initramfs/restart.c
}
