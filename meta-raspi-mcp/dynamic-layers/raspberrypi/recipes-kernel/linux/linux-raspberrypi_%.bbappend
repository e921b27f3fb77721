# What the initramfs needs built in: Buildroot's fragments, for this distro alone.
FILESEXTRAPATHS:prepend:raspi-mcp-appliance := "${RASPI_MCP_TOP}/buildroot-external/board/raspi-mcp:"
SRC_URI:append:raspi-mcp-appliance = " file://linux-appliance.cfg file://linux-rpi.cfg"
