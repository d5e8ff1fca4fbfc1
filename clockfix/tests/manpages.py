#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Check that the manual pages say what the header declares.

usage: manpages.py HEADER MAN-DIRECTORY

Each function is named and declared with the header's prototype in a page; each field of the
structures that a user fills in, each error a function is said to return in the header, and each
constant, is told about in some page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FILLED_IN = ("clockfix_options", "clockfix_spec")


def prototypes(text: str) -> dict[str, str]:
    """Functions of a C text, by name, as their return type and parameters with single blanks."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = text.replace("static inline ", "")
    found = re.findall(r"^((?:int|int64_t|void) +(clockfix_\w+)\([^(){};]*\))", text, re.M)
    return {name: normal(prototype) for prototype, name in found}


def normal(text: str) -> str:
    """Blanks are single, and none is beside a bracket, a comma or an asterisk."""
    return re.sub(r" ?([(),*]) ?", r"\1", re.sub(r"\s+", " ", text)).strip()


def plain(page: str) -> str:
    """The page's text without its macros and escapes."""
    lines = []
    for line in page.splitlines():
        macro = re.match(r"\.([A-Z]{1,2})\s*(.*)", line)
        if line.startswith('.\\"'):
            continue
        if macro and macro[1] in ("B", "I", "SH", "SS", "TP", "PP", "nf", "fi"):
            lines.append(macro[2])
        elif macro:
            # alternating fonts: words are joined, but those in quotation marks keep their blanks
            parts = re.findall(r'"([^"]*)"|(\S+)', macro[2])
            lines.append("".join(quoted or word for quoted, word in parts))
        else:
            lines.append(line)
    return "\n".join(lines).replace("\\-", "-").replace("\\", "")


def fields(header: str, structure: str) -> list[str]:
    """Names of a structure's fields."""
    body = re.search(r"struct " + structure + r" \{(.*?)\n\};", header, re.S)
    assert body
    text = re.sub(r"/\*.*?\*/", "", body[1], flags=re.S)
    return re.findall(r"(\w+)(?:\[\w+\])?;", text)


def constants(header: str) -> list[str]:
    """Enumerators and flags that users may hand in."""
    names = re.findall(r"^#define (CLOCKFIX_\w+)\s+\(1u", header, re.M)
    for body in re.findall(r"^enum clockfix_\w+ \{(.*?)\n\};", header, re.M | re.S):
        names += re.findall(r"^\t(CLOCKFIX_\w+)", body, re.M)
    return names


def told(name: str, text: str) -> bool:
    """Pages may leave out the prefix that all of a list share."""
    short = re.sub(r"^CLOCKFIX_(ESTIMATOR|SOURCE|MISSED)_", "", name)
    return any(re.search(rf"\b{word}\b", text) for word in (name, short))


def complaints(header: str, pages: dict[str, str]) -> list[str]:
    """What is missing or different."""
    text = "\n".join(pages.values())
    wrong = []
    shown: dict[str, str] = {}
    named: set[str] = set()
    for page in pages.values():
        synopsis = page.partition("SYNOPSIS")[2].partition("DESCRIPTION")[0]
        shown |= prototypes(synopsis)
        named |= set(re.findall(r"clockfix_\w+", page.partition("SYNOPSIS")[0]))
    declared = prototypes(header)
    for name, prototype in declared.items():
        if name not in named:
            wrong.append(f"no page names {name}")
        if shown.get(name) != prototype:
            wrong.append(f"{name}: header: {prototype}; page: {shown.get(name)}")
    wrong += [f"a page shows {name}, the header does not" for name in shown.keys() - declared]
    for structure in FILLED_IN:
        wrong += [f"{structure}.{field}: no page tells about it"
                  for field in fields(header, structure)
                  if field != "size" and not told(field, text)]
    wrong += [f"{name}: no page tells about it" for name in constants(header)
              if not told(name, text)]
    wrong += [f"{error}: no page tells about it"
              for error in sorted(set(re.findall(r"-E[A-Z0-9]+", header))) if error not in text]
    return wrong if len(declared) > 15 else [*wrong, "the header has hardly any function?"]


def main() -> int:
    """Read, compare, complain."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    header = Path(sys.argv[1]).read_text(encoding="utf-8")
    pages = {path.name: plain(path.read_text(encoding="utf-8"))
             for path in sorted(Path(sys.argv[2]).glob("*.[37]"))}
    wrong = complaints(header, pages)
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
