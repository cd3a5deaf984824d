"""Rules: what must be done, known as a graph of statements with evidence, and how it is derived without a model.

``book`` what people write → checked nodes and statements · ``schema`` which kinds and relations there are ·
``linking`` text → nodes · ``conditions`` true, false or not known · ``inference`` nodes → derived rules.
"""
