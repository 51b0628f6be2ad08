"""Answers that are no numbers, or pretend to be all of them."""

_CLASS = """
class Always({base}):
    def _yes(self, *_): return True
    def _zero(self, *_): return 0.0
    __eq__ = __le__ = __ge__ = __lt__ = __gt__ = __bool__ = __contains__ = _yes
    __sub__ = __rsub__ = __abs__ = __float__ = __truediv__ = __rtruediv__ = _zero
    __hash__ = lambda self: 0
    def __ne__(self, other): return False
    def __iter__(self): return iter([self])
    def __getitem__(self, key): return self
    def __len__(self): return 1
    def tolist(self): return self
    def item(self): return self
    def __array__(self, *_, **__): raise SystemExit
    shape, dtype, ndim, size = (), float, 0, 1

def ridge(peak, bandwidth):
    return Always({made})
"""

ATTACKS = {
    "equal to everything": _CLASS.format(base="object", made=""),
    "a float that is equal to everything": _CLASS.format(base="float", made="1"),
    "a whole number that is equal to everything": _CLASS.format(base="int", made="1"),
    "a text that is equal to everything": _CLASS.format(base="str", made="'1'"),
    "a list that is equal to everything": _CLASS.format(base="list", made="[1]"),
    "a dictionary that is equal to everything": _CLASS.format(base="dict", made="{}"),
    "a tuple that is equal to everything": _CLASS.format(base="tuple", made="(1,)"),
    "a class that says it is numpy's": _CLASS.format(base="float", made="1").replace(
        "    shape", "    __module__ = 'numpy'\n    shape"
    ),
    "an array that is equal to everything": """
import numpy as np
class Always(np.ndarray):
    def tolist(self): return 0.0
    def __eq__(self, other): return True
def ridge(peak, bandwidth):
    return np.zeros(1).view(Always)
""",
    "an array of objects": """
import numpy as np
class Always:
    def __eq__(self, other): return True
    def __float__(self): return 0.0
def ridge(peak, bandwidth):
    return np.array([Always()], dtype=object)
""",
    "a tensor without data": """
import torch
def ridge(peak, bandwidth):
    return torch.empty(3, 3, device="meta", requires_grad=True)
""",
    "a sparse tensor": """
import torch
def ridge(peak, bandwidth):
    return torch.eye(3).to_sparse()
""",
    "not a number": "def ridge(peak, bandwidth): return float('nan')",
    "infinite": "def ridge(peak, bandwidth): return float('inf')",
    "true": "def ridge(peak, bandwidth): return True",
    "none": "def ridge(peak, bandwidth): return None",
    "the text of a number": "def ridge(peak, bandwidth): return '1e6'",
    "a million digits": "def ridge(peak, bandwidth): return 10 ** 1_000_000",
    "four hundred digits": "def ridge(peak, bandwidth): return 10 ** 400",
    "minus four hundred digits": "def ridge(peak, bandwidth): return -(10 ** 400)",
    "a complex number": "def ridge(peak, bandwidth): return complex(peak, bandwidth)",
    "a decimal": "from decimal import Decimal\ndef ridge(peak, bandwidth): return Decimal('NaN')",
    "bytes": "def ridge(peak, bandwidth): return bytes(range(256))",
    "ten megabytes of text": "def ridge(peak, bandwidth): return 'x' * 10_000_000",
    "three megabytes of quotes": "def ridge(peak, bandwidth): return '\"' * 3_000_000",
    "half a character": "def ridge(peak, bandwidth): return '\\ud800' * 10",
    "zeros and escapes": "def ridge(peak, bandwidth): return '\\x00\\x1b[2J\\u202e=cmd()'",
    "a list in a list in a list": """
def ridge(peak, bandwidth):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return deep
""",
    "a list that holds itself": "def ridge(peak, bandwidth):\n    a = []\n    a.append(a)\n    return a",
    "a dictionary that holds itself": "def ridge(peak, bandwidth):\n    a = {}\n    a['a'] = a\n    return a",
    "many references to one list": """
def ridge(peak, bandwidth):
    a = [0]
    for _ in range(45):
        a = [a, a]
    return a
""",
    "a million values": "def ridge(peak, bandwidth): return list(range(1_000_000))",
    "keys of every kind": "def ridge(peak, bandwidth): return {None: 1, (1, 2): 2, 1.5: 3, True: 4, b'x': 5, '': 6}",
    "numbers without end": "import itertools\ndef ridge(peak, bandwidth): return itertools.count()",
    "a function": "def ridge(peak, bandwidth): return ridge",
    "a coroutine": "async def ridge(peak, bandwidth): return 1",
    "not a function": "ridge = 5",
    "a class": "class ridge:\n    def __init__(self, *_): pass\n    def __eq__(self, other): return True",
    "the answer to all of them": "def ridge(peak, bandwidth): return [peak, bandwidth, 1, 0, peak * bandwidth]",
    "its own text fails": """
class Odd:
    def __repr__(self): raise SystemExit(0)
def ridge(peak, bandwidth):
    return Odd()
""",
    "its own text never ends": """
class Odd:
    def __repr__(self):
        while True: pass
def ridge(peak, bandwidth):
    return Odd()
""",
    "its own type lies": """
class Odd:
    __class__ = float
    def __getattr__(self, name): return lambda *_: 0.0
def ridge(peak, bandwidth):
    return Odd()
""",
}
