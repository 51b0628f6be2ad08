"""What waits for what: kernels in a queue, stages in a row, requests before a server."""
