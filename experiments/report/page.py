# SPDX-License-Identifier: GPL-2.0-or-later
"""One self-contained HTML page: sections with tables and inline SVG, fit for paper."""

import html
from dataclasses import dataclass, field

from experiments.report.claims import Judged, Row, rows

_STYLE = """
:root { color-scheme: light dark; --ink: #111; --paper: #fff; --rule: #ccc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --rule: #555; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { font-size: 1.3rem; margin-top: 2.5rem; }
h3 { font-size: 1.05rem; margin-top: 1.8rem; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .87rem; width: 100%; }
th, td { padding: .25rem .55rem; text-align: right; border-bottom: 1px solid var(--rule);
         font-variant-numeric: tabular-nums; vertical-align: top; }
th { border-bottom: 2px solid var(--ink); }
td.text, th.text { text-align: left; white-space: pre-line; }
td.text { min-width: 8em; } td.text:first-child { min-width: 15em; }
tr.group td { border-top: 1px solid var(--ink); }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { width: 100%; min-width: 40rem; height: auto; }
figcaption, .note { font-size: .87rem; }
.missed { font-weight: bold; } .missed::before { content: "✗ "; } .met::before { content: "✓ "; }
.noted::before { content: "· "; } .failed { border: 2px solid; padding: .4rem .8rem; }
.scroll { overflow-x: auto; }
.claims { table-layout: fixed; } .claims th:last-child { width: 7.5rem; }
@media print { body { max-width: none; margin: 0; font-size: 10pt; }
  table { font-size: .72rem; } th, td { padding: .15rem .3rem; } .scroll { overflow: visible; }
  h2 { break-before: page; } h2.first { break-before: auto; } h3 { break-after: avoid; }
  .note { break-before: avoid; }
  figure, tr { break-inside: avoid; } }
"""

FAILED = ("These experiments failed in this run; what is shown of them, if anything, is from an "
          "earlier one.")
DAMAGED = "The results of these experiments cannot be shown:"


@dataclass
class Table:
    """Cells are text already; the first ``text_columns`` are left-aligned. Without rows it is
    not shown.
    """

    head: list[str]
    rows: list[list[str]]
    caption: str = ""
    text_columns: int = 1

    def markup(self) -> str:
        def cell(tag: str, i: int, text: str) -> str:
            kind = ' class="text"' if i < self.text_columns else ""
            return f"<{tag}{kind}>{html.escape(text)}</{tag}>"

        if not self.rows:
            return ""
        head = "".join(cell("th", i, t) for i, t in enumerate(self.head))
        body = ""
        previous = ""
        for row in self.rows:
            group = ' class="group"' if previous and row[0] and row[0] != previous else ""
            previous = row[0] or previous
            body += f"<tr{group}>{''.join(cell('td', i, t) for i, t in enumerate(row))}</tr>\n"
        caption = f'<p class="note">{html.escape(self.caption)}</p>' if self.caption else ""
        return (
            f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>\n{body}</tbody></table></div>{caption}"
        )


@dataclass
class Figure:
    """An SVG and what it shows."""

    svg: str
    caption: str

    def markup(self) -> str:
        return f"<figure>{self.svg}<figcaption>{html.escape(self.caption)}</figcaption></figure>"


@dataclass
class Text:
    """A paragraph, or a heading of the third level."""

    text: str
    heading: bool = False

    def markup(self) -> str:
        tag = "h3" if self.heading else "p"
        return f"<{tag}>{html.escape(self.text)}</{tag}>"


Part = Table | Figure | Text


@dataclass
class Section:
    """One experiment."""

    title: str
    anchor: str
    parts: list[Part]
    claims: list[Judged] = field(default_factory=list)

    def markup(self, first: bool, with_verdicts: bool = False) -> str:
        kind = ' class="first"' if first else ""
        goals = _table([self], of_papers=False) if with_verdicts else ""
        parts = "\n".join(p.markup() for p in self.parts)
        return f'<h2 id="{self.anchor}"{kind}>{html.escape(self.title)}</h2>\n{parts}\n{goals}'


def _row(section: Section, row: Row, of_papers: bool) -> str:
    where = f" (on {row.where})" if row.where else ""
    cells = [f'<a href="#{section.anchor}">{html.escape(row.text)}</a>',
             *([html.escape(row.paper)] if of_papers else []), html.escape(row.found),
             f'<span class="{row.verdict}">{row.verdict}{html.escape(where)}</span>']
    return "<tr>" + "".join(f'<td class="text">{c}</td>' for c in cells) + "</tr>\n"


def _table(sections: list[Section], of_papers: bool) -> str:
    """The claims of papers, with what they have; or what else must be shown."""
    body = "".join(_row(s, row, of_papers) for s in sections
                   for row in rows(c for c in s.claims if bool(c.paper) == of_papers))
    head = ["Claim", "Paper", "Ours", "Verdict"] if of_papers else ["Claim", "Found", "Verdict"]
    if not body:
        return ""
    return ('<table class="claims"><thead><tr>'
            + "".join(f'<th class="text">{h}</th>' for h in head)
            + f"</tr></thead><tbody>\n{body}</tbody></table>")


def _failed(failed: dict[str, str], what: str) -> str:
    if not failed:
        return ""
    items = "".join(
        f"<li><b>{html.escape(name)}</b>: {html.escape(reason)}</li>"
        for name, reason in failed.items()
    )
    return (
        f'<div class="failed"><p>{what}</p><ul>{items}</ul></div>'
    )


def _missed(sections: list[Section]) -> str:
    """How many claims are met, and each that is not."""
    judged = [(s, c) for s in sections for c in s.claims if c.met is not None]
    if not judged:
        return ""
    missed = [(s, c) for s, c in judged if not c.met]
    text = f"{len(judged) - len(missed)} of {len(judged)} claims are met."
    items = "".join(
        f'<li><a href="#{s.anchor}">{html.escape(f"{c.where}: {c.text}")}</a>: '
        f"{html.escape(c.found)}</li>\n" for s, c in missed)
    return f"<p>{text}{' Missed:' if missed else ''}</p>" + (f"<ul>{items}</ul>" if items else "")


def page(
    title: str, introduction: list[str], sections: list[Section],
    failed: dict[str, str] | None = None, damaged: dict[str, str] | None = None,
) -> str:
    """The whole page, with the papers' claims, or, where there are none, with the others.

    ``failed`` names experiments that did not run to their end, and says why; ``damaged`` those
    whose results cannot be shown.
    """
    intro = "\n".join(f"<p>{html.escape(p)}</p>" for p in introduction)
    claims = _table(sections, of_papers=True)
    body = "\n".join(s.markup(i == 0, bool(claims)) for i, s in enumerate(sections))
    top = _failed(failed or {}, FAILED) + _failed(damaged or {}, DAMAGED)
    summary = claims + _missed(sections) if claims else _table(sections, of_papers=False)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>{html.escape(title)}</h1>\n{intro}\n{top}\n{summary}\n{body}</body></html>\n"
    )
