"""Whether something that is given out holds a secret: a solution, a mark scheme, or a function of a checks.py.

The build puts a canary, a comment that stands nowhere else, into every solution and mark scheme of `solutions/`;
besides, the texts themselves are looked for, whatever comments, spaces and line ends they have got. Both are found in
archives in archives, and in what a notebook's outputs carry as base64.
"""

import ast
import base64
import binascii
import gzip
import io
import json
import re
import tarfile
import textwrap
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

CANARY = re.compile(r"canary-[0-9a-f]{8}\b")
BLOCK = re.compile(
    r"^[^\n]*BEGIN (SOLUTION|MARK SCHEME|HIDDEN TESTS)[^\n]*\n(.*?)\n[^\n]*END \1", re.MULTILINE | re.DOTALL
)
COMMENT = re.compile(r"(?:^|(?<=\s))# .*|<!--.*?-->", re.MULTILINE)
TELLING = 40
"""Characters that a text without spaces must have to be a secret of its own: shorter ones anybody may have written."""
PIECE = TELLING // 2
"""Characters by which a long secret is found: half of its least length, so that one whole piece lies at a multiple."""
BASE64 = re.compile(r"[A-Za-z0-9+/\s]{16,}={0,2}\s*")


def secrets(lessons: Path) -> dict[str, str]:
    """Text without comments and spaces -> where it stands, for what the units in `lessons` keep from learners: each
    function of a checks.py, whole and, if it is long enough, its body alone; each solution and mark scheme; and of
    solutions and graded references each line that is long enough. A lesson shows the reference of a your-turn, which is
    none.
    """
    found = {}
    for path in sorted(lessons.glob("*/checks.py")):
        source = path.read_text(encoding="utf-8")
        tree, lines = ast.parse(source), source.split("\n")
        shown, graded = _references(tree)
        for node in ast.walk(tree):
            if node in shown or getattr(node, "name", "") in shown:
                continue
            if isinstance(node, ast.FunctionDef):
                first = node.body[min(ast.get_docstring(node) is not None, len(node.body) - 1)]
                parts = ["\n".join(lines[at - 1 : node.end_lineno]) for at in (node.lineno, first.lineno)]
            elif isinstance(node, ast.Lambda):
                parts = [_segment(lines, part) for part in (node, node.body)]
            else:
                continue
            whole, body = map(squeezed, parts)
            texts = {whole, body if len(body) >= TELLING else whole}
            if getattr(node, "name", "") in graded:
                texts |= _telling(lines, node)
            found |= dict.fromkeys(texts, f"{path.parent.name}/checks.py:{node.lineno}")
    for path in sorted(lessons.glob("*/exercises.md")):
        source = path.read_text(encoding="utf-8")
        for block in BLOCK.finditer(source):
            texts = {text} if len(text := squeezed(block[2])) >= TELLING else set()
            if block[1] == "SOLUTION":
                texts |= _lines(textwrap.dedent(block[2]))
            line = source.count("\n", 0, block.start()) + 1
            found |= dict.fromkeys(texts, f"{path.parent.name}/exercises.md:{line}")
    return found


def _lines(solution: str) -> set[str]:
    """Its lines that tell: of code what they compute, of a model answer each paragraph."""
    try:
        code = ast.parse(solution)
    except SyntaxError:
        return {text for line in solution.split("\n") if len(text := squeezed(line)) >= TELLING}
    return _telling(solution.split("\n"), code)


def _telling(lines: Sequence[str], code: ast.AST) -> set[str]:
    """What single lines of `code` compute, where it is long enough to tell; a call that hands names on is not."""
    values = [node.value for node in ast.walk(code) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return))]
    handed = {v for v in values if isinstance(v, ast.Call) and all(isinstance(each, ast.Name) for each in v.args)}
    texts = {squeezed(_segment(lines, value)) for value in values if value is not None and value not in handed}
    return {text for text in texts if len(text) >= TELLING}


def _segment(lines: Sequence[str], node: ast.expr) -> str:
    """As `ast.get_source_segment`, which splits the whole source for each node. (Columns are counted in bytes.)"""
    own = [line.encode() for line in lines[node.lineno - 1 : node.end_lineno]]
    own[-1] = own[-1][: node.end_col_offset]
    own[0] = own[0][node.col_offset :]
    return b"\n".join(own).decode()


def _references(tree: ast.Module) -> tuple[set[str | ast.expr], set[str | ast.expr]]:
    """The references of checks without points, by name or as they stand, less the names that a graded check has too;
    and the references of graded ones.
    """
    shown, graded, references = set(), set(), set()
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Check":
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            if isinstance(given.get("points"), ast.Constant) and given["points"].value == 0:
                shown.add(getattr(given.get("reference"), "id", given.get("reference")))
            else:
                references.add(getattr(given.get("reference"), "id", given.get("reference")))
                graded |= {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    return shown - graded, references


def squeezed(text: str) -> str:
    """A text without comments and white space."""
    return "".join(COMMENT.sub("", text).split())


def leaks(content: bytes, hidden: Mapping[str, str]) -> set[str]:
    """The canaries, and the places of the `hidden` texts (as `secrets` gives them), in a file, in the members of an
    archive, in the texts of JSON, and in what is packed in any.
    """
    short, long = _index(tuple(hidden))
    found, left, seen = set(), [content], set()
    while left:
        if (content := left.pop()) in seen:  # a zip holds a notebook, and a wheel that holds it too
            continue
        seen.add(content)
        text = content.decode("utf-8", "replace")
        bare = squeezed(text)
        pieces = {bare[at : at + PIECE] for at in range(0, len(bare), PIECE)}
        likely = [short[head] for head in short if head in bare] + [long[piece] for piece in long.keys() & pieces]
        found |= {hidden[secret] for secrets in likely for secret in secrets if secret in bare}
        found.update(CANARY.findall(text))
        left += members(content)
    return found


@lru_cache(maxsize=2)
def _index(hidden: Sequence[str]) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """Where to look for thousands of secrets in ten thousands of texts: short ones by their first letters, long ones
    by the pieces of their beginning. One of these lies at a multiple of a piece's length wherever the secret stands.
    """
    short, long = defaultdict(list), defaultdict(list)
    for secret in hidden:
        if len(secret) < TELLING:
            short[secret[:3]].append(secret)
        else:
            for at in range(PIECE):
                long[secret[at : at + PIECE]].append(secret)
    return short, long


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
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            yield f" {''.join(value)}".encode("utf-8", "replace")  # a notebook keeps a text as a list of its lines
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
