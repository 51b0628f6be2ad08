"""The learner's copy: made without outputs, updated without loss."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pytest

from course_lib.teaching.lab import lab_server, my_course
from course_lib.teaching.lab.my_course import START, main, update

ROOT = Path(__file__).resolve().parents[3]
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
    assert update(source, target) == [f"Your copy of the course is in {target}."]
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
    assert update(source, target) == [f"Brought up to date: {NAME}."]
    assert sources(target) == ["# title", "a = 1", "print(a)", "b = 2"]
    assert outputs(target) == ["", "", "mine", ""]
    assert update(source, target) == []


def test_exercises_are_kept_and_renewed_like_lessons(course):
    source, target = course
    name = "exercises/q05_x/q05_x.ipynb"
    write(target, notebook("def f(): return 42"), name)
    write(source, notebook("def f(): ...", "check(f)"), name)
    (line,) = update(source, target)
    assert "exercises/q05_x/q05_x.new.ipynb" in line
    assert sources(target, name) == ["def f(): return 42"]
    write(source, notebook("def f(): ...", "check(f)", "more"), name)
    write(target, notebook("def f(): ...", "check(f)", outputs={"check(f)": "right"}), name)  # as shipped, and run
    assert update(source, target) == [f"Brought up to date: {name}."]
    assert outputs(target, name) == ["", "right", ""]


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
    assert [line for line in update(source, target) if "new version" in line] == []  # said once


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
    real = my_course.replace

    def stop_before_the_base(path, content):
        if ".course" in path.parts:
            raise KeyboardInterrupt
        real(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(my_course, "replace", stop_before_the_base)
        with pytest.raises(KeyboardInterrupt):
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


def test_a_deleted_notebook_comes_back_and_a_line_says_so(course):
    source, target = course
    (target / NAME).unlink()
    assert update(source, target) == [f"Missing from your copy, and there again as shipped: {NAME}."]
    assert sources(target) == sources(source)


def test_what_is_new_is_said_in_one_line(course):
    source, target = course
    for number in (6, 7):
        write(source, notebook("new"), f"notebooks/q0{number}_y.ipynb")
    assert update(source, target) == ["New in your copy: notebooks/q06_y.ipynb, notebooks/q07_y.ipynb."]
    assert update(source, target) == []
    for number in range(10, 20):
        write(source, notebook("new"), f"notebooks/q{number}_y.ipynb")
    (line,) = update(source, target)
    assert line.endswith("notebooks/q15_y.ipynb, ….")


def test_a_renamed_unit_leaves_the_old_notebook_to_the_learner(course):
    source, target = course
    write(target, notebook("mine"))
    (source / NAME).rename(source / "notebooks/q05_renamed.ipynb")
    assert update(source, target) == [
        "New in your copy: notebooks/q05_renamed.ipynb.",
        f"No longer part of the course, and kept as yours: {NAME}.",
    ]
    assert sources(target) == ["mine"]
    assert update(source, target) == []
    write(source, notebook("it is back"))
    (line,) = update(source, target)
    assert "q05_x.new.ipynb" in line
    assert sources(target) == ["mine"]


def test_an_older_course_after_a_newer_one_keeps_the_work_too(course, tmp_path):
    older, target = course
    newer = tmp_path / "newer"
    shutil.copytree(older, newer)
    new_version(newer)
    write(newer, notebook("only here"), "notebooks/q06_y.ipynb")
    update(newer, target)
    exercise = notebook("def f(): return 42")
    write(target, exercise, "exercises/q05_x/q05_x.ipynb")
    write(target, notebook("only here", "and mine"), "notebooks/q06_y.ipynb")
    lines = update(older, target)
    assert lines == [
        f"Brought up to date: {NAME}.",
        "No longer part of the course, and kept as yours: notebooks/q06_y.ipynb.",
    ]
    assert sources(target) == sources(older)
    assert sources(target, "exercises/q05_x/q05_x.ipynb") == ["def f(): return 42"]
    assert sources(target, "notebooks/q06_y.ipynb") == ["only here", "and mine"]


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"cells": 3}', "[" * 100_000])
def test_a_damaged_notebook_is_named_and_left_alone(course, content):
    source, target = course
    write(target, content)
    (line,) = update(source, target)
    assert NAME in line
    assert "rename or delete it" in line
    assert (target / NAME).read_text() == content
    (target / NAME).unlink()
    update(source, target)
    assert sources(target) == sources(source)


def test_without_the_courses_own_folder_nothing_of_the_learner_is_touched(course):
    source, target = course
    write(target, notebook("mine"))
    shutil.rmtree(target / ".course")
    lines = update(source, target)
    assert sources(target) == ["mine"]
    assert any("q05_x.new.ipynb" in line for line in lines)
    assert (target / ".course").is_dir()


def test_one_file_in_the_way_keeps_no_other_back(course):
    source, target = course
    write(source, notebook("# start"), START)
    update(source, target)
    (target / NAME).unlink()
    (target / NAME).mkdir()
    new_version(source)
    write(source, notebook("other"), "notebooks/q06_y.ipynb")
    lines = update(source, target)
    assert lines[0] == "New in your copy: notebooks/q06_y.ipynb."
    assert NAME in lines[1]
    assert "Is a directory" in lines[1]


FULL = """
import resource, signal, sys
from pathlib import Path
from course_lib.teaching.lab import my_course
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)  # a real write that really fails
my_course.units.home, my_course.copy_folder = lambda: Path(sys.argv[1]), lambda: Path(sys.argv[2])
my_course.os.execve = lambda *_: print("JupyterLab starts") or sys.exit(0)
sys.exit(my_course.main())
"""


def started_with_room_for(size: int, source: Path, target: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", FULL, str(source), str(target), str(size)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_disk_without_room_for_an_update_loses_nothing_and_opens_what_is_there(course):
    source, target = course
    write(source, notebook("# start"), START)
    update(source, target)
    write(target, notebook("# title", "a = 1", "print(a)", outputs={"print(a)": "mine"}))
    before = (target / NAME).read_bytes()
    write(source, notebook("# title", "b" * 9000))
    done = started_with_room_for(4096, source, target)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines == [f"Not updated (File too large), and left as it is: {NAME}.", "JupyterLab starts"]
    assert (target / NAME).read_bytes() == before
    assert [path.name for path in (target / "notebooks").iterdir() if path.name.startswith(".")] == []
    assert update(source, target) == [f"Brought up to date: {NAME}."]


def test_a_disk_without_room_for_a_first_copy_gives_one_line(course, tmp_path):
    done = started_with_room_for(100, course[0], tmp_path / "fresh")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "File too large" in line
    assert "JupyterLab starts" not in done.stdout


READ_ONLY = """
import os, sys
from pathlib import Path
import jupyter_server.serverapp
from course_lib.teaching.lab import my_course
os.chdir(sys.argv[2])
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)  # nothing stops root
my_course.units.home, my_course.copy_folder = lambda: Path(sys.argv[1]), lambda: Path("my_course").absolute()
my_course.os.execve = lambda *_: print("JupyterLab starts") or sys.exit(0)
sys.exit(my_course.main())
"""


@pytest.mark.parametrize("made", [False, True])
def test_a_read_only_folder_gives_one_line_and_opens_what_is_there(course, made):
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to other users
        shipped, folder = Path(place, "shipped"), Path(place, "folder")
        shutil.copytree(course[0], shipped)
        write(shipped, notebook("# start"), START)
        folder.mkdir()
        if made:
            update(shipped, folder / "my_course")
            new_version(shipped)
        for path in [Path(place), *Path(place).rglob("*")]:
            path.chmod((0o755 if path == Path(place) else 0o555) if path.is_dir() else 0o444)
        command = [sys.executable, "-c", READ_ONLY, str(shipped), str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        for path in folder.rglob("*"):
            path.chmod(0o755)
        if made:
            lines = done.stdout.splitlines()
            assert lines == [f"Not updated (Permission denied), and left as it is: {NAME}.", "JupyterLab starts"]
            assert sources(folder / "my_course") == ["# title", "a = 1", "print(a)"]
        else:
            assert done.returncode == 1
            (line,) = done.stderr.splitlines()
            assert "Permission denied" in line
            assert done.stdout == ""


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
    monkeypatch.setattr(my_course.units, "home", lambda: source)
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


def test_the_users_paths_stay(monkeypatch, tmp_path):
    ours = {"JUPYTER_CONFIG_PATH": my_course.SETTINGS, "JUPYTER_PATH": my_course.DATA}
    for name in ours:
        monkeypatch.setenv(name, "/somewhere")
    _, environment = my_course.lab(tmp_path)
    assert {name: environment[name].split(os.pathsep) for name in ours} == {
        name: [str(own), "/somewhere"] for name, own in ours.items()
    }


def test_the_extension_lies_where_jupyterlab_looks(monkeypatch, tmp_path):
    from jupyterlab_server.config import get_federated_extensions

    (found,) = get_federated_extensions([str(my_course.DATA / "labextensions")]).values()
    build = found["jupyterlab"]["_build"]
    assert (Path(found["ext_path"]) / build["load"]).is_file()
    assert build["extension"] == "./extension"


def test_the_course_command_works_in_a_terminal_of_jupyterlab(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.defpath)
    _, environment = my_course.lab(tmp_path)
    done = subprocess.run(
        ["sh", "-c", "command -v python; python -c 'import sys; print(sys.prefix)'"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [str(Path(sys.executable).parent / "python"), sys.prefix]
    assert environment["PATH"].endswith(os.defpath)


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
    monkeypatch.setattr(my_course.units, "home", lambda: tmp_path / "nowhere")
    assert main() == 1
    assert "make build" in capsys.readouterr().err


def test_in_a_checkout_the_copy_lies_in_it():
    assert my_course.units.home() == ROOT
    assert my_course.copy_folder() == ROOT / "my_course"


def test_from_a_wheel_the_copy_that_holds_the_current_folder_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(my_course.units, "checkout", lambda: None)
    assert my_course.units.home().name == "_shipped"
    monkeypatch.chdir(tmp_path)
    assert my_course.copy_folder() == tmp_path / "my_course"
    deep = tmp_path / "my_course" / "notebooks"
    deep.mkdir(parents=True)
    (tmp_path / "my_course" / ".course").mkdir()
    monkeypatch.chdir(deep)
    assert my_course.copy_folder() == tmp_path / "my_course"


# ---- From an installed wheel -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of a course that was installed from its wheel."""
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("installed")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder / "dist"), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.slow
def test_course_lab_from_a_wheel_makes_the_copy_and_serves_it_once(installed, tmp_path):
    folder, runtime = tmp_path / "fresh", tmp_path / "runtime"
    folder.mkdir()
    own = {"PYTHONPATH": str(installed), "JUPYTER_RUNTIME_DIR": str(runtime), "JUPYTER_TOKEN": "secret"}
    given = {key: value for key, value in os.environ.items() if not key.startswith(("COURSE_", "JUPYTER"))} | own
    command = [sys.executable, "-m", "course_lib", "lab", "--", "--no-browser", "--port=0"]
    log = tmp_path / "log"
    with open(log, "w") as output:
        server = subprocess.Popen(command, cwd=folder, env=given, stdout=output, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 90
        while not (info := [*runtime.glob("jpserver-*.json")] if runtime.is_dir() else []):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        copy = folder / "my_course"
        assert f"Your copy of the course is in {copy}." in log.read_text()
        said = "JupyterLab runs as root. It listens on localhost, which only this machine reaches, and lets in whoever"
        assert (said in log.read_text()) == (os.geteuid() == 0)
        shipped = {path.relative_to(ROOT) for top in my_course.SHIPPED for path in (ROOT / top).rglob("*.ipynb")}
        assert {name for name in shipped if not (copy / name).is_file()} == set()
        before = {path: path.stat().st_mtime_ns for path in copy.rglob("*.ipynb")}

        (copy / NAME.replace("q05_x", "00_start_here")).unlink()
        again = subprocess.run(command, cwd=copy / "exercises", env=given, capture_output=True, text=True, timeout=90)
        assert again.returncode == 0, again.stderr
        lines = again.stdout.splitlines()
        port = json.loads(info[0].read_text())["port"]
        assert f":{port}/lab?token=secret" in lines[0]
        assert "stop that JupyterLab" in lines[1]
        left = {path: path.stat().st_mtime_ns for path in copy.rglob("*.ipynb")}
        assert left.items() <= before.items()  # nothing was written under the open notebooks
    finally:
        server.terminate()
        server.wait(90)
    assert my_course.running(copy) is None


@pytest.mark.parametrize(
    ("address", "socket", "asks", "words"),
    [
        ("localhost", False, True, ["localhost, which only this machine reaches", "whoever has its token"]),
        ("0.0.0.0", False, True, ["0.0.0.0, which other machines may reach", "whoever has its token"]),
        ("", False, False, ["all addresses, which other machines may reach", "EVERYBODY"]),
        ("/run/lab.sock", True, True, ["/run/lab.sock, which only this machine reaches"]),
    ],
)
def test_what_root_is_told(address, socket, asks, words):
    line = lab_server.as_root(address, socket, asks)
    assert [word for word in words if word not in line] == []
    assert "\n" not in line


def test_a_server_that_is_gone_or_serves_another_folder_is_not_taken_for_ours(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    mine = {"pid": os.getpid(), "url": "http://localhost:9/", "token": "x", "root_dir": str(tmp_path / "my_course")}
    (tmp_path / "jpserver-1.json").write_text(json.dumps(mine))  # this process lives, and nobody listens on port 9
    assert my_course.running(tmp_path / "my_course") is None
    (tmp_path / "jpserver-2.json").write_text("{")
    assert my_course.running(tmp_path / "my_course") is None
