"""Training data from judged questions, and the training of query maps."""
