#!/bin/sh
# From kernel, root file system and partition 1 to a card: card.img. Buildroot calls it with the folder of images and the board's.
set -eu

images=$1
board=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The factory's U-Boot state, in both copies (docs/boot.md): both slots have three boots, A first; the second copy holds.
for copy in 1 2; do
	printf '%s\n' "ab_seq=$copy" 'ab_order=A B' ab_left_A=3 ab_left_B=3 >"$work/state"
	mkenvimage -s 512 -p 0 -o "$images/uboot-state-$copy" "$work/state"
done

cp "$board/slot.env" "$images/slot.env"
mkdir "$work/root"
genimage --rootpath "$work/root" --tmppath "$work/tmp" --inputpath "$images" --outputpath "$images" --config "$board/genimage.cfg"
