#!/usr/bin/env python3
"""Makes a set of texts and questions from unpacked Debian packages: man_pages.py UNPACKED INTO < NAMES

UNPACKED has a folder for each package. INTO/texts gets the text of every manual page, INTO/questions.tsv a line for each package with one
command: its short description without the name of the command and of the package, a tab, and the command's page. NAMES has lines of a
package, a tab and its short description. So people who did not write the pages say what they look for.
"""

import gzip
import re
import sys
from pathlib import Path

# Requests whose argument is text.
TEXT = set("SH SS B I BR BI IR IB RB RI IP TP Sh Ss Nd Fl Ar It Cm Op Nm Pa Em Sy Dq Sq Li Ql".split())
# Words that a page or a question has at least.
PAGE_WORDS, QUESTION_WORDS = 30, 3


def text_of(page: Path) -> str:
    """The words of a page in roff, without its markup: not as man shows it, but with the same words."""
    data = page.read_bytes()
    if page.suffix == ".gz":
        data = gzip.decompress(data)
    lines = []
    for line in data.decode(errors="replace").splitlines():
        if line.startswith((".", "'")):
            request, _, rest = line[1:].partition(" ")
            if request not in TEXT or not rest:
                continue
            line = rest
        line = re.sub(r"\\f(\[[^]]*\]|\(..|.)|\\\(..|\\s[-+]?\d|\\\*(\[[^]]*\]|\(..|.)", "", line)
        lines.append(line.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\").replace('"', ""))
    return "\n".join(lines) + "\n"


def question(summary: str, names: list[str]) -> str:
    """Without these names, and without words that contain one; a short name is also a part of words that have nothing to do with it."""
    for name in map(re.escape, names):
        struck = rf"\b{name}\b" if len(name) < 4 else rf"[\w-]*{name}[\w-]*"
        summary = re.sub(struck, " ", summary, flags=re.IGNORECASE)
    return " ".join(summary.split())


def main() -> None:
    unpacked, into = Path(sys.argv[1]), Path(sys.argv[2])
    texts = into / "texts"
    texts.mkdir(parents=True)
    questions = []
    for line in sys.stdin:
        package, _, summary = line.rstrip("\n").partition("\t")
        root = unpacked / package
        pages = set()
        for page in sorted(root.glob("usr/share/man/man[1-9]/*")):
            # A link is another name of the same page.
            if not page.is_file() or page.is_symlink():
                continue
            text = text_of(page)
            if len(text.split()) < PAGE_WORDS:
                continue
            name = page.name.removesuffix(".gz")
            (texts / name).write_text(text)
            pages.add(name)
        commands = [found for folder in ("bin", "sbin", "usr/bin", "usr/sbin", "usr/games") for found in root.glob(folder + "/*")]
        if len(commands) != 1:
            continue
        command = commands[0].name
        right = [f"{command}.{section}" for section in "168" if f"{command}.{section}" in pages]
        asked = question(summary, [command, package])
        if right and len(asked.split()) >= QUESTION_WORDS:
            questions.append(f"{asked}\t{right[0]}\n")
    (into / "questions.tsv").write_text("".join(questions))
    print(f"{len(list(texts.iterdir()))} pages, {len(questions)} questions")


if __name__ == "__main__":
    main()
