################################################################################
#
# raspi-mcp
#
################################################################################

RASPI_MCP_VERSION = 0.2.0
# There is no release to fetch yet: an archive of the checkout, made as the
# README says. No file in it can have its hash.
RASPI_MCP_SITE = $(BR2_EXTERNAL_RASPI_MCP_PATH)/../build/source
RASPI_MCP_SITE_METHOD = file
BR_NO_CHECK_HASH_FOR += $(RASPI_MCP_SOURCE)
RASPI_MCP_LICENSE = MIT or Apache-2.0
RASPI_MCP_LICENSE_FILES = LICENSE-MIT LICENSE-APACHE

# libclang reads the kernel's header of cameras.
RASPI_MCP_DEPENDENCIES = host-clang
RASPI_MCP_CARGO_ENV = \
	LIBCLANG_PATH=$(HOST_DIR)/lib \
	BINDGEN_EXTRA_CLANG_ARGS=--sysroot=$(STAGING_DIR) \
	CARGO_PROFILE_RELEASE_OPT_LEVEL=z \
	CARGO_PROFILE_RELEASE_LTO=fat \
	CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1

# Without the guard, which stands in for systemd, and without the console of a fleet. Installing builds once more, so it is told as well.
RASPI_MCP_CARGO_BUILD_OPTS = --package raspi-mcp --bin raspi-mcp --no-default-features --features fleet,routeros
RASPI_MCP_CARGO_INSTALL_OPTS = --no-default-features --features fleet,routeros

# The scripts that make the card have it make the update as well. Its size
# does not matter, and fat LTO takes minutes.
HOST_RASPI_MCP_DEPENDENCIES = host-clang
HOST_RASPI_MCP_CARGO_ENV = \
	LIBCLANG_PATH=$(HOST_DIR)/lib \
	CARGO_PROFILE_RELEASE_LTO=off \
	CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
ifeq ($(BR2_PACKAGE_RASPI_MCP_SLOTS),y)
RASPI_MCP_DEPENDENCIES += host-raspi-mcp
endif

define RASPI_MCP_INSTALL_DIST
	$(@D)/dist/install $(if $(BR2_PACKAGE_RASPI_MCP_SLOTS),--slots) $(TARGET_DIR)
endef
RASPI_MCP_POST_INSTALL_TARGET_HOOKS += RASPI_MCP_INSTALL_DIST

# For the initramfs, which is made of the target's programs.
define RASPI_MCP_INSTALL_RESTART
	mkdir -p $(TARGET_DIR)/usr/libexec/raspi-mcp
	$(TARGET_CC) $(TARGET_CFLAGS) $(TARGET_LDFLAGS) \
		-o $(TARGET_DIR)/usr/libexec/raspi-mcp/restart \
		$(@D)/dist/initramfs/restart.c
endef
ifeq ($(BR2_PACKAGE_RASPI_MCP_SLOTS),y)
RASPI_MCP_POST_INSTALL_TARGET_HOOKS += RASPI_MCP_INSTALL_RESTART
endif

# The accounts of dist/sysusers.d, for a root that is read-only. A test holds
# the two together.
define RASPI_MCP_USERS
	raspi-mcp -1 raspi-mcp -1 * /var/lib/raspi-mcp - gpio,i2c,spi,dialout,video,systemd-journal raspi-mcp server
	raspi-mcp-exec -1 raspi-mcp-exec -1 * - - - raspi-mcp commands
	raspi-mcp-agent-0 -1 raspi-mcp-agent-0 -1 * - - - raspi-mcp agent 0
	raspi-mcp-agent-1 -1 raspi-mcp-agent-1 -1 * - - - raspi-mcp agent 1
	raspi-mcp-agent-2 -1 raspi-mcp-agent-2 -1 * - - - raspi-mcp agent 2
	raspi-mcp-agent-3 -1 raspi-mcp-agent-3 -1 * - - - raspi-mcp agent 3
	raspi-mcp-agent-4 -1 raspi-mcp-agent-4 -1 * - - - raspi-mcp agent 4
	raspi-mcp-agent-5 -1 raspi-mcp-agent-5 -1 * - - - raspi-mcp agent 5
	raspi-mcp-agent-6 -1 raspi-mcp-agent-6 -1 * - - - raspi-mcp agent 6
	raspi-mcp-agent-7 -1 raspi-mcp-agent-7 -1 * - - - raspi-mcp agent 7
	raspi-mcp-agent-8 -1 raspi-mcp-agent-8 -1 * - - - raspi-mcp agent 8
	raspi-mcp-agent-9 -1 raspi-mcp-agent-9 -1 * - - - raspi-mcp agent 9
	raspi-mcp-approval -1 raspi-mcp-approval -1 * /var/lib/raspi-mcp-approval - - raspi-mcp approval page
	raspi-mcp-routeros -1 raspi-mcp-routeros -1 * /var/lib/raspi-mcp-routeros - - raspi-mcp routers
	- -1 raspi-mcp-admin -1 - - - -
	- -1 raspi-mcp-approver -1 - - - -
	- -1 spi -1 - - - -
endef

$(eval $(cargo-package))
$(eval $(host-cargo-package))
