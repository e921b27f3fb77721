SUMMARY = "The appliance: two read-only slots, operated over MCP"
DESCRIPTION = "\
    A card with two slots of the same read-only, verified root, and the update for devices that run another release. It starts \
    raspi-mcp, NetworkManager and systemd-resolved; nobody can log in, and no other port than the server's is open. \
"
HOMEPAGE = "https://raspi-mcp.invalid/"
SECTION = "base"
LICENSE = "MIT"

inherit core-image raspi_mcp_bundle

IMAGE_FEATURES += "read-only-rootfs"
IMAGE_LINGUAS = ""
IMAGE_FSTYPES = "bundle wic.zst wic.bmap"
WKS_FILE = "raspi-mcp-ab.wks.in"
# A distro with another busybox, or none of these boards, makes no such card.
REQUIRED_DISTRO_FEATURES = "systemd usrmerge"
inherit features_check

# The program, and what the initramfs is made of: the root's busybox, dmsetup and e2fsprogs. resize2fs and partx are for the first boot,
# ca-certificates for servers of updates, tzdata for system.set_timezone.
IMAGE_INSTALL = "\
    packagegroup-core-boot \
    raspi-mcp \
    raspi-mcp-slots \
    networkmanager \
    networkmanager-wifi \
    busybox \
    ca-certificates \
    libdevmapper \
    e2fsprogs-e2fsck \
    e2fsprogs-mke2fs \
    e2fsprogs-resize2fs \
    util-linux-partx \
    tzdata \
    kernel-modules \
"
# It grows on the card, and not in the image.
IMAGE_ROOTFS_EXTRA_SPACE = "0"
IMAGE_OVERHEAD_FACTOR = "1.0"
