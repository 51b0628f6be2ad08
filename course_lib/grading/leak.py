"""Whether something that is given out holds a canary: the mark in every solution, mark scheme, reference and wrong
answer. It looks into archives in archives, and into what a notebook's outputs carry as base64.
"""

import base64
import binascii
import gzip
import io
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

CANARY = re.compile(r"canary-[0-9a-f]{8}\b")
BASE64 = re.compile(r"[A-Za-z0-9+/\s]{16,}={0,2}\s*")


def canaries(content: bytes) -> set[str]:
    """The canaries in a file, in the members of an archive, in the texts of JSON, and in what is packed in any."""
    found = set(CANARY.findall(content.decode("utf-8", "replace")))
    for member in members(content):
        found |= canaries(member)
    return found


def members(content: bytes) -> list[bytes]:
    """The contents of a zip, tar, gzip or zlib file, and the texts of a JSON file; nothing for other files."""
    if content[:2] == b"PK" and zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return [archive.read(name) for name in archive.namelist()]
    try:
        if content[:2] == b"\x1f\x8b":
            return [gzip.decompress(content)]
        if content[:1] == b"\x78":
            return [zlib.decompress(content)]
        if content[:1] in (b"{", b"["):
            return list(_texts(json.loads(content)))
    except (OSError, ValueError, zlib.error):
        return []
    if content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            return [archive.extractfile(member).read() for member in archive if member.isfile()]
    return []


def _texts(value) -> Iterator[bytes]:
    """Every text in a JSON value, as it reads without escapes, and what it holds if it is base64."""
    if isinstance(value, str):
        yield f" {value}".encode("utf-8", "replace")  # no text is taken for an archive
        if BASE64.fullmatch(value):
            try:
                yield base64.b64decode(value)
            except binascii.Error:
                return
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
