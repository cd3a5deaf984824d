"""The HTTP server: its settings, the service that its routes ask, and where a request comes from."""
