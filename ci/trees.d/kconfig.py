#!/usr/bin/env python3
"""Reads Config.in and the defconfigs of the Buildroot tree, without Buildroot.

Its options are stood in for by plain ones that are on. So this says whether our own options parse, and what a defconfig makes of them;
whether Buildroot has the others by these names only Buildroot knows.
"""

import os
import pathlib
import re
import sys
import tempfile

import kconfiglib

TREE = pathlib.Path(__file__).resolve().parents[2] / "buildroot-external"
ours = re.compile(r"^config (BR2_\w+)", re.M)
any_option = re.compile(r"\bBR2_[A-Z0-9][A-Za-z0-9_]*")


def main():
    os.environ["BR2_EXTERNAL_RASPI_MCP_PATH"] = str(TREE)
    # Buildroot's options have no CONFIG_ prefix.
    os.environ["CONFIG_"] = ""
    os.environ["KCONFIG_WARN_UNDEF"] = "y"
    text = "".join(file.read_text() for file in [*TREE.glob("package/*/Config.in*"), *TREE.glob("fs/*/Config.in*")])
    own = set(ours.findall(text))
    theirs = sorted(set(any_option.findall(text)) - own - {"BR2_EXTERNAL_RASPI_MCP_PATH"})
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder) / "Config.in"
        stubs = "".join(f'config {name}\n\tbool "a stand-in"\n\tdefault y\n' for name in theirs)
        top.write_text(f'mainmenu "stand-in"\n{stubs}source "$(BR2_EXTERNAL_RASPI_MCP_PATH)/Config.in"\n')
        defconfigs = sorted(TREE.glob("configs/*_defconfig"))
        for file in defconfigs:
            kconfig = kconfiglib.Kconfig(str(top), warn_to_stderr=False)
            failures += kconfig.warnings
            lines = dict(line.split("=", 1) for line in file.read_text().splitlines() if line.startswith("BR2_"))
            wanted = {name: value for name, value in lines.items() if re.match(r"BR2_PACKAGE_RASPI_MCP", name)}
            mine = pathlib.Path(folder) / "mine"
            mine.write_text("".join(f"{name}={value}\n" for name, value in wanted.items()))
            kconfig.load_config(str(mine))
            for name, value in wanted.items():
                got = kconfig.syms[name].str_value if name in own else None
                if got != value:
                    failures.append(f"{file.name}: {name}={value} comes out as {got}")
            if "BR2_PACKAGE_RASPI_MCP" not in wanted:
                failures.append(f"{file.name} has no raspi-mcp in it")
            for path in re.findall(r"\$\(BR2_EXTERNAL_RASPI_MCP_PATH\)(/[\w./-]+)", file.read_text()):
                if not (TREE / path[1:]).exists():
                    failures.append(f"{file.name}: there is no {path[1:]}")
        print(f"Config.in: {len(own)} options of ours, {len(theirs)} of Buildroot's; {len(defconfigs)} defconfigs")
    for failure in failures:
        print(f"buildroot-external: {failure}", file=sys.stderr)
    return 1 if failures or not own or not defconfigs else 0


if __name__ == "__main__":
    sys.exit(main())
