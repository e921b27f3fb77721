# shellcheck shell=bash
# Builds the parts of a guest: QEMU itself, Debian's arm64 kernel, an initramfs, and a root with busybox and our binary. Needs no
# root and no loop devices. Sourced, after ci/lib.sh and ci/debian.sh. ci/qemu and ci/qemu-hw share it.

GUEST=$BUILD/qemu
GUEST_KERNEL=$GUEST/kernel
GUEST_PARTS=$GUEST/parts

# begin_preparation: whoever comes second waits, since parts of ./ci/test that run side by side install the same packages and unpack them into
# the same folders. It lasts until end_preparation or the end of the script.
begin_preparation() {
  mkdir -p "$GUEST"
  exec {PREPARATION}>"$GUEST/lock"
  flock "$PREPARATION"
}

end_preparation() { exec {PREPARATION}>&-; }

# need_qemu: installs QEMU 9 or newer; older versions have no I2C on their Raspberry Pi boards. Debian 12 has it in its backports.
need_qemu() {
  local as_root=()
  if ! qemu_is_new; then
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    debian_update
    mkdir -p "$GUEST"
    say "installing from Debian: qemu-system-arm"
    # From the newest suite that has it; system packages that QEMU depends on may be upgraded too.
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${DEBIAN_OPTIONS[@]}" install -y -qq --no-install-recommends \
      -t "$(debian_suite qemu-system-arm)" qemu-system-arm >"$GUEST/install-qemu.log" 2>&1 ||
      die "QEMU could not be installed: $(tail -3 "$GUEST/install-qemu.log")"
  fi
  qemu_is_new || die "qemu-system-aarch64 9 or newer is needed; this is: $(qemu-system-aarch64 --version 2>&1 | head -1)"
}

qemu_is_new() {
  [[ $(qemu-system-aarch64 --version 2>/dev/null) =~ version\ ([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 9 ]
}

# need_guest_parts: unpacks kernel and user space of the guest, U-Boot, and a busybox for this machine, which lists its applets.
need_guest_parts() {
  local image=
  if [ ! -s "$GUEST_KERNEL/.packages" ]; then
    debian_update
    image=$(guest_kernel_package)
  fi
  debian_unpack "$GUEST_KERNEL" "$image"
  debian_unpack "$GUEST_PARTS" busybox-static:arm64 libc6:arm64 libgcc-s1:arm64
  debian_unpack "$GUEST/host" u-boot-qemu "busybox-static:$HOST_ARCH"
  GUEST_RELEASE=$(basename "$GUEST_KERNEL"/lib/modules/*)
  [ -f "$GUEST_KERNEL/lib/modules/$GUEST_RELEASE/modules.dep.bin" ] || depmod -b "$GUEST_KERNEL" "$GUEST_RELEASE"
}

# The package that linux-image-arm64 depends on, from the newest suite: its name contains the version.
guest_kernel_package() {
  apt-cache "${DEBIAN_OPTIONS[@]}" -t "$(debian_suite linux-image-arm64)" depends linux-image-arm64:arm64 |
    sed -n 's/^ *Depends: \(linux-image-[^ :]*\).*/\1:arm64/p' | head -1
}

# guest_modules INTO MODULE...: unpacks the modules and their dependencies, numbered in insmod's order.
guest_modules() {
  local into=$1 number=0 module file
  shift
  mkdir -p "$into"
  for module in "$@"; do
    modprobe -d "$GUEST_KERNEL" -S "$GUEST_RELEASE" --show-depends "$module" ||
      die "Debian's kernel $GUEST_RELEASE has no module $module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r file; do
    number=$((number + 1))
    xz -dc "$file" >"$into/$(printf %02d "$number")-$(basename "$file" .xz)"
  done
}

# guest_busybox INTO: installs busybox and a link for each of its applets.
guest_busybox() {
  local applet
  mkdir -p "$1/bin"
  cp "$GUEST_PARTS/bin/busybox" "$1/bin/busybox"
  "$GUEST/host/bin/busybox" --list | while read -r applet; do
    [ "$applet" = busybox ] || ln -s busybox "$1/bin/$applet"
  done
}

# guest_initramfs OUT INIT MODULE...: builds an initramfs that runs the script INIT with these modules in /modules.
guest_initramfs() {
  local out=$1 init=$2 tree
  shift 2
  tree=$(mktemp -d)
  guest_busybox "$tree"
  mkdir -p "$tree"/{dev,proc,sys,root}
  guest_modules "$tree/modules" "$@"
  install -m 755 "$init" "$tree/init"
  (cd "$tree" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 | gzip -1n) >"$out"
  rm -rf "$tree"
}

# guest_root OUT TREE: makes a reproducible EROFS of that folder. Uncompressed, as roots of updates should be, so that a change
# affects only its own blocks.
guest_root() {
  rm -f "$1"
  mkfs.erofs --quiet --all-root -T0 -U 72617370-692d-6d63-702d-62656e636800 "$1" "$2"
}

# guest_tree INTO BINARY: collects its contents: busybox, the C library, our binary, and ci/qemu.d/rootfs.
guest_tree() {
  local tree=$1 binary=$2 library
  # The folder becomes the guest's /, which all users must be able to read.
  chmod 755 "$tree"
  guest_busybox "$tree"
  mkdir -p "$tree"/{dev,proc,sys,run,tmp,var,usr/bin,lib/aarch64-linux-gnu}
  find "$GUEST_PARTS" -name ld-linux-aarch64.so.1 -exec cp -L {} "$tree/lib/" \;
  for library in libc.so.6 libm.so.6 libgcc_s.so.1; do
    find "$GUEST_PARTS" -name "$library" -exec cp -L {} "$tree/lib/aarch64-linux-gnu/" \;
    [ -s "$tree/lib/aarch64-linux-gnu/$library" ] || die "no $library among the arm64 packages"
  done
  cp -R ci/qemu.d/rootfs/. "$tree/"
  install -m 755 "$binary" "$tree/usr/bin/raspi-mcp"
}

# guest_pieces INTO BINARY: builds all parts of a bench disk; disk.py assembles them.
guest_pieces() {
  local into=$1 binary=$2
  mkdir -p "$into"
  cp "$GUEST_KERNEL/boot/vmlinuz-$GUEST_RELEASE" "$into/Image"
  guest_initramfs "$into/initrd" ci/qemu.d/initramfs-init virtio_blk erofs ext4 virtio_net i6300esb ramoops
  rm -rf "$into/tree"
  mkdir -p "$into/tree"
  guest_tree "$into/tree" "$binary"
  guest_root "$into/root.erofs" "$into/tree"
  mkimage -A arm64 -T script -C none -n raspi-mcp -d dist/boot/boot.cmd "$into/boot.scr" >/dev/null
  # Debian's U-Boot, without its two seconds of waiting for a key.
  sed 's/bootdelay=2/bootdelay=0/' "$GUEST/host/usr/lib/u-boot/qemu_arm64/u-boot.bin" >"$into/u-boot.bin"
}
