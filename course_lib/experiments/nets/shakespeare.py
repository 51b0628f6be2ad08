"""A million characters of Shakespeare that small language models learn; `data/README.md` names source and licence."""

import lzma
from functools import cache
from importlib.resources import files

COUNT, CHARACTERS = 1_115_394, 65  # characters of the text; different ones


@cache
def text() -> str:
    """The whole text, plain ASCII."""
    return lzma.decompress((files(__package__) / "data" / "shakespeare.xz").read_bytes()).decode("ascii")


@cache
def alphabet() -> str:
    """The different characters, sorted: a character's place in it is its class."""
    return "".join(sorted(set(text())))


def tensor(torch):
    """Classes [1115394] of the characters, int64, in the order of the text."""
    number = {ord(character): place for place, character in enumerate(alphabet())}
    return torch.frombuffer(bytearray(text().translate(number), "latin-1"), dtype=torch.uint8).long()
