# SPDX-License-Identifier: Apache-2.0
"""What anemone downloads, huggingface_hub finds in the same cache, and the other way round."""
import hashlib
import http.server
import json
import os
import subprocess
import threading

import pytest
from huggingface_hub import scan_cache_dir, snapshot_download

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {"config.json": b'{"model_type": "qwen2"}', "tokenizer.json": b"{}", "model.safetensors": bytes(range(256)) * 2000}
LARGE = {"model.safetensors"}


def etag(name):
    data = FILES[name]
    if name in LARGE:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def send(self, body, headers=(), status=200):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        api = "/api/models/Owner/Model"
        siblings = [{"rfilename": name} for name in FILES]
        if path in (api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
            return self.send(json.dumps({"id": "Owner/Model", "sha": COMMIT, "siblings": siblings}).encode())
        if path == f"{api}/tree/{COMMIT}":
            entries = []
            for name, data in FILES.items():
                entry = {"type": "file", "path": name, "size": len(data), "oid": etag(name)}
                if name in LARGE:
                    entry |= {"oid": "0" * 40, "lfs": {"oid": etag(name), "size": len(data), "pointerSize": 134}}
                entries.append(entry)
            return self.send(json.dumps(entries).encode())
        for revision in (COMMIT, "main"):
            prefix = f"/Owner/Model/resolve/{revision}/"
            name = path.removeprefix(prefix)
            if path.startswith(prefix) and name in FILES:
                return self.send(FILES[name], [("ETag", f'"{etag(name)}"'), ("X-Repo-Commit", COMMIT)])
        return self.send(b"no", status=404)

    do_HEAD = do_GET


@pytest.fixture
def hub(monkeypatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def pull(hub, cache, offline=False):
    environment = os.environ | {"HF_ENDPOINT": hub, "HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1" if offline else "0"}
    done = subprocess.run([os.environ["ANEMONE"], "pull", "Owner/Model"], env=environment, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_hubs_tools_find_what_anemone_downloaded(hub, tmp_path):
    folder = pull(hub, tmp_path)
    assert snapshot_download("Owner/Model", cache_dir=tmp_path, local_files_only=True) == folder
    for name, data in FILES.items():
        with open(os.path.join(folder, name), "rb") as file:
            assert file.read() == data
    info = scan_cache_dir(tmp_path)
    assert not info.warnings
    (repo,) = info.repos
    (revision,) = repo.revisions
    assert repo.repo_id == "Owner/Model" and revision.commit_hash == COMMIT and revision.refs == {"main"}
    assert {file.file_name for file in revision.files} == set(FILES)


DOWNLOAD = "import sys; from huggingface_hub import snapshot_download; print(snapshot_download('Owner/Model', cache_dir=sys.argv[1]))"


def test_anemone_finds_what_the_hubs_tools_downloaded(hub, tmp_path):
    environment = os.environ | {"HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run([os.sys.executable, "-c", DOWNLOAD, tmp_path], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert pull(hub, tmp_path, offline=True) == done.stdout.strip()
    # Nothing is downloaded a second time: the contents have the same names.
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("blobs/*")}
    pull(hub, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("blobs/*")} == before
