# shellcheck shell=bash
# The root file system of the appliance for QEMU, out of Debian's arm64 packages: unpacked, no maintainer script runs, and nobody has to
# be root. Sourced by ci/image, after ci/lib.sh, ci/debian.sh and ci/qemu.d/guest.sh.

IMAGE=$BUILD/image
# What of the packages is no appliance's business.
LEFT_OUT=(usr/share/{doc,man,info,locale,lintian,bug,bash-completion,zsh,fish,common-licenses,gtk-doc,polkit-1,i18n,pam,pam-configs,initramfs-tools,menu,perl5,debconf,ca-certificates-java}
  usr/lib/aarch64-linux-gnu/gconv usr/lib/{apt,dpkg,init,tmpfiles.d/x11.conf,pcrlock.d,kernel,initcpio,environment.d} usr/share/zoneinfo etc/init.d etc/rc?.d etc/cron* etc/apt etc/pam.d etc/default
  etc/logrotate.d etc/security usr/lib/systemd/system-generators/systemd-{getty,cryptsetup,veritysetup,integritysetup,gpt-auto,sysv,rc-local,debug}-generator
  usr/lib/systemd/system/{,serial-,container-}getty@.service usr/lib/systemd/system/{console-getty,autovt@}.service usr/lib/systemd/system/debug-shell.service
  usr/sbin/{e2freefrag,e4crypt,e4defrag,filefrag,mklost+found,badblocks,debugfs,dumpe2fs,e2image,e2undo,e2label,e2mmpstatus,logsave})
# Modules of Debian's kernel that this board's hardware takes.
# shellcheck disable=SC2034
ROOT_MODULES=(virtio_net virtio_rng i6300esb i2c-dev autofs4 configfs)
# shellcheck disable=SC2034
INITRAMFS_MODULES=(virtio_blk erofs dm-verity ext4 i6300esb)

# apt_for_arm64 COMMAND...: apt-get as on an arm64 machine where nothing is installed.
apt_for_arm64() {
  mkdir -p "$IMAGE"
  : >"$IMAGE/no-packages"
  apt-get "${DEBIAN_OPTIONS[@]}" -o "Dir::State::status=$IMAGE/no-packages" -o APT::Architecture=arm64 --no-install-recommends "$@"
}

# image_packages: name and version of all that goes in, by dependency, without what ci/image.d/packages leaves out.
image_packages() {
  local wanted
  mapfile -t wanted < <(sed -n '/^[a-z]/p' ci/image.d/packages)
  apt_for_arm64 -s install "${wanted[@]}" | sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' |
    awk 'NR == FNR { if (sub("^-", "")) out[$1]; next } !($1 in out)' ci/image.d/packages - | LC_ALL=C sort
}

# need_base: all packages unpacked into one tree, kept until ci/image.d changes.
need_base() {
  local recipe base=$IMAGE/base debs=$IMAGE/debs deb
  recipe=$(cat ci/image.d/packages ci/image.d/root.sh | sha256sum)
  if [ "$(cat "$base.recipe" 2>/dev/null)" = "$recipe" ]; then return; fi
  debian_update
  rm -rf "$base" "$debs"
  mkdir -p "$base"/usr/{bin,sbin,lib} "$debs"
  # Packages of this release still bring files of both places.
  for folder in bin sbin lib; do ln -s "usr/$folder" "$base/$folder"; done
  image_packages >"$IMAGE/packages"
  say "fetching $(wc -l <"$IMAGE/packages") arm64 packages from Debian"
  (cd "$debs" && tr ' ' = <"$IMAGE/packages" | apt_for_arm64_download)
  for deb in "$debs"/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -C "$base" --keep-directory-symlink --no-same-owner -x
  done
  rm -rf "$debs"
  # What changes owner in a package is root's here, and runs as nobody else.
  find "$base" -xdev -type f -perm /6000 -exec chmod ug-s {} +
  (cd "$base" && rm -rf "${LEFT_OUT[@]}")
  echo "$recipe" >"$base.recipe"
}

apt_for_arm64_download() {
  local names
  mapfile -t names
  apt_for_arm64 -qq download "${names[@]}"
}

# What maintainer scripts would have done.
configure_root() {
  local root=$1 file
  cat "$root"/usr/share/ca-certificates/mozilla/*.crt | install -D -m 644 /dev/stdin "$root/etc/ssl/certs/ca-certificates.crt"
  rm -rf "$root/usr/share/ca-certificates"
  ln -sf dash "$root/usr/bin/sh"
  ln -sf ../usr/lib/os-release "$root/etc/os-release"
  ln -sf ../proc/self/mounts "$root/etc/mtab"
  ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
  ln -sf /usr/share/zoneinfo/UTC "$root/etc/localtime"
  echo raspi-mcp >"$root/etc/hostname"
  printf '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 raspi-mcp\n' >"$root/etc/hosts"
  printf 'passwd: files systemd\ngroup: files systemd\nshadow: files\ngshadow: files\nhosts: files resolve [!UNAVAIL=return] dns\nnetworks: files\nservices: files\nprotocols: files\n' \
    >"$root/etc/nsswitch.conf"
  : >"$root/etc/fstab"
  # Debian's packages make this user in a script.
  echo 'u messagebus - "D-Bus" /run/dbus' >"$root/usr/lib/sysusers.d/dbus.conf"
  rm -rf "${root:?}/var" "$root"/etc/systemd/system/*
  mkdir -p "$root/var" "$root/root"
  systemd-sysusers --root="$root" >"$IMAGE/sysusers.log" 2>&1 || die "the accounts cannot be made: $(cat "$IMAGE/sysusers.log")"
  for file in passwd- group- shadow- gshadow- .pwd.lock; do rm -f "$root/etc/$file"; done
  systemctl --root="$root" preset-all >"$IMAGE/preset.log" 2>&1 || die "the units cannot be enabled: $(cat "$IMAGE/preset.log")"
}

# root_modules INTO MODULE...: of the kernel's modules those, what they need, and what depmod makes of it.
root_modules() {
  local into=$1 file release=$GUEST_RELEASE
  shift
  for module in "$@"; do modprobe -d "$GUEST_KERNEL" -S "$release" --show-depends "$module"; done |
    awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
    install -D -m 644 "$file" "$into/usr/lib/modules/$release/${file#*/modules/"$release"/}"
  done
  cp "$GUEST_KERNEL/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$into/usr/lib/modules/$release/"
  depmod -b "$into" "$release"
}

# initramfs_modules INTO MODULE...: numbered in the order in which insmod takes them, with a list that dist/initramfs/init reads.
initramfs_modules() {
  local into=$1 file
  shift
  rm -rf "$into"
  guest_modules "$into" "$@"
  for file in "$into"/*.ko; do
    file=${file##*/}
    # Longer than an emulated machine on a busy computer takes from there to the root's first process.
    case $file in *i6300esb*) echo "$file heartbeat=120" ;; *) echo "$file" ;; esac
  done >"$into/list"
}

# initramfs_programs INTO: what the initramfs needs and no package of the root has.
initramfs_programs() {
  debian_unpack "$IMAGE/initramfs" busybox-static:arm64 dmsetup:arm64 libdevmapper1.02.1:arm64
  mkdir -p "$IMAGE/initramfs/usr/libexec/raspi-mcp"
  aarch64-linux-gnu-gcc -O2 -Wall -Werror -o "$IMAGE/initramfs/usr/libexec/raspi-mcp/restart" dist/initramfs/restart.c
}
