# What the initramfs needs built in: Buildroot's fragment, for this distro alone.
FILESEXTRAPATHS:prepend := "${RASPI_MCP_TOP}/buildroot-external/board/raspi-mcp:"
SRC_URI:append:raspi-mcp = " file://linux-rpi.cfg"
