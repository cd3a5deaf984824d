"""What is told where no language model is set up."""

from __future__ import annotations

from wenyuan.core.errors import LlmUnavailable


def none_is_set_up(*, extracts: bool = False) -> LlmUnavailable:
    """The error where no model is configured.

    Args:
        extracts: Whether what was asked for can be had without one, from extracts.
    """
    hint = "set llm.url and llm.model in wenyuan.toml, or WENYUAN_LLM__URL and WENYUAN_LLM__MODEL"
    if extracts:
        hint = "set llm.url and llm.model in wenyuan.toml, or WENYUAN_LLM__URL and WENYUAN_LLM__MODEL; on_failure=extract answers without one"
    return LlmUnavailable("no language model is set up: llm.url and llm.model name one", component="llm", hint=hint)
