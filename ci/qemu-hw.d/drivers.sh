# shellcheck shell=bash
# Test drivers that Debian's arm64 kernel leaves out, built for it out of tree from Debian's own sources: gpio-sim, i2c-stub,
# pwm-gpio, v4l2loopback; and stand-ins of our own for what only Raspberry Pi's kernel has, gpiomem and pi-restart. Sourced by ci/qemu-hw and ci/image, after
# ci/cross.d/rust.sh and ci/qemu.d/guest.sh.

DRIVERS=$GUEST/drivers

# need_drivers: all of them, in $DRIVERS/*.ko, for the guest's kernel release; kept until that changes, or what is built.
need_drivers() {
  local recipe
  recipe="$GUEST_RELEASE $(cat ci/qemu-hw.d/drivers.sh ci/qemu-hw.d/drivers/* | sha256sum)"
  if [ "$(cat "$DRIVERS/.recipe" 2>/dev/null)" = "$recipe" ]; then return; fi
  need_debian make make
  need_debian aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
  local common=linux-headers-${GUEST_RELEASE%-arm64}-common headers=$GUEST/headers/usr/src tree=$DRIVERS.new
  debian_unpack "$GUEST/headers" "linux-headers-$GUEST_RELEASE:arm64" "$common" \
    "linux-kbuild-${GUEST_RELEASE%-arm64}:$HOST_ARCH"
  # The source of that very release is gone from the archive as soon as there is a newer one; these drivers do not change
  # within a long-term series.
  debian_unpack "$GUEST/sources" "linux-source-$(cut -d. -f1-2 <<<"$GUEST_RELEASE")" v4l2loopback-dkms
  # The headers include each other by the place where the package puts them; and without vmlinux nothing tries to make BTF
  # of it, which takes a tool more and is of no use here.
  printf 'include %s/%s/Makefile\n' "$headers" "$common" >"$headers/linux-headers-$GUEST_RELEASE/Makefile"
  rm -f "$headers/linux-headers-$GUEST_RELEASE/vmlinux"

  say "building test drivers for $GUEST_RELEASE"
  rm -rf "$tree"
  mkdir -p "$tree"
  driver_sources "$tree"
  make -C "$headers/linux-headers-$GUEST_RELEASE" M="$tree" CC=aarch64-linux-gnu-gcc modules >"$tree/log" 2>&1 || {
    tail -20 "$tree/log" >&2
    die "the test drivers do not build for $GUEST_RELEASE"
  }
  rm -rf "$DRIVERS"
  mkdir -p "$DRIVERS"
  mv "$tree"/*.ko "$DRIVERS/"
  echo "$recipe" >"$DRIVERS/.recipe"
  rm -rf "$tree" "$GUEST/sources" "$GUEST/headers"
}

# driver_sources INTO: the few files out of the kernel's source, and how they are built.
driver_sources() {
  local into=$1 archive files=(drivers/gpio/gpio-sim.c kernel/irq/irq_sim.c drivers/i2c/i2c-stub.c drivers/pwm/pwm-gpio.c)
  archive=$(find "$GUEST/sources/usr/src" -name 'linux-source-*.tar.xz')
  tar -C "$into" -xJf "$archive" --strip-components=1 "${files[@]/#/$(basename "$archive" .tar.xz)/}"
  for file in "${files[@]}"; do mv "$into/$file" "$into/"; done
  cp "$GUEST"/sources/usr/src/v4l2loopback-*/*.[ch] ci/qemu-hw.d/drivers/*.c "$into/"
  # Debian builds without simulated interrupts: they go into gpio-sim. What they call is not exported; this is, and does it.
  mv "$into/gpio-sim.c" "$into/gpio-sim-main.c"
  sed -i 's/handle_simple_irq(irq_to_desc(irqnum))/generic_handle_irq(irqnum)/' "$into/irq_sim.c"
  cat >"$into/Makefile" <<'MAKEFILE'
obj-m := gpio-sim.o i2c-stub.o pwm-gpio.o v4l2loopback.o gpiomem.o pi-restart.o
gpio-sim-y := gpio-sim-main.o irq_sim.o
# The kernel has renamed it since.
CFLAGS_v4l2loopback.o := -Dstrlcpy=strscpy
MAKEFILE
}

# hardware_root OUT BINARY ASSERTIONS MODULE...: a root file system in memory: what ci/qemu's guest has, the program of the
# assertions, modules, drivers, our init.
hardware_root() {
  local out=$1 binary=$2 hardware=$3 tree
  shift 3
  tree=$(mktemp -d)
  chmod 755 "$tree"
  guest_tree "$tree" "$binary"
  cp -R ci/qemu-hw.d/rootfs/. "$tree/"
  install -m 755 "$hardware" "$GUEST/hw/bare" "$GUEST/v4l/usr/bin/v4l2-ctl" "$tree/usr/bin/"
  find "$GUEST/v4l/usr/lib/aarch64-linux-gnu" -name 'lib*.so.*' -exec cp -L {} "$tree/lib/aarch64-linux-gnu/" \;
  mkdir -p "$tree/drivers"
  cp "$DRIVERS"/*.ko "$tree/drivers/"
  guest_modules "$tree/modules" "$@"
  ln -s bin/init "$tree/init"
  (cd "$tree" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 | gzip -1n) >"$out"
  rm -rf "$tree"
}
