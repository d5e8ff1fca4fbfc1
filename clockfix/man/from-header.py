#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Make the manual pages from the comments in clockfix.h: of functions, and of the library.

usage: from-header.py HEADER NAME > PAGE

A page has the function's prototype, its comment, and the structures and enumerations that its
parameters point to, as they stand in the header. What a comment says of return values after its
sentences on the function, from "0: " or "-E...: " on, is a section. NAME "clockfix" stands for the
page of the library, which is made from the comment at the top.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*(?P<text>(?:(?!\*/).)*?)\*/\n(?P<code>(?:(?!/\*)[^\n]+\n)+)", re.S | re.M)
PAPER = re.compile(r" \[[IV]+\.[a-z]\]")
RETURNED = re.compile(r"(?:\A|(?<=\.)\s)(?=(?:0|-E\w+):\s)")
NAMES = re.compile(r"\s*((?:clockfix_\w+(?:, )?)+) - ")


def blocks(header: str) -> list[tuple[list[str], str, str]]:
    """Documented functions: names, comment without stars, prototypes."""
    found = []
    for match in COMMENT.finditer(header):
        text = re.sub(r"^ ?\* ?", "", match["text"].strip(), flags=re.M).strip()
        names = NAMES.match(text)
        if names and "(" in match["code"]:
            found.append((names[1].split(", "), text, match["code"].strip()))
    return found


def definitions(header: str, code: str) -> list[str]:
    """The structures and enumerations that a prototype's parameters name, with their comments."""
    found = []
    for kind, name in dict.fromkeys(re.findall(r"(struct|enum) (clockfix_\w+)", code)):
        body = re.search(rf"(?:^/\*(?:(?!\*/).)*?\*/\n)?^{kind} {name} \{{.*?^\}};", header,
                         re.S | re.M)
        if body:
            found.append(body[0][body[0].rindex("/*\n") if body[0].count("\n\n") else 0:])
    return found


def escape(text: str) -> str:
    """Plain text for roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"@(\w+)", r"\\fI\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def verbatim(text: str) -> str:
    """Text as it stands."""
    return f".nf\n{escape(text.expandtabs(8))}\n.fi"


def overview(header: str) -> str:
    """The manual page of the library."""
    text = re.findall(r"^/\*\n(.*?)\*/", header, re.S | re.M)[0]
    title, *told = re.split(r"\n\n+", re.sub(r"^ \* ?", "", text, flags=re.M).strip())
    parts = ['.TH CLOCKFIX 7 "" "libclockfix" "Miscellaneous"', ".SH NAME",
             f"clockfix \\- {title.partition(' - ')[2]}", ".SH SYNOPSIS",
             verbatim("#include <clockfix.h>\n\ncc prog.c $(pkg-config --cflags --libs clockfix)"),
             ".SH DESCRIPTION"]
    for paragraph in told:
        keep = paragraph.startswith(("- ", "\t"))
        parts += [verbatim(paragraph) if keep else escape(paragraph), ".PP"]
    names = [f".BR {name} (3)," for found, _, _ in blocks(header) for name in found]
    return "\n".join([*parts, ".SH SEE ALSO", *names, ".BR clockfix-run (1)"])


def page(header: str, name: str) -> str:
    """The manual page of the function @name."""
    for names, text, code in blocks(header):  # noqa: B007
        if name in names:
            break
    else:
        raise SystemExit(f"from-header.py: the header does not describe {name}")
    title, _, body = text.partition("\n")
    summary = title.partition(" - ")[2]
    version = ".".join(re.findall(r"#define CLOCKFIX_VERSION_M\w+ (\d+)", header))
    parts = [f'.TH {name.upper()} 3 "" "libclockfix {version}" "Library Functions"',
             ".SH NAME", f"{', '.join(names)} \\- {escape(summary)}",
             ".SH SYNOPSIS", ".nf", "#include <clockfix.h>", ".fi", ".PP", verbatim(code)]
    body = body.strip()
    told: list[str] = []
    returned: list[str] = []
    for paragraph in re.split(r"\n\n+", body) if body else []:
        # parameters stand one a line; a table or code is indented
        keep = paragraph.startswith(("@", "\t"))
        first, *rest = RETURNED.split(paragraph, 1)
        if first:
            told += [verbatim(first) if keep else escape(first), ".PP"]
        returned += [escape(text if text.startswith("0") else f"0, or {text}") for text in rest]
    if told:
        parts += [".SH DESCRIPTION", *told]
    if returned:
        parts += [".SH RETURN VALUE", *returned]
    for text in definitions(header, code):
        parts += [".SH DEFINITION", verbatim(text)]
    return "\n".join([*parts, ".SH SEE ALSO", ".BR clockfix (7)"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    print(overview(text) if sys.argv[2] == "clockfix" else page(PAPER.sub("", text), sys.argv[2]))
