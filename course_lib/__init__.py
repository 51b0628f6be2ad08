"""Where Did the FLOPs Go?: the course's library.

Five storeys, imports only go down: `grading` > `teaching` > `experiments` > `figures` > `accounting`. The names below
load on first use, so `import course_lib` costs next to nothing and the calculators work without torch, numpy or a
notebook.
"""

import importlib

__version__ = "0.1.0"

# public name -> (module, attribute); attribute None means the module itself
_PUBLIC = {
    "card": ("course_lib.teaching.cards.card", "card"),
    "check": ("course_lib.teaching.checks.check", "check"),
    "progress": ("course_lib.teaching.record.progress", "progress"),
    "review": ("course_lib.teaching.record.review", "review"),
    "explore": ("course_lib.teaching.explore", None),
    "experiments": ("course_lib.experiments", None),
    "figures": ("course_lib.figures", None),
    "glossary": ("course_lib.teaching.glossary", "glossary"),
    "inventory": ("course_lib.teaching.inventory.inventory", "inventory"),
    "verdicts": ("course_lib.teaching.cards.docket", "verdicts"),
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'course_lib' has no attribute {name!r}; public names: {', '.join(_PUBLIC)}")
    module, attribute = _PUBLIC[name]
    loaded = importlib.import_module(module)
    return loaded if attribute is None else getattr(loaded, attribute)


def __dir__():
    return sorted([*globals(), *_PUBLIC])
