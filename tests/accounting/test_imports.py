"""The calculators need nothing but a bare interpreter, and read their catalogues only when asked."""

import subprocess
import sys

LOADED = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def modules_after(code: str) -> set[str]:
    run = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_everything_loads_the_standard_library_only():
    extra = modules_after(
        "from course_lib.accounting import flops, hardware, models, precision, roofline, units"
    ) - modules_after("pass")
    assert extra <= sys.stdlib_module_names | {"course_lib", "org"}  # copy tries "org.python", for Jython
    assert not extra & {"tomllib", "json", "html", "fractions", "decimal", "pathlib", "difflib", "typing", "asyncio"}
