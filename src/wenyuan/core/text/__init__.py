"""Text analysis: the one analyser of documents and queries, for all engines; and where a text may be cut.

A document's terms are, after folding (NFKC, lower case, Traditional → Simplified):

* CJK runs: each character and each pair of neighbours (``连接池`` → ``连 接 池 连接 接池``);
* Latin words: stemmed (Snowball English), accents dropped; parts of ``snake_case`` and ``kebab-case`` too;
* numbers as written (``3.5``), with the parts of ``50300-2013`` and ``2026/5/1``;
* **identifiers** in one canonical form each: clause references
  (``第十三条`` = ``第13条`` = ``Article 13`` → ``#article:13``), standard numbers
  (``GB/T 50300—2013`` → ``#gb50300-2013`` and ``#gb50300``), codes (``ZX-4471`` → ``#zx4471``).

Terms of a passage's own title and headings are indexed with it; identifiers found there also get the mark
``@`` instead of ``#``, so that Article 13 itself outranks the articles that merely cite it.

Pairs of neighbouring words (``motor~vehicle``) are indexed, too, and asked for beside the words: passages that have
them side by side come first (the sequential dependence model of Metzler & Croft 2005). So are **quantities** in one form
each (``三十日`` = ``30天`` = ``thirty days`` → ``=30day``; see `core.text.numbers`).
"""
