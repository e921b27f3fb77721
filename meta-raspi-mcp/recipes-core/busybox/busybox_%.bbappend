# What the initramfs needs of it (dist/initramfs), for this distro alone: every other one has its busybox as it was.
FILESEXTRAPATHS:prepend:raspi-mcp-appliance := "${RASPI_MCP_TOP}/buildroot-external/board/raspi-mcp:"
SRC_URI:append:raspi-mcp-appliance = " file://busybox.cfg"
