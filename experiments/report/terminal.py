# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections of a report on the terminal: their tables and claims."""

import shutil
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from experiments.report.claims import rows
from experiments.report.page import Section, Table, Text

WIDTH = 124
"""Where the output is not a terminal."""


def _console() -> Console:
    return Console(highlight=False, width=shutil.get_terminal_size((WIDTH, 24)).columns)


def tables(section: Section) -> None:
    """Print a section's headings and tables."""
    console = _console()
    for part in (Text(section.title, heading=True), *section.parts):
        if isinstance(part, Text) and part.heading:
            console.print(part.text, style="bold", markup=False)
        elif isinstance(part, Table) and part.rows:
            console.print(_drawn(part.head, part.rows, part.text_columns, part.caption))


def claims(sections: Iterable[Section]) -> None:
    """Print what is claimed, what was found, and the verdicts."""
    cells = [[row.text, row.paper, row.found, row.verdict]
             for section in sections for row in rows(section.claims)]
    if cells:
        _console().print(_drawn(["claim", "paper", "ours", "verdict"], cells, 4, "", lines=True))


def _drawn(head: list[str], cells: list[list[str]], text_columns: int, caption: str,
           lines: bool = False) -> RichTable:
    """Texts and heads may go on in the next line, numbers do not."""
    table = RichTable(caption=caption or None, caption_justify="left", box=box.SIMPLE_HEAD,
                      padding=(0, 1, 0, 0), show_lines=lines)
    for i, name in enumerate(head):
        number = i >= text_columns
        table.add_column(name, justify="right" if number else "left",
                         min_width=max(len(row[i]) for row in cells) if number else None)
    for i, row in enumerate(cells):
        if i and row[0] and not lines:
            table.add_section()
        table.add_row(*row)
    return table
