"""The learner's copy: made without outputs, updated without loss."""

import json
import os
from pathlib import Path

import pytest

from course_lib.teaching import my_course
from course_lib.teaching.my_course import START, main, update

NAME = "notebooks/q05_x.ipynb"


def notebook(*sources: str, outputs: dict[str, str] | None = None, **metadata) -> dict:
    """A notebook of code cells (Markdown where the source begins with #), with one output where `outputs` has it."""
    cells = []
    for n, source in enumerate(sources):
        cell = {
            "id": f"c{n}",
            "cell_type": "markdown" if source.startswith("#") else "code",
            "metadata": {},
            "source": source,
        }
        if cell["cell_type"] == "code":
            text = (outputs or {}).get(source)
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}] if text else []
            cell["execution_count"] = 7 if text else None
        cells.append(cell)
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def write(root: Path, content: dict | str, name: str = NAME) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def sources(root: Path, name: str = NAME) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads((root / name).read_text())["cells"]]


def outputs(root: Path, name: str = NAME) -> list[str]:
    cells = json.loads((root / name).read_text())["cells"]
    return ["".join(o["text"] for o in cell.get("outputs", [])) for cell in cells]


@pytest.fixture
def course(tmp_path):
    source, target = tmp_path / "shipped", tmp_path / "my_course"
    write(source, notebook("# title", "a = 1", "print(a)", outputs={"print(a)": "the answer"}, widgets={"state": 1}))
    write(source, notebook("def f(): ..."), "exercises/q05_x/q05_x.ipynb")
    assert update(source, target) == []
    return source, target


def new_version(source: Path) -> None:
    write(source, notebook("# title", "a = 1", "print(a)", "b = 2", outputs={"b = 2": "new"}))


def test_a_fresh_copy_has_everything_and_no_output(course):
    source, target = course
    assert sources(target) == sources(source)
    assert "the answer" not in (target / NAME).read_text()
    assert "widgets" not in json.loads((target / NAME).read_text())["metadata"]
    assert (target / "exercises/q05_x/q05_x.ipynb").is_file()
    assert (target / ".course").is_dir()
    assert "the answer" in (source / NAME).read_text()  # the shipped one is left as it is


def test_an_update_without_news_touches_nothing(course):
    source, target = course
    write(target, notebook("# title", "a = 1", "print(a)", outputs={"print(a)": "mine"}))
    before = (target / NAME).read_text()
    assert update(source, target) == []
    assert (target / NAME).read_text() == before


def test_an_unchanged_notebook_is_replaced_and_keeps_its_outputs(course):
    source, target = course
    write(target, notebook("# title", "a = 1", "print(a)", outputs={"print(a)": "mine"}))
    new_version(source)
    assert update(source, target) == []
    assert sources(target) == ["# title", "a = 1", "print(a)", "b = 2"]
    assert outputs(target) == ["", "", "mine", ""]


@pytest.mark.parametrize(
    "edited",
    [
        notebook("# title", "a = 2", "print(a)"),
        notebook("# title", "print(a)", "a = 1"),
        notebook("# title", "a = 1", "print(a)", "a = 1"),
        notebook("# title", "a = 1"),
        "this is no notebook any more",
        "",
    ],
    ids=["source", "order", "more", "fewer", "damaged", "empty"],
)
def test_what_the_learner_changed_is_never_written_over(course, edited):
    source, target = course
    write(target, edited)
    mine = (target / NAME).read_text()
    new_version(source)
    (line,) = update(source, target)
    assert (target / NAME).read_text() == mine
    assert "q05_x.new.ipynb" in line
    assert sources(target, "notebooks/q05_x.new.ipynb") == ["# title", "a = 1", "print(a)", "b = 2"]
    assert update(source, target) == []  # said once


def test_work_in_a_version_laid_beside_is_kept_too(course):
    source, target = course
    write(target, notebook("mine"))
    new_version(source)
    update(source, target)
    write(target, notebook("my work in the new one"), "notebooks/q05_x.new.ipynb")
    write(source, notebook("third"))
    (line,) = update(source, target)
    assert "q05_x.new-2.ipynb" in line
    assert sources(target) == ["mine"]
    assert sources(target, "notebooks/q05_x.new.ipynb") == ["my work in the new one"]
    assert sources(target, "notebooks/q05_x.new-2.ipynb") == ["third"]


def test_an_untouched_version_beside_is_renewed(course):
    source, target = course
    write(target, notebook("mine"))
    new_version(source)
    update(source, target)
    write(source, notebook("third"))
    update(source, target)
    assert sources(target, "notebooks/q05_x.new.ipynb") == ["third"]
    assert not (target / "notebooks/q05_x.new-2.ipynb").exists()


def test_an_update_cut_short_is_done_again_without_a_false_alarm(course, monkeypatch):
    source, target = course
    new_version(source)
    real, written = my_course._write, []

    def stop_before_the_base(path, content):
        written.append(path)
        if ".course" in path.parts:
            raise OSError(28, "No space left on device")
        real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(my_course, "_write", stop_before_the_base)
        with pytest.raises(OSError, match="No space"):
            update(source, target)
    assert sources(target)[-1] == "b = 2"
    assert update(source, target) == []
    assert not (target / "notebooks/q05_x.new.ipynb").exists()


def test_a_lost_base_counts_as_changed_and_a_damaged_one_too(course):
    source, target = course
    base = target / ".course" / "base" / NAME
    for content in (None, "{"):
        base.unlink() if content is None else base.write_text(content)
        write(target, notebook("mine"))
        new_version(source)
        assert len(update(source, target)) == 1
        assert sources(target) == ["mine"]


def test_a_deleted_notebook_comes_back(course):
    source, target = course
    (target / NAME).unlink()
    update(source, target)
    assert sources(target) == sources(source)


def test_the_record_and_the_learners_own_files_stay(course):
    source, target = course
    write(target, "mine", "notebooks/own.txt")
    write(target, "record", ".course/record.json")
    new_version(source)
    update(source, target)
    assert (target / "notebooks/own.txt").read_text() == "mine"
    assert (target / ".course/record.json").read_text() == "record"


def test_checkpoints_are_not_shipped(course):
    source, target = course
    write(source, notebook("old"), "notebooks/.ipynb_checkpoints/q05_x-checkpoint.ipynb")
    update(source, target)
    assert not (target / "notebooks/.ipynb_checkpoints").exists()


# ---- Opening it ----


@pytest.fixture
def started(course, monkeypatch):
    """`main` with the toy course; what it would have started."""
    source, target = course
    calls = []
    monkeypatch.setattr(my_course, "shipped", lambda: source)
    monkeypatch.setattr(my_course, "copy_folder", lambda: target)
    monkeypatch.setattr(my_course.os, "execve", lambda *args: calls.append((Path.cwd(), *args)))
    monkeypatch.chdir(source)
    return calls


def test_main_becomes_jupyterlab_on_the_copy(started, course):
    _, target = course
    main(["--no-browser", "--port=0"])
    ((folder, program, command, environment),) = started
    assert folder == target
    assert program == command[0]
    assert command[1:4] == ["-m", "jupyter", "lab"]
    assert command[-2:] == ["--no-browser", "--port=0"]  # last, so that they win
    assert {f"--ServerApp.root_dir={target}", f"--LabApp.default_url=/lab/tree/{START}"} <= set(command)
    assert environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)[0] == str(my_course.SETTINGS)


def test_the_users_config_path_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/somewhere")
    _, environment = my_course.lab(tmp_path)
    assert environment["JUPYTER_CONFIG_PATH"].split(os.pathsep) == [str(my_course.SETTINGS), "/somewhere"]


def test_the_settings_switch_off_the_news_and_nothing_else():
    found = {str(path.relative_to(my_course.SETTINGS)) for path in my_course.SETTINGS.rglob("*") if path.is_file()}
    assert found == {"labconfig/default_setting_overrides.json", "jupyter_server_config.json"}
    assert json.loads((my_course.SETTINGS / "labconfig/default_setting_overrides.json").read_text()) == {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}
    }


def test_the_servers_messages_are_sent_at_once(monkeypatch):
    from jupyter_server.services.kernels.connection.base import BaseKernelWebsocketConnection
    from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
    from traitlets.utils.importstring import import_item

    settings = json.loads((my_course.SETTINGS / "jupyter_server_config.json").read_text())["ServerApp"]
    connection = import_item(settings["kernel_websocket_connection_class"])
    assert issubclass(connection, BaseKernelWebsocketConnection)
    calls = []
    monkeypatch.setattr(connection.__bases__[0], "connect", lambda self: calls.append("connect"))
    handler = KernelWebsocketHandler.__new__(KernelWebsocketHandler)  # a real one needs a running server
    monkeypatch.setattr(handler, "set_nodelay", calls.append)
    connection(websocket_handler=handler).connect()
    assert calls == [True, "connect"]


def test_a_folder_that_cannot_be_written_gives_one_line(started, monkeypatch, capsys):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(my_course.Path, "mkdir", refuse)
    assert main() == 1
    assert started == []
    (line,) = capsys.readouterr().err.splitlines()
    assert "Permission denied" in line


def test_a_file_in_the_place_of_the_folder_gives_one_line(started, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(my_course, "copy_folder", lambda: tmp_path / "file")
    assert main() == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_nothing_shipped_gives_one_line(started, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(my_course, "shipped", lambda: tmp_path / "nowhere")
    assert main() == 1
    assert "make build" in capsys.readouterr().err


def test_in_a_checkout_the_copy_lies_in_it():
    root = Path(__file__).resolve().parents[2]
    assert my_course.shipped() == root
    assert my_course.copy_folder() == root / "my_course"


def test_from_a_wheel_the_copy_that_holds_the_current_folder_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(my_course, "_checkout", lambda: None)
    assert my_course.shipped().name == "_shipped"
    monkeypatch.chdir(tmp_path)
    assert my_course.copy_folder() == tmp_path / "my_course"
    deep = tmp_path / "my_course" / "notebooks"
    deep.mkdir(parents=True)
    (tmp_path / "my_course" / ".course").mkdir()
    monkeypatch.chdir(deep)
    assert my_course.copy_folder() == tmp_path / "my_course"
