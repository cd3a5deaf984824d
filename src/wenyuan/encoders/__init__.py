"""Encoders: how does a text become a vector?

- `builtin`: Chinese and English, offline, on a plain CPU (`load_builtin`)
- `onnx_dir`: any model in a local directory (`open_onnx_dir`)
- `http`: any server that speaks the OpenAI embeddings protocol (`open_http`)
- `hashing`: no model at all, for tests (`HashingEncoder`)

Whatever the model answers passes through `core.scoring.vector_checks.checked_vectors` before it leaves this room.
Nothing is imported here, so that a program loads only the encoder that it uses.
"""
