"""What `import course_lib` and every calculator cost above a bare interpreter: CPU milliseconds and resident megabytes.

Run `python benchmarks/import_cost.py`. Median of ten cold interpreters each, after one that is not counted (it writes
the byte code); the budget is 50 ms and 30 MB. Linux and macOS.
"""

import os
import pkgutil
import statistics
import sys

import course_lib.accounting

RUNS = 10
MODULES = sorted(module.name for module in pkgutil.iter_modules(course_lib.accounting.__path__))
IMPORT_ALL = "import course_lib; " + "; ".join(f"import course_lib.accounting.{module}" for module in MODULES)
ONE_ANSWER = (
    "a = course_lib.accounting; a.roofline.ridge_point('h100-sxm', 'bf16'); a.flops.forward(a.models.load('gpt2'))"
)
CASES = {
    "bare interpreter": "pass",
    "course_lib and all of accounting": IMPORT_ALL,
    "the same and one answer": f"{IMPORT_ALL}; {ONE_ANSWER}",
}


def cold_run(code: str) -> tuple[float, float]:
    """(CPU ms, peak resident MB) of a fresh interpreter that runs `code`."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = os.posix_spawn(sys.executable, [sys.executable, "-c", code], environment)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"The interpreter failed on: {code}")
    units_per_megabyte = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # macOS reports bytes, Linux KiB
    return 1000 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss / units_per_megabyte


def main() -> None:
    print(f"{'':34} CPU ms      MB   above bare: CPU ms      MB")
    bare = None
    for label, code in CASES.items():
        cold_run(code)
        runs = [cold_run(code) for _ in range(RUNS)]
        cpu, memory = (statistics.median(values) for values in zip(*runs, strict=True))
        bare = bare or (cpu, memory)
        print(f"{label:34} {cpu:6.1f} {memory:7.1f} {cpu - bare[0]:19.1f} {memory - bare[1]:7.1f}")


if __name__ == "__main__":
    main()
