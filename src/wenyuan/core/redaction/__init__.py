"""What `wenyuan.core.redact` is made of: a folded view of the text, rules that find values in it, and what to write instead."""
