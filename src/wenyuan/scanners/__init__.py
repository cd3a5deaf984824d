"""Scanners: may this file be taken in? A command (`command`), an HTTP endpoint (`http`), or ClamAV's daemon (`clamd`)."""
