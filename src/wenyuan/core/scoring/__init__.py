"""Scores of passages (absolute, 0..1, explainable), the statute factor, and checks and sums of vectors.

The statute factor: if many candidates of a question are articles of one statute, the question is probably about it. An
article seldom says what its statute is about, and laypeople do not name it. With n candidates, of which c are articles of
one statute, its support is s = √((c − 1) / n). The score of an article is multiplied by

    1 − `LAW` · (largest support of any statute − s)

so articles of the statute with most candidates, and passages that are no articles, keep their scores. A statute is any text
with numbered articles: a code, a regulation, a company's rules. Other documents gain nothing by it
(docs/explanation/scoring.md).
"""
