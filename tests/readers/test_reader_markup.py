"""Documentation in reStructuredText, AsciiDoc, MDX and LaTeX: structure, values, and what is named instead of being read."""

from __future__ import annotations

import pytest

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.selection import READERS, load_reader, suffix_of
from wenyuan.readers.tex_math import plain_formula


def read(text: str, name: str) -> Document:
    (document,) = load_reader(READERS[suffix_of(name)])(text.encode(), uri=f"file:///x/{name}", name=name)
    return document


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


RST = """\
=====
Pumps
=====

:Author: Ann
:orphan:

Use
---

Runs at 10\\ :sup:`6` Pa with H\\ :sub:`2`\\ O; see :ref:`the tables <tables>`, |vendor| and ``pump --on``.

.. |vendor| replace:: Wenyuan

.. warning:: Never open it
   while it turns.

1. Stop it::

      pump --off

2. Wait

   * one minute
   * or two

-v, --verbose  Say more
               of it.

.. option:: --dry-run

   Change nothing.

valve
   What stops the flow.

.. include:: parts/oil.rst

.. comment that nobody sees

+-------+-------+
| speed | power |
+=======+=======+
| 1450  | 2 kW  |
|       +-------+
|       | 3 kW  |
+-------+-------+

====  =====
part  count
====  =====
bolt  4
====  =====

.. list-table::
   :header-rows: 1

   * - key
     - value
   * - a
     - ``1``

.. gauge:: full

   Half of the scale.

.. [1] A note.
"""


def test_a_page_of_restructuredtext_is_read_by_its_structure() -> None:
    """Sections, roles, substitutions, lists in lists, options with their descriptions, terms, boxes, code and tables."""
    document = read(RST, "pumps.rst")
    assert document.title == "Pumps"
    assert blocks(document) == [
        ("heading", "Pumps"),
        ("paragraph", "Author: Ann"),
        ("heading", "Use"),
        ("paragraph", "Runs at 10^6 Pa with H₂O; see the tables, Wenyuan and pump --on."),
        ("paragraph", "Warning: Never open it while it turns."),
        ("list", "1. Stop it:"),
        ("code", "pump --off"),
        ("list", "2. Wait\n  - one minute\n  - or two"),
        ("paragraph", "-v, --verbose: Say more of it."),
        ("paragraph", "--dry-run: Change nothing."),
        ("paragraph", "valve: What stops the flow."),
        ("table", "speed | power\n1450 | 2 kW\n1450 | 3 kW"),
        ("table", "part | count\nbolt | 4"),
        ("table", "key | value\na | 1"),
        ("paragraph", "full: Half of the scale."),
        ("paragraph", "[1]: A note."),
    ]
    assert [block.line for block in document.blocks][:3] == [2, 5, 8]


def test_what_is_not_read_of_restructuredtext_is_named() -> None:
    """Comments are counted; included files and directives that are not known stand in the warnings, with what they hold read."""
    document = read(RST, "pumps.rst")
    assert "left out comments (1)" in document.notes
    assert document.fidelity is not None
    told = " ".join(document.fidelity.warnings)
    assert "parts/oil.rst" in told
    assert "gauge (1)" in told


def test_wide_characters_in_a_drawn_table_take_two_columns() -> None:
    """A grid drawn with Chinese text in it, whose signs are two columns wide, has its cells where they are seen."""
    table = "+--------+------+\n| 温度   | 压力 |\n+========+======+\n| 20 ℃  | 3    |\n+--------+------+\n"
    assert read(table, "表.rst").text.split("\n")[0] == "温度 | 压力"


ADOC = """\
= Pump Manual
Ann Author <ann@b.example>
v1.2, 2026-01-03
:product: Wenyuan
:toc:

Intro to {product} with *bold*, `mono`, 10^6^ Pa, H~2~O, [line-through]#old# https://x.example[the site], <<use>>.

[#use]
== Use it

NOTE: Be careful
here.

[WARNING]
====
Do not touch.

* hot
** very
* cold
+
and wet
====

-v, --verbose::
  Say more.
-q::
--quiet::
Say less.

[source,sh]
----
pump --on # <1>
----
<1> Turns it on

.Speeds
[cols="1,1",options="header"]
|===
|speed |power

|1450
|2 kW

.2+|2900 |3 kW
|4 kW
|===

* [x] done
* [ ] open

include::parts/oil.adoc[]

Old style
---------

stem:[\\frac{1}{2}] of it, twice as `a` | b.

////
nobody sees
////

ifdef::env-github[]
only elsewhere
endif::[]
"""


def test_a_page_of_asciidoc_is_read_by_its_structure() -> None:
    """Attributes, references by title, boxes, lists, terms that share a description, code with its marks, and tables."""
    document = read(ADOC, "pump.adoc")
    assert document.title == "Pump Manual"
    assert blocks(document) == [
        ("heading", "Pump Manual"),
        ("paragraph", "Ann Author <ann@b.example>"),
        ("paragraph", "v1.2, 2026-01-03"),
        ("paragraph", "Intro to Wenyuan with bold, mono, 10^6 Pa, H₂O, ~~old~~ the site, Use it."),
        ("heading", "Use it"),
        ("paragraph", "Note: Be careful here."),
        ("paragraph", "Warning: Do not touch."),
        ("list", "- hot\n  - very\n- cold\n  and wet"),
        ("paragraph", "-v, --verbose: Say more."),
        ("paragraph", "-q, --quiet: Say less."),
        ("code", "pump --on # <1>"),
        ("list", "- <1> Turns it on".removeprefix("- ")),
        ("paragraph", "Speeds"),
        ("table", "speed | power\n1450 | 2 kW\n2900 | 3 kW\n2900 | 4 kW"),
        ("list", "- ☑ done\n- ☐ open"),
        ("heading", "Old style"),
        ("paragraph", "1/2 of it, twice as a | b."),
    ]
    assert document.fidelity is not None
    assert "parts/oil.adoc" in " ".join(document.fidelity.warnings)
    assert "left out comments (1), lines under a condition (1)" in document.notes


TEX = r"""
\documentclass{article}
\newcommand{\product}{Wenyuan}
\newcommand{\degC}[1]{#1\,\textdegree C}
\title{A \emph{Pump} Manual}
\begin{document}
\maketitle
\section{Use}\label{sec:use}
The \product{} pump runs at \degC{20}, $10^{6}$ Pa, \SI{5}{\kilo\gram\per\cubic\metre}, 5\% of it. % nobody sees
Caf\'e, na\"{\i}ve, ``quoted'' --- see \cite{a,b}.\footnote{A note.}
\begin{enumerate}
\item Stop it
\item Wait
  \begin{itemize}
  \item one minute
  \end{itemize}
\end{enumerate}
\begin{description}
\item[-v] verbose
\end{description}
\begin{table}
\caption{Speeds}
\begin{tabular}{l|r}
\hline
speed & power \\ \hline
\multirow{2}{*}{1450} & 2 kW \\
 & 3 kW \\
\multicolumn{2}{c}{both} \\
\end{tabular}
\end{table}
\begin{equation}
E = mc^2 + \frac{1}{2}
\end{equation}
\begin{verbatim}
x = 1 % y
\end{verbatim}
\input{parts/oil}
\gauge{kept}
\end{document}
"""


def test_a_paper_in_latex_is_read_by_its_structure() -> None:
    """Title, sections, lists, terms, tables, formulas, units, accents, code with its comments, and names that stand for text."""
    document = read(TEX, "pump.tex")
    assert document.title == "A Pump Manual"
    assert blocks(document) == [
        ("heading", "A Pump Manual"),
        ("heading", "Use"),
        (
            "paragraph",
            "The Wenyuan pump runs at 20 °C, 10^6 Pa, 5 kg/m³, 5% of it. Café, naïve, “quoted” — see [a, b]. (A note.)",
        ),
        ("list", "1. Stop it\n2. Wait\n  - one minute"),
        ("paragraph", "-v: verbose"),
        ("paragraph", "Speeds"),
        ("table", "speed | power\n1450 | 2 kW\n1450 | 3 kW\nboth"),
        ("paragraph", "E = mc^2 + 1/2"),
        ("code", "x = 1 % y"),
        ("paragraph", "kept"),
    ]
    assert document.fidelity is not None
    told = " ".join(document.fidelity.warnings)
    assert "parts/oil" in told
    assert "\\gauge (1)" in told


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        (r"x^{10} \le 5", "x^10 ≤ 5"), (r"\sqrt[3]{x+1}", "3√(x+1)"), (r"\frac{a+b}{2}", "(a+b)/2"), (r"a_{i+j}", "a_(i+j)"),
        (r"20\,^\circ\mathrm{C}", "20 °C"), (r"\begin{matrix}1&2\\3&4\end{matrix}", "1, 2; 3, 4"), (r"\{1\} \pm 2", "{1} ± 2"),
        (r"\alpha \unknown", "α unknown"), ("{{{", ""), (r"\frac", ""), ("}x}", "x"),
    ],
)  # fmt: skip
def test_formulas_of_tex_keep_their_value(source: str, seen: str) -> None:
    """Powers, fractions and signs stand on one line; what is broken is read as far as it goes."""
    assert plain_formula(source).strip("/ ") == seen


def test_definitions_that_grow_are_put_in_within_bounds() -> None:
    """A name that stands for ten others, and so on, ends, and is named."""
    pairs = zip("abcdefgh", "bcdefghi", strict=True)
    names = "".join(r"\newcommand{\xNEXT}{".replace("NEXT", b) + rf"\x{a} " * 10 + "}\n" for a, b in pairs)
    document = read(rf"\newcommand{{\xa}}{{ha}}{names} Begin \xi end", "x.tex")
    assert len(document.text) < 1_000_000
    assert document.fidelity is not None
    assert document.fidelity.warnings


MDX = """\
---
title: Use tabs
---
import Tabs from '@theme/Tabs';

export const x = 1

# Tabs here

<Tabs>
<TabItem value="npm" label="With npm">

Run `npm i <Tabs>` now.

</TabItem>
</Tabs>

{/* nobody sees */}

<Admonition type="note" title="Take care">It is hot.</Admonition>
"""


def test_mdx_is_read_as_markdown_without_its_program() -> None:
    """Imports, exports, comments and tags go, with a note; titles and labels, what stands between tags, and code stay."""
    document = read(MDX, "tabs.mdx")
    assert blocks(document) == [
        ("heading", "# Tabs here"),
        ("paragraph", "With npm"),
        ("paragraph", "Run `npm i <Tabs>` now."),
        ("paragraph", "Take care: It is hot."),
    ]
    assert document.title == "Use tabs"
    assert document.blocks[0].line == 8
    assert "left out comments (1), imports and exports (2), tags of components (6)" in document.notes


@pytest.mark.parametrize("name", ["x.rst", "x.adoc", "x.tex"])
def test_a_page_of_nothing_but_comments_is_refused(name: str) -> None:
    """An empty page stands for no document."""
    comment = {"x.rst": ".. a\n", "x.adoc": "// a\n:b: c\n", "x.tex": "% a\n"}[name]
    with pytest.raises(DocumentRejected, match="holds no text"):
        read(comment, name)


def test_boxes_of_a_chinese_page_are_called_in_chinese() -> None:
    """The language of the page decides what a box is called."""
    assert (
        "警告：不得打开运行中的水泵。" in read("水泵\n====\n\n.. warning:: 不得打开运行中的水泵。\n", "泵.rst").text
    )
    assert "注：水泵运行时会发热。" in read("= 水泵\n\nNOTE: 水泵运行时会发热。\n", "泵.adoc").text


def test_what_tex_files_make_of_known_commands_changes_nothing() -> None:
    """Files redefine commands for their own purposes, as for headings of a PDF: struck text stays struck."""
    assert "~~100~~ 80" in read(r"\renewcommand{\sout}{} It costs \sout{100} 80 $\boxtimes$.", "x.tex").text


def test_an_empty_comment_parts_code_from_a_quotation() -> None:
    """Two stops alone take nothing of what stands below them."""
    document = read("Code::\n\n  pump --on\n\n..\n\n  Quoted words.\n", "x.rst")
    assert ("paragraph", "Quoted words.") in blocks(document)


def test_coloured_code_in_tex_is_read_as_code() -> None:
    """The commands that colour words go, lines and signs stay."""
    code = "\\begin{Highlighting}[]\n\\ControlFlowTok{if}\\NormalTok{ x }\\OperatorTok{\\textgreater{}}\\NormalTok{ \\{1\\}:}\n  \\NormalTok{y}\n\\end{Highlighting}"
    assert blocks(read(code, "x.tex")) == [("code", "if x > {1}:\n  y")]
