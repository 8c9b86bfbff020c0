"""Servers that the tests write themselves, for what a real one does not do: hub.py, cloud.py."""

import contextlib
import http.server
import re
import ssl
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers for `given`, which serve() was given with it."""

    protocol_version = "HTTP/1.1"
    given = None

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_range(self, data, status=206):
        """The part that was asked for."""
        first, last = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers["Range"]).groups()
        first, last = ((int(first), int(last or len(data) - 1)) if first else
                       (max(0, len(data) - int(last)), len(data) - 1))
        part = data[first:last + 1]
        self.answer(status, part, ETag='"1"',
                    Content_Range=f"bytes {first}-{first + len(part) - 1}/{len(data)}")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


@contextlib.contextmanager
def serve(handler, given, address=("127.0.0.1", 0), tls=None):
    """The URL of a server, which ends with the block. `tls` is its certificate and key."""
    server = Server(address, type(handler.__name__, (handler,), {"given": given}))
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))  # looks for its end
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://{address[0]}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
