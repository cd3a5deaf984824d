"""What rests on documents and rules, and what a change of them touches."""
