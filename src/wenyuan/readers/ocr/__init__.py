"""OCR: recognises the text lines in an image of a page, with their place and a confidence per character.

In order: finding and verifying the weights, decoding where text stands, cutting lines out and reading them, and numbers
that were not read surely. `readers.pdf.paragraphs` says which line comes first.
"""
