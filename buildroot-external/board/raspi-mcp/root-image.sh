#!/bin/sh
# The root file system of a slot, from a folder: root-image.sh [--all-root] FOLDER IMAGE. All builders call it: Buildroot within
# fakeroot (fs/slot-root), the Yocto layer's class within pseudo, ci/image as an ordinary user, who needs --all-root.
#
# ext4 that allocates in clusters (bigalloc) as large as the blocks of an update: every file begins at a multiple of a block, so a file
# that grows moves those behind it by whole blocks, and a device finds them again in its running slot (docs/bundle-format.md has the
# measurements). The image is as small as its content allows, has no journal, and is only ever mounted read-only behind dm-verity.
# The same folder makes the same bytes with one version of e2fsprogs: files are taken in the order of their names, and every time is 0.
set -eu

# shellcheck source=buildroot-external/board/raspi-mcp/release.sh
. "$(dirname "$0")/release.sh"
CLUSTER=$RASPI_MCP_BLOCK
# Always the same: a name, and the seed of the hashes of file names.
UUID=72617370-692d-6d63-702d-62656e636800
FEATURES=none,bigalloc,dir_index,dir_nlink,ext_attr,extent,extra_isize,filetype,huge_file,large_file,sparse_super

owners=kept
if [ "${1:-}" = --all-root ]; then
	owners=root
	shift
fi
[ $# -ge 2 ] || {
	echo "usage: $0 [--all-root] FOLDER IMAGE" >&2
	exit 2
}
folder=$1 image=$2
# Times of the superblock: e2fsprogs before 1.47.1 reads the one, later ones the other. 0 would be "now".
export E2FSPROGS_FAKE_TIME=1 SOURCE_DATE_EPOCH=1 LC_ALL=C
# Features and sizes are all named here; the builder's own mke2fs.conf has no say.
export MKE2FS_CONFIG=/dev/null

# make CLUSTERS: the image, with room for so many.
make() {
	rm -f "$image"
	truncate -s "$(($1 * CLUSTER))" "$image"
	mke2fs -q -F -O "$FEATURES" -b 4096 -C "$CLUSTER" -I 256 -N "$inodes" -m 0 -U "$UUID" \
		-E "hash_seed=$UUID,lazy_itable_init=0,nodiscard" -d "$folder" "$image" 2>"$image.log"
}

# field NAME: a number of the superblock.
field() { dumpe2fs -h "$image" 2>/dev/null | sed -n "s/^$1: *//p"; }

# same_times: mke2fs takes the times of inodes, and of some versions the owners, from the folder.
same_times() {
	used=$(($(field 'Inode count') - $(field 'Free inodes')))
	awk -v last="$used" -v owners="$owners" 'BEGIN {
		for (inode = 2; inode <= last; inode++) {
			if (inode > 2 && inode < 11) continue
			for (i = split("atime ctime mtime crtime", names, " "); i > 0; i--) print "sif <" inode ">", names[i], "@0"
			for (i = split("atime_extra ctime_extra mtime_extra crtime_extra", names, " "); i > 0; i--) print "sif <" inode ">", names[i], 0
			if (owners == "root") { print "sif <" inode "> uid 0"; print "sif <" inode "> gid 0" }
		}
	}' >"$image.log"
	debugfs -w -f "$image.log" "$image" >/dev/null 2>&1
}

inodes=$(($(find "$folder" | wc -l) + 64))
# First with more room than it can need: each file and folder may leave a part of a cluster unused.
plenty=$(($(du -sk --apparent-size "$folder" | cut -f1) * 1024 / CLUSTER + inodes * 2 + 256))
make "$plenty" || {
	cat "$image.log" >&2
	exit 1
}
clusters=$((($(field 'Block count') - $(field 'Free blocks')) * 4096 / CLUSTER))
# Then just as large as what was used. A smaller file system needs no more for itself than a larger one.
make "$clusters" || {
	cat "$image.log" >&2
	exit 1
}
same_times
e2fsck -fn "$image" >"$image.log" 2>&1 || {
	cat "$image.log" >&2
	exit 1
}
rm -f "$image.log"
