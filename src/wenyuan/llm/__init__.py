"""Language models behind OpenAI's chat completions API, called within limits on time, concurrency and tokens; their answers are never trusted."""
