#!/bin/sh
# From kernel, initramfs, root file system and partition 1 to what is published: a card (card.img), an update (update.bundle), and what
# is in them (sbom.cdx.json). Called with the folder of images and the board's.
set -eu

images=$1
board=$2
# shellcheck source=buildroot-external/board/raspi-mcp/release.sh
. "$(dirname "$0")/release.sh"
# shellcheck source=buildroot-external/board/raspi-mcp/rpi5/board.env
. "$board/board.env"
BINARIES_DIR=$images
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Who calls it may have begun earlier (ci/image).
began=${RASPI_MCP_BEGAN:-$(date +%s)}
# step TEXT: what is made now, and the seconds since the start.
step() { printf '%5d s  %s\n' "$(($(date +%s) - began))" "$1"; }

# The salt only has to be the same each time, so that what does not change has the same hashes in the next release.
SALT=7261737069206d637020726f6f742066696c652073797374656d2c207631202020

# root.img: the root file system, and behind it in the same partition its hash tree. Sets verity.
verity_tree() {
	root=$images/root.img
	cp "$images/rootfs.ext4" "$root"
	truncate -s %4096 "$root"
	blocks=$(($(stat -c %s "$root") / 4096))
	veritysetup format --no-superblock --hash sha256 --salt "$SALT" --data-blocks "$blocks" --hash-offset $((blocks * 4096)) \
		"$root" "$root" >"$work/verity"
	hash=$(sed -n 's/^Root hash:[[:space:]]*//p' "$work/verity")
	[ ${#hash} -eq 64 ] || {
		cat "$work/verity" >&2
		exit 1
	}
	verity=$hash,$SALT,$blocks
}

# kernel_fits: the size in memory is in the header of an arm64 kernel, 8 bytes at 16, little-endian; "ARMd" at 56 says that it is one
# (Documentation/arch/arm64/booting.rst).
kernel_fits() {
	[ -n "${kernel_room:-}" ] && [ "$(dd if="$images/Image" bs=1 skip=56 count=4 2>/dev/null)" = ARMd ] || return 0
	size=$(od -An -tu8 -j16 -N8 "$images/Image" | tr -d ' ')
	[ "$size" -le "$kernel_room" ] || {
		echo "$0: the kernel takes $size bytes of memory, and this board's U-Boot leaves $kernel_room: make it smaller" >&2
		exit 1
	}
}

# The kernel's command line names the root's hash, and so the boot image starts with no other root: in the last line of the board's file
# of arguments, slot.env for U-Boot and cmdline.txt for a Raspberry Pi's firmware.
boot_image() {
	sed "\$s/\$/ raspi_mcp.verity=$verity/" "$board/$arguments" >"$images/$arguments"
	# Words of their own.
	# shellcheck disable=SC2086
	fat "$images/boot.vfat" "$boot_size" BOOT "$board" $boot_files
}

# The factory's U-Boot state, in both copies (docs/boot.md): both slots have three boots, A first; the second copy holds.
uboot_state() {
	for copy in 1 2; do
		printf '%s\n' "ab_seq=$copy" 'ab_order=A B' ab_left_A=3 ab_left_B=3 >"$work/state"
		mkenvimage -s 512 -p 0 -o "$images/uboot-state-$copy" "$work/state"
	done
}

# The data partition grows at the first boot.
card() {
	rm -f "$images/data.ext4"
	truncate -s 64M "$images/data.ext4"
	mke2fs -q -F -t ext4 -L data "$images/data.ext4"
	mkdir "$work/root"
	CONFIG_SIZE=$config_size BOOT_SIZE=$boot_size ROOT_SIZE=$root_size \
		genimage --rootpath "$work/root" --tmppath "$work/tmp" --inputpath "$images" --outputpath "$images" \
		--config "$(dirname "$0")/genimage.cfg"
}

# Not signed: release keys are nowhere near a build (`raspi-mcp bundle sign`).
bundle() {
	set -- ${min_eeprom:+--min-eeprom "$min_eeprom"}
	for compatible in $hardware; do set -- "$@" --hardware "$compatible"; done
	"$RASPI_MCP_HOST" bundle config-keys >"$work/keys.json"
	rm -f "$images/update.bundle"
	"$RASPI_MCP_HOST" bundle build --root "$images/root.img" --boot "$images/boot.vfat" --product "$RASPI_MCP_PRODUCT" \
		--version "$RASPI_MCP_RELEASE" --counter "$RASPI_MCP_COUNTER" --created "$SOURCE_DATE_EPOCH" --expires "$RASPI_MCP_EXPIRES" \
		--config-keys "$work/keys.json" --level "$RASPI_MCP_LEVEL" --block-size "$RASPI_MCP_BLOCK" --out "$images/update.bundle" "$@"
}

kernel_fits
step "hash tree of the root"
verity_tree
step "boot image"
boot_image
uboot_state
step "card.img"
card
step "update.bundle, compressed at level $RASPI_MCP_LEVEL"
bundle
step "sbom.cdx.json"
"$(dirname "$0")/sbom.sh" "$images" >"$images/sbom.cdx.json"
