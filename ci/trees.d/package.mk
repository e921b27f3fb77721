# Reads the Buildroot package as Buildroot does, and runs its install step:
#   make -f ci/trees.d/package.mk INTO=<folder> SOURCE=<checkout>
# Placeholders for cargo-package, which builds and installs the binary, and for rootfs record that they were called, for target and host.
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
BR2_EXTERNAL_RASPI_MCP_PATH := $(SOURCE)/buildroot-external
BR2_PACKAGE_RASPI_MCP_SLOTS := y
HOST_DIR := /host
STAGING_DIR := /staging
TARGET_DIR := $(INTO)
RASPI_MCP_POST_INSTALL_TARGET_HOOKS :=
TARGET_CC := cc
TARGET_CFLAGS :=
TARGET_LDFLAGS :=
cargo-package = ASKED := yes
host-cargo-package = HOST_ASKED := yes
rootfs = ROOTFS_ASKED := yes
include $(BR2_EXTERNAL_RASPI_MCP_PATH)/external.mk

define newline


endef

# Like Buildroot's $(@D): the folder of the unpacked source.
$(SOURCE)/.stamp:
	@test "$(ASKED) $(HOST_ASKED) $(ROOTFS_ASKED)" = "yes yes yes"
	$(foreach hook,$(RASPI_MCP_POST_INSTALL_TARGET_HOOKS),$($(hook))$(newline))

.PHONY: all info
all: $(SOURCE)/.stamp
info:
	@echo 'raspi-mcp.mk: version $(RASPI_MCP_VERSION), $(RASPI_MCP_LICENSE), needs $(RASPI_MCP_DEPENDENCIES), $(words $(RASPI_MCP_CARGO_ENV)) variables'
