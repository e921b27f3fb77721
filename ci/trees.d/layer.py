#!/usr/bin/env python3
"""Parses the Yocto layer with BitBake's own parser: layer.py FOLDER_OF_CRATES INSTALLED WITHOUT_SLOTS BUILDS

BitBake is the library of PyPI's bitbake-setup; OE-Core is in no registry, so a few lines stand in for it: names of folders, and empty
classes. What holds here holds of the layer's own text: that recipes, class, distro and what it appends to others' recipes parse; that every crate
has the checksum which its file has, that the licences are the ones it says, that each file which dist/install makes below INSTALLED
belongs to a package, those which it does not make below WITHOUT_SLOTS to that of images with two slots; and that for each machine the card which wic is to make has the sizes of its board. Below BUILDS it leaves a
script for each machine, of the image's own shell functions as BitBake would run them: image.sh in a folder with `deploy` (DEPLOY_DIR_IMAGE),
`rootfs` and `native/bin`.
"""

import fnmatch
import hashlib
import os
import pathlib
import sys
import tempfile
import types

# The wheel lacks these two; only the signatures of a build need them.
for absent in ("hashserv", "hashserv.client", "prserv"):
    sys.modules.setdefault(absent, types.ModuleType(absent))

import bb
import bb.codeparser
import bb.data
import bb.data_smart
import bb.fetch2
import bb.parse
import bb.parse.parse_py.BBHandler as handler

HERE = pathlib.Path(__file__).resolve().parents[2]
LAYER = HERE / "meta-raspi-mcp"
# The classes that our recipes may inherit. Review a class before you add it here.
CLASSES = ("cargo", "core-image", "externalsrc", "features_check", "native", "systemd", "useradd")
# The machines, with the names of the boards that they build from.
BOARDS = {"raspberrypi5": "rpi5", "raspberrypi4-64": "rpi4_64", "raspberrypi3-64": "rpi3_64", "qemuarm64": "qemu-aarch64"}
# From meta-raspberrypi's machines: the names of rpi-base.inc, and each machine's overrides.
FAMILY = {"raspberrypi4-64": "raspberrypi4:rpi:", "raspberrypi3-64": "raspberrypi3:rpi:", "raspberrypi5": "rpi:"}
# From OE-Core's bitbake.conf, with usrmerge.
CORE = """
PN = "${@bb.parse.vars_from_file(d.getVar('FILE', False), d)[0] or 'none'}"
PV = "${@bb.parse.vars_from_file(d.getVar('FILE', False), d)[1] or '0'}"
BPN = "${PN}"
BP = "${BPN}-${PV}"
PF = "${BP}-r0"
THISDIR = "${@os.path.dirname(d.getVar('FILE', False))}"
FILESPATH = "${THISDIR}/${BPN}:${THISDIR}/files"
WORKDIR = "${TOPDIR}/work"
UNPACKDIR = "${WORKDIR}/sources"
S = "${EXTERNALSRC}"
B = "${WORKDIR}/build"
T = "${WORKDIR}/temp"
D = "${WORKDIR}/image"
STAMP = "${WORKDIR}/stamp"
PERSISTENT_DIR = "${TOPDIR}/cache"
STAGING_LIBDIR_NATIVE = "/native/lib"
STAGING_DIR_TARGET = "/sysroot"
sysconfdir = "/etc"
bindir = "/usr/bin"
datadir = "/usr/share"
mandir = "/usr/share/man"
libexecdir = "/usr/libexec"
nonarch_libdir = "/usr/lib"
localstatedir = "/var"
systemd_system_unitdir = "/usr/lib/systemd/system"
CLASSOVERRIDE ?= "class-target"
MACHINE ??= "qemuarm64"
MACHINEOVERRIDES = "${MACHINE}"
DISTROOVERRIDES = "${DISTRO}"
OVERRIDES = "linux:aarch64:pn-${PN}:${MACHINEOVERRIDES}:${DISTROOVERRIDES}:${CLASSOVERRIDE}"
DEPLOY_DIR_IMAGE = "${TOPDIR}/deploy"
IMGDEPLOYDIR = "${WORKDIR}/deploy"
IMAGE_ROOTFS = "${WORKDIR}/rootfs"
IMAGE_NAME = "${PN}-${MACHINE}"
IMAGE_TYPES = "wic"
STAGING_BINDIR_NATIVE = "/native/bin"
SOURCE_DATE_EPOCH = "1700000000"
RPI_KERNEL_DEVICETREE = ""
RPI_KERNEL_DEVICETREE_OVERLAYS = "overlays/overlay_map.dtb"
KERNEL_DEVICETREE ??= "${RPI_KERNEL_DEVICETREE} ${RPI_KERNEL_DEVICETREE_OVERLAYS}"
PACKAGES = "${PN}-doc ${PN}"
FILES:${PN} = "${bindir}/* ${sysconfdir} ${datadir}/${BPN}"
FILES:${PN}-doc = "${mandir}"
SRC_URI = ""
BBFILES = ""
BB_NO_NETWORK = "1"
BB_SRCREV_POLICY = "cache"
"""

failures = []

# Started by the preset of raspi-mcp-slots, and on no other image (decision 315).
LEFT_TO_THE_PRESET = {"raspi-mcp-approval.socket"}


def check(good, what):
    if not good:
        failures.append(what)


def stand_in(top):
    """A folder with the parts of OE-Core that BitBake needs."""
    (top / "conf").mkdir()
    (top / "conf/bitbake.conf").write_text(CORE)
    (top / "classes-global").mkdir()
    (top / "classes-global/base.bbclass").write_text("do_install() {\n\t:\n}\naddtask install\n")
    (top / "classes-recipe").mkdir()
    for name in CLASSES:
        (top / f"classes-recipe/{name}.bbclass").write_text('CLASSOVERRIDE = "class-native"\n' if name == "native" else "")


def layer(top, crates, machine="qemuarm64"):
    """The base of every recipe: core, this layer, and its distro."""
    d = bb.data_smart.DataSmart()
    d.setVar("BBPATH", f"{top}:{LAYER}")
    d.setVar("TOPDIR", str(top))
    d.setVar("DL_DIR", str(crates))
    d.setVar("MACHINE", machine)
    d = bb.parse.handle(str(top / "conf/bitbake.conf"), d, True)
    d.setVar("MACHINEOVERRIDES", f"{FAMILY.get(machine, '')}{machine}")
    d.setVar("LAYERDIR", str(LAYER))
    d = bb.parse.handle(str(LAYER / "conf/layer.conf"), d, True)
    d = bb.parse.handle(str(LAYER / "conf/distro/raspi-mcp-appliance.conf"), d, True)
    bb.parse.init_parser(d)
    bb.codeparser.parser_cache_init(str(top))
    d.setVar("__bbclasstype", "global")
    handler.inherit("base", "configuration", 0, d)
    d.setVar("__bbclasstype", "recipe")
    return d


def check_crates(d):
    """Every crate has a checksum in the recipe that matches the file that cargo downloaded."""
    fetch = bb.fetch2.Fetch((d.getVar("SRC_URI") or "").split(), d, cache=False)
    for url in fetch.urls:
        ud = fetch.ud[url]
        if ud.type != "crate":
            check(False, f"{url} is no crate: what is it?")
            continue
        ud.setup_localpath(d)
        if not ud.sha256_expected:
            check(False, f"{url} has no checksum")
        elif not os.path.exists(ud.localpath):
            check(False, f"{ud.localpath} is not there: is the version right?")
        else:
            try:
                bb.fetch2.verify_checksum(ud, d, {}, localpath=ud.localpath)
            except bb.fetch2.ChecksumError as error:
                check(False, f"{url}: {error}")
    return len(fetch.urls)


def check_licences(d):
    files = (d.getVar("LIC_FILES_CHKSUM") or "").split()
    check(files, "LIC_FILES_CHKSUM is empty")
    for entry in files:
        path, _, said = entry.removeprefix("file://").partition(";md5=")
        check(hashlib.md5((HERE / path).read_bytes()).hexdigest() == said, f"LIC_FILES_CHKSUM: {path} is another text now")


def check_files(d, installed, without):
    """A file that belongs to no package fails a Yocto build ("installed vs shipped")."""
    patterns = {package: (d.getVar(f"FILES:{package}") or "").split() for package in d.getVar("PACKAGES").split()}
    owners = {}
    for file in sorted(path for path in installed.rglob("*") if path.is_file()):
        name = "/" + str(file.relative_to(installed))
        # Files are assigned to packages in the order of PACKAGES.
        takes = (p for p, globs in patterns.items() if any(fnmatch.fnmatch(name, g) or fnmatch.fnmatch(name, g.rstrip("/") + "/*") for g in globs))
        owners[name] = next(takes, None)
        check(owners[name], f"no package takes {name}")
    slots = {name for name, owner in owners.items() if owner == "raspi-mcp-slots"}
    plain = {"/" + str(path.relative_to(without)) for path in without.rglob("*") if path.is_file()}
    check(slots == owners.keys() - plain, f"raspi-mcp-slots has {sorted(slots ^ (owners.keys() - plain))} too many or too few")
    check(d.getVar("CONFFILES:raspi-mcp") in owners, "CONFFILES names a file that nobody installs")
    named = [unit for package in d.getVar("SYSTEMD_PACKAGES").split() for unit in d.getVar(f"SYSTEMD_SERVICE:{package}").split()]
    for unit in named:
        check(f"/usr/lib/systemd/system/{unit}" in owners, f"SYSTEMD_SERVICE: there is no {unit}")
    wanted = [f for f in installed.glob("usr/lib/systemd/system/*.*") if f.is_file() and "\n[Install]\n" in f.read_text()]
    presets = [f for f in installed.rglob("*.preset") if f.is_file()]
    enabled = [line.split()[1] for f in presets for line in f.read_text().splitlines() if line.startswith("enable ")]
    for unit in LEFT_TO_THE_PRESET:
        check(any(fnmatch.fnmatch(unit, pattern) for pattern in enabled), f"no preset of the appliance enables {unit}")
        check(unit not in named, f"SYSTEMD_SERVICE names {unit}: it would listen on images that are no appliance, too")
    for unit in {f.name for f in wanted} - set(named) - LEFT_TO_THE_PRESET:
        check("@" in unit, f"{unit} is to be started at boot, and SYSTEMD_SERVICE does not name it")
    return len(owners)


def check_machine(top, machine, board, build):
    """The image of one machine: its card's sizes, the kickstart file, and its shell functions as a script."""
    d = layer(top, top, machine)
    check(d.getVar("RASPI_MCP_BOARD") == board, f"{machine} builds from {d.getVar('RASPI_MCP_BOARD')}, not {board}")
    image = next(LAYER.glob("dynamic-layers/*/recipes-*/images/raspi-mcp-image.bb"))
    d = bb.parse.handle(str(image), d)[""]
    (build / "native/bin").mkdir(parents=True)
    folders = {"DEPLOY_DIR_IMAGE": "deploy", "IMAGE_ROOTFS": "rootfs", "IMGDEPLOYDIR": "out", "WORKDIR": "work", "STAGING_BINDIR_NATIVE": "native/bin"}
    for name, folder in folders.items():
        (build / folder).mkdir(exist_ok=True)
        d.setVar(name, str(build / folder))
    env = dict(line.split("=", 1) for line in (HERE / f"buildroot-external/board/raspi-mcp/{board}/board.env").read_text().splitlines() if line[0] != "#")
    kickstart = d.expand((LAYER / "files/wic" / d.getVar("WKS_FILE")).read_text())
    check("${" not in kickstart, f"{machine}: {d.getVar('WKS_FILE')} has variables that nobody sets")
    for size in ("config_size", "boot_size", "root_size"):
        check(f"--fixed-size {env[size]}\n" in kickstart, f"{machine}: the card of wic has no {size} {env[size]}")
    if machine in FAMILY:
        check("ramoops" in d.getVar("RASPI_MCP_OVERLAYS"), f"{machine}: config.txt wants ramoops, and nobody makes the overlay")
    if env["chain"] == "uboot" and machine in FAMILY:
        check(d.getVar("RPI_USE_U_BOOT") == "1" and "u-boot" in d.getVar("RASPI_MCP_DEPLOYS"), f"{machine} starts without U-Boot")
    # In the form in which BitBake writes them into the task's script.
    names = ("raspi_mcp_run", "raspi_mcp_stage", "raspi_mcp_post_build", "IMAGE_CMD:bundle")
    script = "".join(f"{name.replace(':', '_')}() {{\n{d.getVar(name)}\n}}\n" for name in names)
    check("${RASPI_MCP" not in script and "${IM" not in script, f"{machine}: a shell function has variables that nobody sets")
    # In place of raspi_mcp_packages, which asks BitBake; ci/parts/trees has the same.
    packages = f"echo 'busybox 1.36.1 pkg:generic/busybox@1.36.1' >'{d.getVar('RASPI_MCP_IMAGES')}/packages'"
    (build / "image.sh").write_text(f"set -e\n{script}raspi_mcp_stage\n{packages}\nraspi_mcp_post_build\nIMAGE_CMD_bundle\n")


def check_appends(top):
    """The bbappends: only for this distro, and with files that exist."""
    appends = sorted(LAYER.glob("**/*.bbappend"))
    for append in appends:
        name = append.name.partition("_%")[0]
        recipe = top / f"{name}_1.bb"
        recipe.write_text('SUMMARY = "a stand-in"\n')
        for distro, many in (("raspi-mcp-appliance", True), ("another", False)):
            d = layer(top, top, "raspberrypi3-64")
            d.setVar("DISTROOVERRIDES", distro)
            d.setVar("__BBAPPEND", str(append))
            d = bb.parse.handle(str(recipe), d)[""]
            files = [url.removeprefix("file://") for url in (d.getVar("SRC_URI") or "").split()]
            check(bool(files) == many, f"{append.name}: the distro {distro} gets {files}")
            for file in files:
                found = [folder for folder in d.getVar("FILESPATH").split(":") + d.getVar("FILESEXTRAPATHS").split(":") if (pathlib.Path(folder) / file).exists()]
                check(found, f"{append.name}: there is no {file}")
    return len(appends)


def main(crates, installed, without, builds):
    recipes = sorted(LAYER.glob("recipes-*/*/*.bb"))
    check([r.name.partition("_")[0] for r in recipes] == ["raspi-mcp"], f"core alone has {recipes}: check them here as well")
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        stand_in(top)
        base = layer(top, crates)
        check(base.getVar("LAYERSERIES_COMPAT_raspi-mcp"), "layer.conf says no release of Yocto")
        for entry in base.getVar("BBFILES_DYNAMIC").split():
            collection, _, pattern = entry.partition(":")
            check(list(pathlib.Path("/").glob(pattern[1:])), f"BBFILES_DYNAMIC: {collection} brings nothing, {pattern}")
        for recipe in recipes:
            variants = bb.parse.handle(str(recipe), bb.data.createCopy(base))
            d = variants[""]
            native = variants["native"]
            wants = [native.getVar(f"{kind}DEPENDS{of}") or "" for kind, of in (("", ""), ("R", ":${PN}"), ("R", ":raspi-mcp"), ("R", ":raspi-mcp-slots"))]
            check(not [name for name in " ".join(wants).split() if not name.endswith("-native")], f"{recipe.name} for the host wants {wants}")
            check(set(variants) == {"", "native"}, f"{recipe.name} is built for {set(variants)}")
            check(os.path.samefile(d.getVar("S"), HERE), f"S is {d.getVar('S')}, not the checkout")
            check("dist/install --slots" in (d.getVar("do_install") or ""), "do_install does not run dist/install")
            print(f"{recipe.name}: {check_crates(d)} crates, {check_files(d, installed, without)} files of dist/, BitBake {bb.__version__}")
            check_licences(d)
            overrides = set(d.getVar("OVERRIDES").split(":")) & set(d.getVar("PACKAGES").split())
            check(not overrides, f"{overrides} is a package, and overrules the variables of all others")
        for machine, board in BOARDS.items():
            check_machine(top, machine, board, builds / machine)
        print(f"raspi-mcp-image.bb: {len(BOARDS)} machines; {check_appends(top)} recipes of others appended to")
    for failure in failures:
        print(f"meta-raspi-mcp: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:5])))
