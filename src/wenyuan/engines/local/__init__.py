"""The default engine: tantivy for keywords and a quantised vector scan with exact rescoring, both derived from the
catalog.

Both halves answer at one watermark: the last change of the catalog that they hold. `sync` replays what is
missing; if it cannot, that is an `EngineError`, never a shorter answer. Lost or damaged files are rebuilt from the
catalog when the engine is opened, and rewritten from memory while it is open.
"""
