"""JSON models of the contract: validation of requests and serialisation of responses."""
