# No environment on the card, no way to stop it, its watchdog on: Buildroot's fragment, for this distro on a Pi 3 alone.
FILESEXTRAPATHS:prepend := "${RASPI_MCP_TOP}/buildroot-external/board/raspi-mcp/rpi3_64:"
RASPI_MCP_UBOOT = ""
RASPI_MCP_UBOOT:raspberrypi3-64 = "file://uboot.cfg"
SRC_URI:append:raspi-mcp = " ${RASPI_MCP_UBOOT}"
