#!/bin/sh
# Before the root file system is made: what makes the target folder a slot's root, the initramfs, and the image of partition 1.
# Called with the target folder and the board's; Buildroot and ci/image have BINARIES_DIR in the environment.
#   INITRAMFS_TREES   folders to look into for what dist/initramfs/contents names, beside the target (none)
#   MODULES           modules for the initramfs, where the kernel has not all built in (dist/initramfs/build)
set -eu

target=$1
board=$2
# shellcheck source=buildroot-external/board/raspi-mcp/release.sh
. "$(dirname "$0")/release.sh"
# shellcheck source=buildroot-external/board/raspi-mcp/rpi5/board.env
. "$board/board.env"
dist=$top/dist

# Partition 1. The root carries the same image, so that a damaged one can be restored (config_template of dist/layout.toml): it is shorter
# than the partition, since the root is not compressed.
config_image() {
	mkimage -A arm64 -T script -C none -d "$dist/boot/boot.cmd" "$BINARIES_DIR/boot.scr" >/dev/null
	# Words of their own.
	# shellcheck disable=SC2086
	set -- $config_files
	fat "$BINARIES_DIR/config.img" "$(($(bytes_of "$@") / 1048576 + 1))M" CONFIG "$board" "$@"
	install -D -m 0644 "$BINARIES_DIR/config.img" "$target/usr/share/raspi-mcp/config.img"
}

# bytes_of FILE...: how much they are together, with what file systems round up.
bytes_of() {
	for name; do du -sL --apparent-size -k "$(file_of "$board" "$name")"; done | awk '{ sum += $1 + 64 } END { print sum * 1024 }'
}

# Where the initramfs binds what is not the slot's: a root that is read-only needs a place for each.
mount_points() {
	mkdir -p "$target/data" "$target/var" "$target/tmp" "$target/run" "$target/proc" "$target/sys" "$target/dev"
	sed -n 's/^\(file\|folder\) [0-7]* \(\/etc\/.*\)/\1 \2/p' "$dist/initramfs/shared" | while read -r kind place; do
		if [ "$kind" = folder ]; then
			mkdir -p "$target$place"
		else
			mkdir -p "$(dirname "$target$place")"
			[ -e "$target$place" ] || : >"$target$place"
		fi
	done
}

# What the agent reads of the image it runs from, and whose updates it takes.
identity_of_image() {
	about=$target/usr/share/raspi-mcp
	printf '{"product":"%s","version":"%s","counter":%s,"created":%s}\n' \
		"$RASPI_MCP_PRODUCT" "$RASPI_MCP_RELEASE" "$RASPI_MCP_COUNTER" "$SOURCE_DATE_EPOCH" >"$about/image.json"
	if [ -n "$RASPI_MCP_TRUST" ]; then install -D -m 0644 "$RASPI_MCP_TRUST" "$about/trust/root.json"; fi
}

# What system.list_packages says.
list_of_contents() {
	"$(dirname "$0")/packages.sh" "$BINARIES_DIR" >"$work"
	install -D -m 0644 "$work" "$target/usr/share/raspi-mcp/packages"
}

# The zone is chosen on the machine, whose /etc is read-only: this link leads to one that is made at each start
# (crates/appliance/src/timezone.rs). Variants of all zones, for leap seconds, are left out.
time_zone() {
	zones=$target/usr/share/zoneinfo
	[ -f "$zones/UTC" ] || {
		echo "$0: the image has no time zones: it needs tzdata" >&2
		exit 1
	}
	rm -rf "$zones/posix" "$zones/right" "$zones/localtime" "$target/etc/timezone"
	ln -sfn /run/raspi-mcp-zone/localtime "$target/etc/localtime"
}

work=$(mktemp)
trap 'rm -f "$work"' EXIT
config_image
mount_points
identity_of_image
list_of_contents
time_zone
# Folders, and none of them with spaces.
# shellcheck disable=SC2086
"$dist/initramfs/build" "$BINARIES_DIR/initrd" "$target" ${INITRAMFS_TREES:-}
