"""What `course lab` adds to the Jupyter server: the small messages of a kernel reach the page at once.

Tornado leaves Nagle's algorithm on for websockets, so a second small message waits for the browser's delayed
acknowledgement of the first: about 40 ms on Linux, in which a slider's picture stands still.
"""

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection


class PromptConnection(ZMQChannelsWebsocketConnection):
    """The server's own connection between page and kernel, with Nagle's algorithm off."""

    def connect(self):
        self.websocket_handler.set_nodelay(True)
        return super().connect()
