"""What does a picture of a page say? Lines of text with their places, and how sure each character is.

`models` finds and verifies the weights, `boxes` decodes where text stands, `recognise` cuts lines out and reads them with
`ctc`, `order` says which comes first.
"""
