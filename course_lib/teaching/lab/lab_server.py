"""What `course lab` adds to the Jupyter server: the small messages of a kernel reach the page at once, and root is told
who can reach the server.

Tornado leaves Nagle's algorithm on for websockets, so a second small message waits for the browser's delayed
acknowledgement of the first: about 40 ms on Linux, in which a slider's picture stands still.
"""

import os

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection


class PromptConnection(ZMQChannelsWebsocketConnection):
    """The server's own connection between page and kernel, with Nagle's algorithm off."""

    def connect(self):
        self.websocket_handler.set_nodelay(True)
        return super().connect()


# One line for whoever runs the course as root, as every container does: what is bound, and who gets in.
AS_ROOT = "JupyterLab runs as root. It listens on {where}, and lets in {who}, who can then do what root can."
WHERE = {
    "here": "{address}, which only this machine reaches",
    "everywhere": "{address}, which other machines may reach",
}
WHO = {"token": "whoever has its token", "anybody": "EVERYBODY, for it asks for no token"}
OF_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server) -> None:
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        print(as_root(server.sock or server.ip, bool(server.sock), server.identity_provider.auth_enabled), flush=True)


def as_root(address: str, socket: bool, asks: bool) -> str:
    """The line for root. address: what the server binds, a name or number, or a `socket` file; asks: for a token."""
    where = WHERE["here" if socket or address in OF_THIS_MACHINE else "everywhere"]
    return AS_ROOT.format(
        where=where.format(address=address or "all addresses"), who=WHO["token" if asks else "anybody"]
    )
