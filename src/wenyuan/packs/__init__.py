"""Rules that come with the program, each a folder of YAML files: import one by its name, or read it to write your own.

``construction``: safety and quality of construction works · ``customer_service``: what a trader owes consumers.
Both are made of public law of the People's Republic of China, quoted clause by clause.
"""
