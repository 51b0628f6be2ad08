"""Reading the catalogues that lie beside the modules."""

from functools import cache


@cache
def read(name: str) -> dict:
    """The content of the TOML file `name` of this folder. (`importlib.resources` would cost more than the parsing.)"""
    import os
    import tomllib  # read on first use: importing the calculators stays cheap

    with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
        return tomllib.load(file)
