"""Names that LaTeX knows: sections, letters and accents, what is shown by its arguments alone, and what shows nothing."""

from __future__ import annotations

from collections.abc import Mapping

LEVELS: Mapping[str, int] = {
    "part": 2, "chapter": 3, "section": 4, "subsection": 5, "subsubsection": 6, "paragraph": 7, "subparagraph": 8,
    "frametitle": 5, "addchap": 3, "addsec": 4,
}  # fmt: skip
"""Levels of sections; 1 is the title's."""

LETTERS: Mapping[str, str] = {
    "ldots": "…", "dots": "…", "textellipsis": "…", "S": "§", "P": "¶", "copyright": "©", "textcopyright": "©", "pounds": "£",
    "textsterling": "£", "euro": "€", "EUR": "€", "texteuro": "€", "textregistered": "®", "texttrademark": "™", "textdegree": "°",
    "degree": "°", "textcelsius": "°C", "textmu": "µ", "textohm": "Ω", "textpm": "±", "texttimes": "×", "textonehalf": "½",
    "textonequarter": "¼", "textthreequarters": "¾", "ss": "ß", "o": "ø", "O": "Ø", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ",
    "aa": "å", "AA": "Å", "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "textbackslash": "\\",
    "textasciitilde": "~", "textasciicircum": "^", "textbar": "|", "textless": "<", "textgreater": ">", "textbullet": "•",
    "textendash": "–", "textemdash": "—", "textquoteleft": "‘", "textquoteright": "’", "textquotedblleft": "“",
    "textquotedblright": "”", "textquotesingle": "'", "textunderscore": "_", "textdollar": "$", "textpercent": "%", "dag": "†",
    "ddag": "‡", "TeX": "TeX", "LaTeX": "LaTeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX", "XeTeX": "XeTeX", "quad": " ", "qquad": " ",
    "space": " ", "thinspace": " ", "enspace": " ", "newline": "\n", "linebreak": "\n", "and": ", ", "slash": "/", "checkmark": "✓",
    "textrightarrow": "→", "textleftarrow": "←", "times": "×", "pm": "±", "leq": "≤", "geq": "≥", "neq": "≠", "approx": "≈",
    "ie": "i.e.", "eg": "e.g.",
}  # fmt: skip
"""Commands without arguments, and what they show."""

ACCENTS: Mapping[str, str] = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304", ".": "\u0307", "c": "\u0327",
    "v": "\u030c", "u": "\u0306", "H": "\u030b", "r": "\u030a", "k": "\u0328", "d": "\u0323", "b": "\u0331",
}  # fmt: skip

PLAIN = frozenset(
    "textbf textit emph texttt textsc textsf textrm textsl textup textmd textnormal underline uline text mbox hbox fbox framebox makebox bf it tt "
    "sc sf rm sl em tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge bfseries itshape ttfamily scshape "
    "sffamily rmfamily slshape upshape mdseries normalfont centering raggedright raggedleft noindent indent maketitle "
    "tableofcontents listoffigures listoftables appendix frontmatter mainmatter backmatter protect relax ensuremath enquote "
    "hfill vfill smallskip medskip bigskip null leavevmode sloppy fussy onecolumn twocolumn columnbreak newblock ignorespaces "
    " hl  pagebreak nopagebreak nolinebreak linewidth textwidth columnwidth textheight unskip xspace centerline "
    "leftline rightline  center flushleft flushright nobreak break allowbreak  lowercase uppercase "
    "MakeUppercase MakeLowercase ExecuteOptions boxed strong code file pkg command keys menu eqno acknowledgements "
    "gls Gls glspl Glspl glsentrytext glsdesc glssymbol ac acs acl acf acp acrshort acrlong acrfull term "
    "subfloat subfigure   onslide only pause uncover alert structure titlepage footnotemark displaystyle".split()
)
"""Commands that change only how their text looks."""

DROPPED: Mapping[str, int] = {
    **dict.fromkeys(
        "label index vspace hspace pagestyle thispagestyle bibliographystyle usepackage documentclass pagenumbering color hyphenation "
        "graphicspath title author date  phantom vphantom hphantom input@path captionsetup hypersetup lstset geometry "
        " theoremstyle usetikzlibrary pgfplotsset selectlanguage includeonly vskip hskip usecolortheme usetheme "
        "institute affiliation   RequirePackage sisetup bstctlcite   stepcounter "
        "refstepcounter  linespread  typeout PassOptionsToPackage newcounter newlength newif "
        "tcbset   setmainfont setCJKmainfont columncolor rowcolor cellcolor".split(),
        1,
    ),
    **dict.fromkeys(
        "setlength addtolength setcounter addtocounter rule markboth newtheorem  fontsize DeclareMathOperator "
        "renewcommand newcommand providecommand DeclareRobustCommand def let  resizebox  "
        "settowidth".split(),
        2,
    ),
    "addcontentsline": 3, "definecolor": 3, "newenvironment": 3, "renewenvironment": 3, "rotatebox": 1, "hypertarget": 1,
    "phantomsection": 0, "makeatletter": 0, "makeatother": 0, "printbibliography": 0, "makeindex": 0, "printindex": 0,
    "baselineskip": 0, "parindent": 0, "parskip": 0, "endinput": 0, "bigl": 0, "unhbox": 0,
}  # fmt: skip
"""Commands that show nothing, with how many arguments they take."""

RULES: Mapping[str, int] = {
    "hline": 0, "toprule": 0, "midrule": 0, "bottomrule": 0, "cline": 1, "cmidrule": 1, "addlinespace": 0, "endhead": 0,
    "endfirsthead": 0, "endfoot": 0, "endlastfoot": 0, "tabularnewline": 0, "arraystretch": 0, "hhline": 1, "noalign": 1,
    "specialrule": 3, "morecmidrules": 0,
}  # fmt: skip
"""Lines between the rows of a table."""

TABLES: Mapping[str, int] = {
    "tabular": 1, "longtable": 1, "supertabular": 1, "tabularx": 2, "tabulary": 2, "tblr": 1, "longtblr": 1, "xltabular": 2,
}  # fmt: skip
"""Environments of tables, with how many arguments they take."""

VERBATIM = frozenset(
    "verbatim Verbatim Highlighting lstlisting minted alltt BVerbatim LVerbatim filecontents code CodeInput CodeOutput".split()
)
FORMULAS = frozenset("equation displaymath math gather multline eqnarray dmath ".split())
ALIGNED = frozenset(
    "align alignat flalign aligned array split cases matrix pmatrix bmatrix vmatrix IEEEeqnarray".split()
)
ENDS = frozenset(
    "itemize enumerate description thebibliography compactitem compactenum list tasks enumitem inparaenum".split()
)
"""Environments of lists."""

BOXED: Mapping[str, str] = {
    "theorem": "Theorem", "lemma": "Lemma", "corollary": "Corollary", "proposition": "Proposition", "definition": "Definition",
    "proof": "Proof", "remark": "Remark", "example": "Example", "exercise": "Exercise", "claim": "Claim", "note": "Note",
    "warning": "Warning", "axiom": "Axiom", "conjecture": "Conjecture", "assumption": "Assumption",
}  # fmt: skip
"""Environments that say what they are."""

UNITS: Mapping[str, str] = {
    "metre": "m", "meter": "m", "gram": "g", "second": "s", "ampere": "A", "kelvin": "K", "mole": "mol", "candela": "cd",
    "newton": "N", "pascal": "Pa", "joule": "J", "watt": "W", "volt": "V", "ohm": "Ω", "hertz": "Hz", "coulomb": "C", "farad": "F",
    "tesla": "T", "henry": "H", "weber": "Wb", "siemens": "S", "lumen": "lm", "lux": "lx", "becquerel": "Bq", "gray": "Gy",
    "sievert": "Sv", "litre": "L", "liter": "L", "minute": "min", "hour": "h", "day": "d", "hectare": "ha", "tonne": "t", "bar": "bar",
    "degree": "°", "degreeCelsius": "°C", "celsius": "°C", "percent": "%", "electronvolt": "eV", "byte": "B", "bit": "bit",
    "decibel": "dB", "radian": "rad", "micro": "µ\u2060", "milli": "m\u2060", "kilo": "k\u2060", "mega": "M\u2060", "giga": "G\u2060",
    "tera": "T\u2060", "nano": "n\u2060", "pico": "p\u2060", "femto": "f\u2060", "centi": "c\u2060", "deci": "d\u2060", "hecto": "h\u2060",
    "kg": "kg", "g": "g", "mg": "mg", "m": "m", "cm": "cm", "mm": "mm", "km": "km", "um": "µm", "nm": "nm", "s": "s", "ms": "ms",
    "us": "µs", "K": "K", "Pa": "Pa", "kPa": "kPa", "MPa": "MPa", "V": "V", "A": "A", "mA": "mA", "W": "W", "kW": "kW", "Hz": "Hz",
    "kHz": "kHz", "MHz": "MHz", "GHz": "GHz", "N": "N", "J": "J", "L": "L", "l": "L", "ml": "mL", "mL": "mL",
}  # fmt: skip
"""Units of the package siunitx; after a prefix the unit follows without a gap."""
