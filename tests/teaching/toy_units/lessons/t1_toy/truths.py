def speed_up() -> float:
    return 1.048


def bytes() -> float:
    return 0.5


def share() -> float:
    return 40


def zeros() -> str:
    return "same"


def raises() -> float:
    raise RuntimeError("no profile of this machine: run `course doctor`\nand a second line")


def not_a_number() -> float:
    return float("nan")


def rows(m, n) -> float:
    return 1 + m / n


def pick(n) -> str:
    return "square" if n**2 > 2**n else "power"


def new_device() -> float:
    return 15
