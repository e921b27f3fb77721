SUMMARY = "MCP server that turns a Raspberry Pi into an appliance"
DESCRIPTION = "\
    An AI assistant operates the machine through the tools of this server: reading from the start, changes \
    when the owner has switched them on, what is risky with a person's yes. Two services: one faces the \
    network and has no privileges, the other has and faces no network. \
"
HOMEPAGE = "https://raspi-mcp.invalid/"
BUGTRACKER = "https://raspi-mcp.invalid/issues"
SECTION = "admin"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "\
    file://LICENSE-MIT;md5=61ed2f7cb89690bf75ce4466186a83e5 \
    file://LICENSE-APACHE;md5=22a53954e4e0ec258dfce4391e905dac \
"
CVE_PRODUCT = "raspi-mcp"

# libclang reads the kernel's header of cameras. systemd: its group systemd-journal has to be there before the server's account.
DEPENDS = "clang-native"
DEPENDS:append:class-target = " systemd"

require ${BPN}-crates.inc

inherit cargo externalsrc features_check systemd useradd

# There is no release to fetch yet: what is built is the checkout that the layer lies in, with exactly the crates of its Cargo.lock.
EXTERNALSRC ?= "${RASPI_MCP_TOP}"

REQUIRED_DISTRO_FEATURES:class-target = "systemd usrmerge"

# Two halves, what talks to routers where there are some, and the deadline of a system on trial, which does nothing on an image with one slot.
SYSTEMD_SERVICE:${PN} = "raspi-mcp.service raspi-mcp-agent.service raspi-mcp-routeros.service raspi-mcp-trial.timer"

# With two slots.
SYSTEMD_PACKAGES = "${PN} ${PN}-slots"
SYSTEMD_SERVICE:${PN}-slots = "raspi-mcp-grow.service raspi-mcp-prepare.service"

# The accounts of dist/sysusers.d: a read-only root has no other chance to get them. A test holds the two together.
USERADD_PACKAGES = "${PN}"
GROUPADD_PARAM:${PN} = "\
    --system raspi-mcp; --system raspi-mcp-exec; --system raspi-mcp-approval; --system raspi-mcp-routeros; --system raspi-mcp-admin; --system raspi-mcp-approver; \
    --system raspi-mcp-agent-0; --system raspi-mcp-agent-1; --system raspi-mcp-agent-2; --system raspi-mcp-agent-3; --system raspi-mcp-agent-4; \
    --system raspi-mcp-agent-5; --system raspi-mcp-agent-6; --system raspi-mcp-agent-7; --system raspi-mcp-agent-8; --system raspi-mcp-agent-9; \
    --system gpio; --system i2c; --system spi; --system dialout \
"
USERADD_PARAM:${PN} = "\
    --system --gid raspi-mcp --groups gpio,i2c,spi,dialout,video,systemd-journal --no-create-home --home-dir ${localstatedir}/lib/raspi-mcp --shell /sbin/nologin raspi-mcp; \
    --system --gid raspi-mcp-exec --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-exec; \
    --system --gid raspi-mcp-agent-0 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-0; \
    --system --gid raspi-mcp-agent-1 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-1; \
    --system --gid raspi-mcp-agent-2 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-2; \
    --system --gid raspi-mcp-agent-3 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-3; \
    --system --gid raspi-mcp-agent-4 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-4; \
    --system --gid raspi-mcp-agent-5 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-5; \
    --system --gid raspi-mcp-agent-6 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-6; \
    --system --gid raspi-mcp-agent-7 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-7; \
    --system --gid raspi-mcp-agent-8 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-8; \
    --system --gid raspi-mcp-agent-9 --no-create-home --home-dir / --shell /sbin/nologin raspi-mcp-agent-9; \
    --system --gid raspi-mcp-approval --no-create-home --home-dir ${localstatedir}/lib/raspi-mcp-approval --shell /sbin/nologin raspi-mcp-approval; \
    --system --gid raspi-mcp-routeros --no-create-home --home-dir ${localstatedir}/lib/raspi-mcp-routeros --shell /sbin/nologin raspi-mcp-routeros \
"

export LIBCLANG_PATH = "${STAGING_LIBDIR_NATIVE}"
export BINDGEN_EXTRA_CLANG_ARGS
BINDGEN_EXTRA_CLANG_ARGS = ""
BINDGEN_EXTRA_CLANG_ARGS:class-target = "--sysroot=${STAGING_DIR_TARGET}"
# Else Cargo.toml's profile strips before the debug symbols were split off.
export CARGO_PROFILE_RELEASE_STRIP = "false"

# Not the libraries of the workspace, which the class would install as well.
CARGO_BUILD_FLAGS:append = " --package raspi-mcp --bin raspi-mcp"
# Without the guard, which stands in for systemd, and without the console of a fleet, which its owner has elsewhere.
CARGO_BUILD_FLAGS:append:class-target = " --no-default-features --features fleet,routeros"

# What restarts a Raspberry Pi into its other slot before there is a root: the initramfs of an image takes it from there.
do_compile:append:class-target() {
    ${CC} ${CFLAGS} ${LDFLAGS} -o ${B}/restart ${S}/dist/initramfs/restart.c
}

do_install:append:class-target() {
    ${S}/dist/install --slots ${D}
    install -D -m 0755 ${B}/restart ${D}${libexecdir}/raspi-mcp/restart
}

# For images with two slots only: it lets the agent write disks.
PACKAGES =+ "${PN}-slots"

FILES:${PN} += "\
    ${systemd_system_unitdir} \
    ${nonarch_libdir}/sysusers.d \
    ${nonarch_libdir}/tmpfiles.d \
    ${nonarch_libdir}/modules-load.d \
    ${nonarch_libdir}/sysctl.d \
    ${nonarch_libdir}/udev/rules.d \
    ${datadir}/dbus-1 \
    ${nonarch_libdir}/raspi-mcp/conf.d \
    ${datadir}/bash-completion \
    ${datadir}/zsh \
    ${datadir}/fish \
"
# nooelint: oelint.var.filesoverride - a package of our own
FILES:${PN}-slots = "\
    ${systemd_system_unitdir}/raspi-mcp-agent.service.d \
    ${systemd_system_unitdir}/raspi-mcp-claim@.service \
    ${systemd_system_unitdir}/raspi-mcp-grow.service \
    ${systemd_system_unitdir}/raspi-mcp-prepare.service \
    ${systemd_system_unitdir}/emergency.service.d \
    ${systemd_system_unitdir}/rescue.service.d \
    ${nonarch_libdir}/systemd/system-preset \
    ${nonarch_libdir}/systemd/*.conf.d \
    ${nonarch_libdir}/systemd/dnssd \
    ${nonarch_libdir}/NetworkManager \
    ${libexecdir}/raspi-mcp \
"

RDEPENDS:${PN}:class-target = "systemd"
# nooelint: oelint.vars.dependsordered - of another package
RDEPENDS:${PN}-slots:class-target = "${PN}"

CONFFILES:${PN} = "${sysconfdir}/raspi-mcp/raspi-mcp.toml"

# For the computer that builds an image: it makes the update (raspi_mcp_bundle.bbclass).
BBCLASSEXTEND = "native"
