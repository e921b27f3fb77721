# shellcheck shell=bash
# Builds test drivers that Debian's arm64 kernel lacks, out of tree, from Debian's own sources: gpio-sim, i2c-stub,
# pwm-gpio, v4l2loopback; our own replacements for drivers of Raspberry Pi's kernel, gpiomem and pi-restart; and an SPI
# controller and a 1-Wire thermometer of our own, spi-loop and w1_bench. Sourced by ci/qemu-hw and ci/image, after
# ci/cross.d/rust.sh and ci/qemu.d/guest.sh.

DRIVERS=$GUEST/drivers

# need_drivers: builds all of them into $DRIVERS/*.ko, for the guest's kernel release; kept until that or the sources change.
need_drivers() {
  local recipe
  recipe="$GUEST_RELEASE $(cat ci/qemu-hw.d/drivers.sh ci/qemu-hw.d/drivers/* | sha256sum)"
  if [ "$(cat "$DRIVERS/.recipe" 2>/dev/null)" = "$recipe" ]; then return; fi
  need_debian make make
  need_debian aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
  local common=linux-headers-${GUEST_RELEASE%-arm64}-common headers=$GUEST/headers/usr/src tree=$DRIVERS.new
  debian_unpack "$GUEST/headers" "linux-headers-$GUEST_RELEASE:arm64" "$common" \
    "linux-kbuild-${GUEST_RELEASE%-arm64}:$HOST_ARCH"
  # The source of that exact release is removed from the archive when a newer one appears; these drivers do not change
  # within a long-term series.
  debian_unpack "$GUEST/sources" "linux-source-$(cut -d. -f1-2 <<<"$GUEST_RELEASE")" v4l2loopback-dkms
  # The headers include each other by their path in the package. Without vmlinux, the build skips BTF, which would need another
  # tool and is not used here.
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

# driver_sources INTO: copies the few files from the kernel's source, and writes their Makefile.
driver_sources() {
  local into=$1 archive files=(drivers/gpio/gpio-sim.c kernel/irq/irq_sim.c drivers/i2c/i2c-stub.c drivers/pwm/pwm-gpio.c)
  archive=$(find "$GUEST/sources/usr/src" -name 'linux-source-*.tar.xz')
  tar -C "$into" -xJf "$archive" --strip-components=1 "${files[@]/#/$(basename "$archive" .tar.xz)/}"
  for file in "${files[@]}"; do mv "$into/$file" "$into/"; done
  cp "$GUEST"/sources/usr/src/v4l2loopback-*/*.[ch] ci/qemu-hw.d/drivers/*.c "$into/"
  # Debian's kernel has no simulated interrupts, so they are built into gpio-sim. They call a function that is not exported; it is
  # replaced by an equivalent one.
  mv "$into/gpio-sim.c" "$into/gpio-sim-main.c"
  sed -i 's/handle_simple_irq(irq_to_desc(irqnum))/generic_handle_irq(irqnum)/' "$into/irq_sim.c"
  cat >"$into/Makefile" <<'MAKEFILE'
obj-m := gpio-sim.o i2c-stub.o pwm-gpio.o v4l2loopback.o gpiomem.o pi-restart.o spi-loop.o w1_bench.o
gpio-sim-y := gpio-sim-main.o irq_sim.o
# Renamed in newer kernels.
CFLAGS_v4l2loopback.o := -Dstrlcpy=strscpy
MAKEFILE
}

# hardware_root OUT BINARY ASSERTIONS MODULE...: builds a root file system in memory: the contents of ci/qemu's guest, the
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
