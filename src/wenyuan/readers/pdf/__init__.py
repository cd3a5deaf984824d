"""PDF to a `Document`: the text layer, page by page, in reading order, lines joined to paragraphs."""
