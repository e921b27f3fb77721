# No environment on the card, no way to stop it, its watchdog on: Buildroot's fragment, for this distro on a Pi 3 alone.
FILESEXTRAPATHS:prepend:raspi-mcp-appliance := "${RASPI_MCP_TOP}/buildroot-external/board/raspi-mcp/rpi3_64:"
SRC_URI:append:raspi-mcp-appliance = " ${RASPI_MCP_UBOOT}"
