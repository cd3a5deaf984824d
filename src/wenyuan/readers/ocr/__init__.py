"""OCR: recognises the text lines in an image of a page, with their place and a confidence per character.

`models` finds and verifies the weights, `boxes` decodes where text stands, `recognise` cuts lines out and reads them,
`order` says which comes first.
"""
