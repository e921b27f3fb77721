################################################################################
#
# Build the root filesystem image of a slot
#
################################################################################

ROOTFS_SLOT_ROOT_IMAGE_NAME = rootfs.ext4
ROOTFS_SLOT_ROOT_DEPENDENCIES = host-e2fsprogs

define ROOTFS_SLOT_ROOT_CMD
	$(BR2_EXTERNAL_RASPI_MCP_PATH)/board/raspi-mcp/root-image.sh $(TARGET_DIR) $@
endef

$(eval $(rootfs))
