"""Tables as such, and how they are written: Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SPECIAL_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # After the end of a row these would be arguments of the command that ends it.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "–": r"\textendash{}",
    "−": "$-$",
    "×": r"$\times$",
} | {character: "\\" + character for character in "{}$&#_%"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry of a table."""

    text: str = ""
    bold: bool = False
    published: str = ""
    """The paper's value, shown small and in parentheses."""
    folds: str = ""
    """Such as 3/10, if some folds are missing."""
    exact: str | None = None
    """What CSV has instead of the text: all digits, or nothing."""

    @property
    def notes(self) -> list[str]:
        """What is shown small beside the text."""
        published = [f"({self.published})"] if self.published else []
        return published + ([f"[{self.folds}]"] if self.folds else [])


@dataclass(frozen=True, slots=True)
class Column:
    """Heads of a column."""

    title: str
    key: str
    """Its name in CSV, unlike that of any other column."""
    numeric: bool = True
    small: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together; the title may be empty."""

    title: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, in no format yet."""

    name: str
    """Names the files; letters and hyphens."""
    caption: str
    """Plain text, without names that a user chose."""
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]


def to_markdown(table: Table) -> str:
    """Write a table with pipes; small print is set like the rest."""

    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def entry(cell: Cell) -> str:
        text = escape_markdown(cell.text)
        return " ".join([f"**{text}**" if cell.bold else text, *cell.notes])

    lines = [
        line([escape_markdown(column.title) for column in table.columns]),
        line(["--:" if column.numeric else "---" for column in table.columns]),
    ]
    for section in table.sections:
        if section.title:
            title = f"**{escape_markdown(section.title)}**"
            lines.append(line([title] + [""] * (len(table.columns) - 1)))
        lines += [line([entry(cell) for cell in row]) for row in section.rows]
    return "\n".join([table.caption, "", *lines, ""])


def to_csv(table: Table) -> str:
    """Write numbers with all digits; published values and folds in columns of their own."""
    parts: list[tuple[str, Callable[[Cell], str]]] = [
        ("", lambda cell: cell.text if cell.exact is None else cell.exact),
        (" published", lambda cell: cell.published),
        (" folds", lambda cell: cell.folds),
    ]
    titled = any(section.title for section in table.sections)
    rows = [row for section in table.sections for row in section.rows]
    columns = [
        (index, column.key + suffix, part)
        for index, column in enumerate(table.columns)
        for suffix, part in parts
        if not suffix or any(part(row[index]) for row in rows)
    ]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["measure"] * titled + [key for _, key, _ in columns])
    for section in table.sections:
        for row in section.rows:
            values = [part(row[index]) for index, _, part in columns]
            writer.writerow([section.title] * titled + values)
    return stream.getvalue()


def to_latex(table: Table) -> str:
    r"""Write a table environment; the preamble needs `\usepackage{booktabs}`."""

    def entry(cell: Cell, column: Column) -> str:
        text = escape_latex(cell.text)
        text = rf"\textbf{{{text}}}" if cell.bold else text
        text = rf"{{\tiny {text}}}" if column.small and text else text
        notes = r"\\".join(rf"\tiny {escape_latex(note)}" for note in cell.notes)
        return rf"\stacked{{{text}}}{{{notes}}}" if notes else text

    titles = [escape_latex(column.title) for column in table.columns]
    alignment = "".join("r" if column.numeric else "l" for column in table.columns)
    lines = [
        r"% Needs \usepackage{booktabs} in the preamble.",
        r"\begin{table}[tbp]",
        rf"\caption{{{escape_latex(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\centering\smallskip\scriptsize\setlength{\tabcolsep}{2pt}",
        r"\def\stacked#1#2{\begin{tabular}[t]{@{}r@{}}#1\\#2\end{tabular}}",
        rf"\begin{{tabular}}{{@{{}}{alignment}@{{}}}}",
        r"\toprule",
        " & ".join(titles) + r" \\",
    ]
    for section in table.sections:
        lines.append(r"\midrule")
        if section.title:
            title = rf"\textit{{{escape_latex(section.title)}}}"
            lines.append(rf"\multicolumn{{{len(table.columns)}}}{{@{{}}l}}{{{title}}} \\")
        for row in section.rows:
            cells = [entry(*pair) for pair in zip(row, table.columns, strict=True)]
            lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def to_html(table: Table) -> str:
    """Write a page of its own that needs no other file."""

    def entry(cell: Cell, column: Column) -> str:
        text = html.escape(cell.text)
        text = f"<b>{text}</b>" if cell.bold else text
        text = f"<small>{text}</small>" if column.small and text else text
        notes = "".join(f" <small>{html.escape(note)}</small>" for note in cell.notes)
        return f"<td{'' if column.numeric else ' class=name'}>{text}{notes}</td>"

    heads = "".join(
        f"<th{'' if column.numeric else ' class=name'}>{html.escape(column.title)}</th>"
        for column in table.columns
    )
    bodies = []
    for section in table.sections:
        rows = ["<tr>" + "".join(map(entry, row, table.columns)) + "</tr>" for row in section.rows]
        if section.title:
            title = html.escape(section.title)
            rows.insert(0, f"<tr><th class=name colspan={len(table.columns)}>{title}</th></tr>")
        bodies.append("\n".join(["<tbody>", *rows, "</tbody>"]))
    return HTML_PAGE.format(
        title=html.escape(table.name),
        caption=html.escape(table.caption),
        heads=heads,
        bodies="\n".join(bodies),
    )


HTML_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2em; color: #111; background: #fff; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; padding-bottom: 0.8em; max-width: 60em; }}
th, td {{ padding: 0.2em 0.6em; text-align: right; white-space: nowrap; }}
th {{ border-bottom: 1px solid #111; }}
tbody tr:last-child td {{ border-bottom: 1px solid #111; }}
.name {{ text-align: left; }}
small {{ color: #555; }}
</style>
</head>
<body>
<table>
<caption>{caption}</caption>
<thead><tr>{heads}</tr></thead>
{bodies}
</table>
</body>
</html>
"""

RENDERERS: Mapping[str, Callable[[Table], str]] = {
    "md": to_markdown,
    "csv": to_csv,
    "tex": to_latex,
    "html": to_html,
}
"""File name extension to the function that writes such a file."""


def _one_line(text: str) -> str:
    """Line breaks and control characters would break a row in two."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\s]+", " ", text).strip()


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~$&#])", r"\\\1", _one_line(text))


def escape_latex(text: str) -> str:
    text = "".join(SPECIAL_IN_LATEX.get(character, character) for character in _one_line(text))
    # Two of these in a row would become a dash or another quotation mark.
    return re.sub(r"([-`'])(?=\1)", r"\1{}", text)
