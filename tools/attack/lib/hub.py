# SPDX-License-Identifier: Apache-2.0
"""A false hub on this machine: what it says is up to the case."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "/Owner/Model"


def blob_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Hub:
    """Files by path. `answers`: {part of a path: function(handler) that answers instead}."""

    def __init__(self, files=None, answers=None):
        self.files = (
            {"config.json": b'{"model_type":"qwen2"}', "model.safetensors": bytes(range(256)) * 400}
            if files is None
            else files
        )
        self.answers = answers or {}
        self.seen = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # head and body in one piece: else each answer waits for an acknowledgement

            def do_GET(self):
                hub.seen.append((self.path, dict(self.headers)))
                try:
                    for part, answer in hub.answers.items():
                        if part in self.path and answer(self) is not False:
                            return
                    hub.usual(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):  # clients that leave in the middle are what some cases are about
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def entry(self, path, **more):
        content = self.files[path]
        out = {"type": "file", "path": path, "size": len(content), "oid": blob_hash(content)}
        if path.endswith((".safetensors", ".gguf")):
            out["lfs"] = {"oid": sha256(content), "size": len(content), "pointerSize": 134}
        return {**out, **more}

    def listing(self):
        return [self.entry(path) for path in sorted(self.files)]

    def usual(self, handler):
        path = handler.path
        if path.startswith(f"/api/models{REPO}/revision/"):
            return send_json(handler, {"sha": COMMIT})
        if path.startswith(f"/api/models{REPO}/tree/"):
            return send_json(handler, self.listing())
        prefix = f"{REPO}/resolve/{COMMIT}/"
        if path.startswith(prefix) and path[len(prefix) :] in self.files:
            return self.content(handler, self.files[path[len(prefix) :]])
        return send(handler, 404, b"not found")

    @staticmethod
    def content(handler, content):
        asked = handler.headers.get("Range")
        if not asked:
            return send(handler, 200, content)
        begin = int(asked.split("=")[1].split("-")[0])
        if begin >= len(content):
            return send(handler, 416, b"")
        return send(
            handler, 206, content[begin:], {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
        )


def send(handler, status, body, headers=None):
    handler.send_response(status)
    for key, value in (headers or {}).items():
        handler.send_header(key, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def send_json(handler, value, headers=None):
    send(handler, 200, value if isinstance(value, bytes) else json.dumps(value).encode(), headers)


def endless(handler, block=b" " * 65536, most=400_000_000, status=200):
    """A body without an end; bounded, should nobody hang up."""
    handler.send_response(status)
    handler.send_header("Connection", "close")
    handler.end_headers()
    for _ in range(most // len(block)):
        handler.wfile.write(block)
    handler.close_connection = True
