"""The compiled half of the package ``cel``: importing all of it loads its command line, too, for a second.

It can be loaded once only, so it stands where the package itself would look for it; and by one thread only, which
Python sees to where it is loaded as this module is.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

from wenyuan.core.errors import ConfigError

_NAME = "cel.cel"


def _loaded() -> Any:
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    package = find_spec("cel")
    folders = package.submodule_search_locations if package else None
    found = PathFinder.find_spec(_NAME, folders) if folders else None
    if found is None or found.loader is None:
        raise ConfigError(
            "conditions cannot be read: the package common-expression-language is not installed",
            component="rules",
            hint="pip install common-expression-language",
        )
    module = sys.modules[_NAME] = module_from_spec(found)
    found.loader.exec_module(module)
    return module


CEL: Any = _loaded()
