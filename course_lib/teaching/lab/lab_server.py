"""What `course lab` adds to the Jupyter server: the small messages of a kernel reach the page at once, and root is told
who can reach the server.

Tornado leaves Nagle's algorithm on for websockets, so a second small message waits for the browser's delayed
acknowledgement of the first: about 40 ms on Linux, in which a slider's picture stands still.
"""

import os

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

from course_lib.words import words

say = words(__file__)


class PromptConnection(ZMQChannelsWebsocketConnection):
    """The server's own connection between page and kernel, with Nagle's algorithm off."""

    def connect(self):
        self.websocket_handler.set_nodelay(True)
        return super().connect()


OF_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server) -> None:
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        print(as_root(server.sock or server.ip, bool(server.sock), server.identity_provider.auth_enabled), flush=True)


def as_root(address: str, socket: bool, asks: bool) -> str:
    """The line for root. address: what the server binds, a name or number, or a `socket` file; asks: for a token."""
    where = "here" if socket or address in OF_THIS_MACHINE else "everywhere" if address else "all-addresses"
    return say("as-root", where, "token" if asks else "anybody", address=address)
