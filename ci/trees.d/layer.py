#!/usr/bin/env python3
"""Parses the Yocto layer with BitBake's own parser: layer.py FOLDER_OF_CRATES INSTALLED

BitBake is the library of PyPI's bitbake-setup; OE-Core is in no registry, so a few lines stand in for it: names of folders, and empty
classes. What holds here holds of the recipe's own text: that it parses, that every crate has the checksum which its file has, that the
licences are the ones it says, and that each file which dist/install makes below INSTALLED belongs to a package.
"""

import fnmatch
import hashlib
import os
import pathlib
import sys
import tempfile
import types

# The wheel leaves these two out; only a build's signatures need them.
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
# What a recipe of ours may inherit. Another one is added here when somebody has read what it does.
CLASSES = ("cargo", "externalsrc", "features_check", "systemd", "useradd")
# Of OE-Core's bitbake.conf, with usrmerge.
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
nonarch_libdir = "/usr/lib"
localstatedir = "/var"
systemd_system_unitdir = "/usr/lib/systemd/system"
OVERRIDES = "linux:aarch64:pn-${PN}:class-target"
PACKAGES = "${PN}-doc ${PN}"
FILES:${PN} = "${bindir}/* ${sysconfdir} ${datadir}/${BPN}"
FILES:${PN}-doc = "${mandir}"
SRC_URI = ""
BBFILES = ""
BB_NO_NETWORK = "1"
BB_SRCREV_POLICY = "cache"
"""

failures = []


def check(good, what):
    if not good:
        failures.append(what)


def stand_in(top):
    """A folder with what BitBake wants to find of OE-Core."""
    (top / "conf").mkdir()
    (top / "conf/bitbake.conf").write_text(CORE)
    (top / "classes-global").mkdir()
    (top / "classes-global/base.bbclass").write_text("do_install() {\n\t:\n}\naddtask install\n")
    (top / "classes-recipe").mkdir()
    for name in CLASSES:
        (top / f"classes-recipe/{name}.bbclass").write_text("")


def layer(top, crates):
    d = bb.data_smart.DataSmart()
    d.setVar("BBPATH", f"{top}:{LAYER}")
    d.setVar("TOPDIR", str(top))
    d.setVar("DL_DIR", str(crates))
    d = bb.parse.handle(str(top / "conf/bitbake.conf"), d, True)
    d.setVar("LAYERDIR", str(LAYER))
    d = bb.parse.handle(str(LAYER / "conf/layer.conf"), d, True)
    bb.parse.init_parser(d)
    bb.codeparser.parser_cache_init(str(top))
    d.setVar("__bbclasstype", "global")
    handler.inherit("base", "configuration", 0, d)
    d.setVar("__bbclasstype", "recipe")
    return d


def check_crates(d):
    """Every crate has a checksum in the recipe, and the file that cargo fetched has it too."""
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


def check_files(d, installed):
    """A file that no package takes ends a build of Yocto's ("installed vs shipped")."""
    patterns = {package: (d.getVar(f"FILES:{package}") or "").split() for package in d.getVar("PACKAGES").split()}
    owners = {}
    for file in sorted(path for path in installed.rglob("*") if path.is_file()):
        name = "/" + str(file.relative_to(installed))
        # Packages take files in the order of PACKAGES.
        takes = (p for p, globs in patterns.items() if any(fnmatch.fnmatch(name, g) or name.startswith(g + "/") for g in globs))
        owners[name] = next(takes, None)
        check(owners[name], f"no package takes {name}")
    slots = [name for name, owner in owners.items() if owner == "raspi-mcp-slots"]
    check(slots == ["/usr/lib/systemd/system/raspi-mcp-agent.service.d/slots.conf"], f"raspi-mcp-slots has {slots}")
    check(d.getVar("CONFFILES:raspi-mcp") in owners, "CONFFILES names a file that nobody installs")
    for unit in d.getVar("SYSTEMD_SERVICE:raspi-mcp").split():
        check(f"/usr/lib/systemd/system/{unit}" in owners, f"SYSTEMD_SERVICE: there is no {unit}")
    return len(owners)


def main(crates, installed):
    recipes = sorted(LAYER.glob("recipes-*/*/*.bb"))
    check([r.name.partition("_")[0] for r in recipes] == ["raspi-mcp"], f"the layer has {recipes}: check them here as well")
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        stand_in(top)
        base = layer(top, crates)
        check(base.getVar("LAYERSERIES_COMPAT_raspi-mcp"), "layer.conf says no release of Yocto")
        for recipe in recipes:
            d = bb.parse.handle(str(recipe), bb.data.createCopy(base))[""]
            check(os.path.samefile(d.getVar("S"), HERE), f"S is {d.getVar('S')}, not the checkout")
            check("dist/install --slots" in (d.getVar("do_install") or ""), "do_install does not run dist/install")
            print(f"{recipe.name}: {check_crates(d)} crates, {check_files(d, installed)} files of dist/, BitBake {bb.__version__}")
            check_licences(d)
    for failure in failures:
        print(f"meta-raspi-mcp: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
