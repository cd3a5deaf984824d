"""Language models behind OpenAI's chat completions: asked within bounds, and never believed."""
