#!/bin/sh
# Before the root file system is made: the image of partition 1, which the root carries as well, so that a damaged one can be restored
# (config_template of dist/layout.toml). Buildroot calls it with the target folder, and has BINARIES_DIR in the environment.
set -eu

target=$1
dist=$(dirname "$0")/../../../dist
config=$BINARIES_DIR/config.img

mkimage -A arm64 -T script -C none -d "$dist/boot/boot.cmd" "$BINARIES_DIR/boot.scr" >/dev/null
rm -f "$config"
# Shorter than the partition: the root is not compressed.
truncate -s 1M "$config"
mkfs.fat --invariant -F 12 -n CONFIG "$config" >/dev/null
mcopy -i "$config" "$BINARIES_DIR/boot.scr" ::boot.scr
install -D -m 0644 "$config" "$target/usr/share/raspi-mcp/config.img"
