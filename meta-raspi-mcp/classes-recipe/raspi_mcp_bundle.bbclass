# An image with two slots: the root that both have, the card to flash, and the update of it. The work is done by the scripts that
# Buildroot runs, post-build.sh and post-image.sh, with the board's folder beside them: here is what they are given, in Buildroot's
# names. `bundle` is an image type: the verified root, the boot image, partition 1, and with raspi-mcp-native the update for devices
# that run (not signed: `raspi-mcp bundle sign`). wic puts the same parts on a card.

RASPI_MCP_SCRIPTS = "${RASPI_MCP_TOP}/buildroot-external/board/raspi-mcp"
RASPI_MCP_IMAGES = "${WORKDIR}/raspi-mcp-images"

# What this image is a release of; buildroot-external/board/raspi-mcp/release.sh tells about each.
RASPI_MCP_PRODUCT ?= "raspi-mcp"
RASPI_MCP_RELEASE ?= "${DISTRO_VERSION}"
RASPI_MCP_COUNTER ?= "1"
RASPI_MCP_TRUST ?= ""

def raspi_mcp_board(d, name):
    """What the board's board.env says of that name."""
    path = os.path.join(d.getVar("RASPI_MCP_SCRIPTS"), d.getVar("RASPI_MCP_BOARD") or "none", "board.env")
    bb.parse.mark_dependency(d, path)
    if not os.path.exists(path):
        raise bb.parse.SkipRecipe("no board of raspi-mcp is known for MACHINE %s (RASPI_MCP_BOARD)" % d.getVar("MACHINE"))
    with open(path) as lines:
        for line in lines:
            key, found, value = line.strip().partition("=")
            if found and key == name:
                return value.strip('"')
    bb.fatal("%s says no %s" % (path, name))

RASPI_MCP_CONFIG_SIZE = "${@raspi_mcp_board(d, 'config_size')}"
RASPI_MCP_BOOT_SIZE = "${@raspi_mcp_board(d, 'boot_size')}"
RASPI_MCP_ROOT_SIZE = "${@raspi_mcp_board(d, 'root_size')}"
# Of the kernel's device trees, the overlays alone.
RASPI_MCP_OVERLAYS = "${@' '.join(os.path.basename(f) for f in (d.getVar('KERNEL_DEVICETREE') or '').split() if f.startswith('overlays/'))}"

do_rootfs[depends] += "\
    ${RASPI_MCP_DEPLOYS} \
    cpio-native:do_populate_sysroot \
    cryptsetup-native:do_populate_sysroot \
    dosfstools-native:do_populate_sysroot \
    e2fsprogs-native:do_populate_sysroot \
    genimage-native:do_populate_sysroot \
    mtools-native:do_populate_sysroot \
    raspi-mcp-native:do_populate_sysroot \
    u-boot-tools-native:do_populate_sysroot \
"

# Their environment.
raspi_mcp_run() {
    script=$1
    shift
    BINARIES_DIR="${RASPI_MCP_IMAGES}" RASPI_MCP_HOST="${STAGING_BINDIR_NATIVE}/raspi-mcp" RASPI_MCP_PRODUCT="${RASPI_MCP_PRODUCT}" \
        RASPI_MCP_RELEASE="${RASPI_MCP_RELEASE}" RASPI_MCP_COUNTER="${RASPI_MCP_COUNTER}" RASPI_MCP_TRUST="${RASPI_MCP_TRUST}" \
        "${RASPI_MCP_SCRIPTS}/$script" "$@" "${RASPI_MCP_SCRIPTS}/${RASPI_MCP_BOARD}"
}

# Buildroot's folder of images: the kernel, device trees, U-Boot; the firmware and its overlays below rpi-firmware.
raspi_mcp_stage() {
    rm -rf "${RASPI_MCP_IMAGES}"
    install -d "${RASPI_MCP_IMAGES}/rpi-firmware/overlays"
    for file in "${DEPLOY_DIR_IMAGE}"/Image "${DEPLOY_DIR_IMAGE}"/*.dtb "${DEPLOY_DIR_IMAGE}"/u-boot.bin; do
        if [ -e "$file" ]; then cp -L "$file" "${RASPI_MCP_IMAGES}/"; fi
    done
    for overlay in ${RASPI_MCP_OVERLAYS}; do
        cp -L "${DEPLOY_DIR_IMAGE}/$overlay" "${RASPI_MCP_IMAGES}/rpi-firmware/overlays/"
    done
    for file in "${DEPLOY_DIR_IMAGE}/${BOOTFILES_DIR_NAME}"/*; do
        if [ -f "$file" ]; then cp -L "$file" "${RASPI_MCP_IMAGES}/rpi-firmware/"; fi
    done
}

# What packages.sh reads: a line for each package with its version and package URL.
python raspi_mcp_packages() {
    from oe.rootfs import image_list_installed_packages
    packages = image_list_installed_packages(d)
    with open(os.path.join(d.getVar("RASPI_MCP_IMAGES"), "packages"), "w") as out:
        for name in sorted(packages):
            about = packages[name]
            out.write("%s %s pkg:generic/%s@%s?arch=%s\n" % (name, about["ver"], name, about["ver"], about["arch"]))
}

raspi_mcp_post_build() {
    raspi_mcp_run post-build.sh "${IMAGE_ROOTFS}"
}
BOOTFILES_DIR_NAME ?= "bootfiles"
ROOTFS_POSTPROCESS_COMMAND:append = " raspi_mcp_stage raspi_mcp_packages raspi_mcp_post_build"

IMAGE_TYPES += "bundle"
# nooelint: oelint.vars.specific,oelint.vars.mispell - OE-Core's name, of a type of image
IMAGE_TYPEDEP:wic = "bundle"
IMAGE_CMD:bundle () {
    raspi_mcp_run root-image.sh --all-root "${IMAGE_ROOTFS}" "${RASPI_MCP_IMAGES}/rootfs.ext4"
    raspi_mcp_run post-image.sh "${RASPI_MCP_IMAGES}"
    install -m 0644 "${RASPI_MCP_IMAGES}/update.bundle" "${IMGDEPLOYDIR}/${IMAGE_NAME}.bundle"
    install -m 0644 "${RASPI_MCP_IMAGES}/sbom.cdx.json" "${IMGDEPLOYDIR}/${IMAGE_NAME}.sbom.cdx.json"
}
