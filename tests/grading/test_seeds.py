"""The seed of a student's exercise, and the file that keeps the course key."""

import hashlib
import hmac
import os
import subprocess
import sys

import pytest

from course_lib.grading.seeds import exercise_seed, new_key, read_key, write_key

KEY = bytes(range(32))


def test_the_seed_is_an_hmac_of_the_names_and_the_content():
    message = b"\x00\x00\x00\x03ada\x00\x00\x00\x09q05.ridge\x00\x00\x00\x01c"
    expected = hmac.digest(KEY, message, hashlib.sha256)[:8]
    assert exercise_seed(KEY, "ada", "q05.ridge", "c") == int.from_bytes(expected, "big")


def test_the_seed_is_the_same_in_another_process_with_another_hash_seed():
    code = f"from course_lib.grading.seeds import exercise_seed as s; print(s({KEY!r}, 'Zoë 张', 'q05.ridge', 'c'))"
    environment = os.environ | {"PYTHONHASHSEED": "17", "LC_ALL": "C"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert int(done.stdout) == exercise_seed(KEY, "Zoë 张", "q05.ridge", "c")


def test_names_keys_and_their_border_count():
    seeds = {
        exercise_seed(key, student, exercise, content)
        for key in (KEY, KEY[::-1])
        for content in ("c", "cc")
        for student, exercise in (
            ("ab", "c"),
            ("a", "bc"),
            ("abc", "d"),
            ("AB", "c"),
            ("ab", "c "),
            ("\u00e9", "c"),
            ("e\u0301", "c"),
        )
    }
    assert len(seeds) == 28
    assert all(0 <= seed < 2**64 for seed in seeds)


@pytest.mark.parametrize(
    "arguments",
    [
        (b"short", "a", "b", "c"),
        ("0" * 32, "a", "b", "c"),
        (KEY, "", "b", "c"),
        (KEY, "a", None, "c"),
        (KEY, "a", "b", ""),
    ],
)
def test_what_is_no_key_or_no_name_is_refused(arguments):
    with pytest.raises(ValueError, match=r"key must be 32 bytes|must be a text that is not empty"):
        exercise_seed(*arguments)


def test_a_key_is_written_for_its_owner_only_and_never_over_another(tmp_path):
    path, key = tmp_path / "course.key", new_key()
    write_key(path, key)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path) == key
    with pytest.raises(FileExistsError):
        write_key(path, new_key())
    assert read_key(path) == key
    assert new_key() != new_key()


def test_a_key_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "course.key"
    write_key(path, KEY)
    path.chmod(0o640)
    with pytest.raises(ValueError, match=r"others may read .* \(mode 0640\): run chmod 600"):
        read_key(path)


def test_a_key_in_a_repository_is_refused(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "course.key"
    with pytest.raises(ValueError, match="must not lie in a git repository"):
        write_key(path, KEY)
    assert not path.exists()
    path.touch(0o600)
    with pytest.raises(ValueError, match="must not lie in a git repository"):
        read_key(path)


@pytest.mark.parametrize("content", ["", "abc", "zz" * 32, "ab" * 31, "ab" * 33, "\xff"])
def test_a_file_that_holds_no_key_is_refused(tmp_path, content):
    path = tmp_path / "course.key"
    path.touch(0o600)
    path.write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match="holds no course key: expected 64 hexadecimal digits"):
        read_key(path)


def test_no_key_at_all(tmp_path):
    with pytest.raises(FileNotFoundError, match="no grade can be repeated"):
        read_key(tmp_path / "course.key")
