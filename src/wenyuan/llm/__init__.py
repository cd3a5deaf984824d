"""Language models behind OpenAI's chat completions API, called with limits; their answers are never trusted."""
