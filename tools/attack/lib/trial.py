# SPDX-License-Identifier: Apache-2.0
"""What a case works with: a folder of its own, the program, the servers, and the settings of the run."""

import fnmatch
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time

from . import process
from .case import Failure
from .server import Server

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))


class Settings:
    """The run as a whole. Models are made once, when the first case asks for them."""

    def __init__(self, options):
        self.anemone = os.path.abspath(options.anemone)
        self.patience = 6.0 if options.sanitized else 1.0
        self.memory = 4 if options.sanitized else 1
        self.seconds = 5.0 * self.patience
        self.seed = options.seed
        self.folder = tempfile.mkdtemp(prefix="anemone-attack-")
        self.lock = threading.Lock()
        self.artifacts = {}
        self.servers = {}
        self.worst_health = 0.0
        self.worst_stop = 0.0

    def compile_once(self, name, checkpoint, *flags):
        with self.lock:
            if name not in self.artifacts:
                out = os.path.join(self.folder, f"{name}.anemone")
                words = [self.anemone, "compile", checkpoint, "-o", out, *flags]
                done = subprocess.run(words, env=process.environment(self.folder), capture_output=True, check=False)
                if done.returncode != 0:
                    raise Failure(f"cannot compile {checkpoint}: {process.shown(done.stderr)}")
                self.artifacts[name] = out
            return self.artifacts[name]

    def pocket(self):
        return self.compile_once("pocket", checkpoint_of("pocket"))

    def tiny(self):
        return self.compile_once("tiny", checkpoint_of("tiny"), "--quant-threshold", "0")

    def shared_server(self, name, flags, **more):
        """One server for all cases that leave it well. Only for cases that take turns."""
        server = self.servers.get(name)
        if server is None or not server.is_running():
            server = self.servers[name] = Server(self, flags, **more)
        return server

    def drop_server(self, name):
        server = self.servers.pop(name, None)
        if server is not None:
            self.worst_health = max(self.worst_health, server.worst_health)
            server.discard()

    def close(self):
        for name in list(self.servers):
            self.drop_server(name)
        shutil.rmtree(self.folder, ignore_errors=True)


def checkpoint_of(name):
    return os.path.join(ROOT, {"pocket": "models/pocket/checkpoint", "tiny": "tests/compiler/data/tiny/qwen2"}[name])


class Trial:
    """One run of one case."""

    def __init__(self, settings, case):
        self.settings = settings
        self.case = case
        self.seconds = case.seconds * settings.patience
        self.bytes = case.bytes * settings.memory
        self.folder = tempfile.mkdtemp(prefix="case-", dir=settings.folder)
        self.random = random.Random(f"{settings.seed} {case.name}")
        self.slowest = 0.0
        self.peak = 0
        self.used = []  # the shared servers of this case, by name
        self.own = []
        self.begin = time.monotonic()

    # --- files

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def copy(self, source, name):
        """A folder of files that may be changed."""
        target = self.path(name)
        shutil.copytree(source, target)
        for folder, _, files in os.walk(target):
            for each in [folder, *(os.path.join(folder, file) for file in files)]:
                os.chmod(each, 0o700)
        return target

    def names(self, name="."):
        return sorted(os.listdir(self.path(name)))

    def tree(self, name="."):
        """Every path under a folder with what is in it."""
        out = {}
        for folder, folders, files in os.walk(self.path(name)):
            for each in folders + files:
                path = os.path.join(folder, each)
                key = os.path.relpath(path, self.path(name))
                if os.path.islink(path):
                    out[key] = ("link", os.readlink(path))
                elif os.path.isfile(path):
                    with open(path, "rb") as file:
                        out[key] = ("file", file.read())
                else:
                    out[key] = ("other", None)
        return out

    # --- the program

    def run(self, *words, stdin=b"", extra=None, limits=None, name="io"):
        outcome = process.run(
            [self.settings.anemone, *words],
            self.folder,
            self.seconds,
            self.bytes,
            stdin if isinstance(stdin, bytes) else stdin.encode(),
            extra,
            limits,
            name,
        )
        self.slowest = max(self.slowest, outcome.seconds)
        self.peak = max(self.peak, outcome.peak)
        return outcome

    def start(self, *words, **more):
        """Runs beside the case; ended with it."""
        started = process.start([self.settings.anemone, *words], self.folder, **more)
        self.own.append(started)
        return started

    def pocket(self):
        return self.settings.pocket()

    def tiny(self):
        return self.settings.tiny()

    # --- servers

    def server(self, name="plain", flags=("--parallel", "2", "--queue", "8"), **more):
        server = self.settings.shared_server(name, flags, **more)
        self.used.append((name, server))  # first, so that one that is not well ends with this case
        if server.quiet is None:
            server.check_well()
        process.reset_peak(server.pid)
        self.begin = time.monotonic()
        return server

    def own_server(self, flags=("--parallel", "2", "--queue", "8"), **more):
        """A server that ends with the case. It has had no request but those of its monitor: some cases count requests,
        or allow them only with a key or in TLS. A case that compares answers calls check_well() first."""
        server = Server(self.settings, flags, **more)
        self.own.append(server)
        return server

    def finish(self):
        """After a case that held: what the servers did meanwhile, and whether they are as before."""
        for _, server in self.used:
            server.check_health(self.begin)
            server.check_well()
            self.peak = max(self.peak, process.peak_bytes(server.pid))
        if self.peak > self.bytes:
            raise Failure(f"expected at most {self.bytes / 1e9:.1f} GB of memory, took {self.peak / 1e9:.1f} GB")

    def clean_up(self, held):
        for name, server in self.used:
            if not held:
                self.settings.drop_server(name)
            self.settings.worst_health = max(self.settings.worst_health, server.worst_health)
        for each in self.own:
            if isinstance(each, Server):
                self.settings.worst_health = max(self.settings.worst_health, each.worst_health)
                each.discard()
            elif each.poll() is None:
                each.kill()
                each.wait()
        for folder, folders, _ in os.walk(self.folder):
            for each in folders:
                if not os.path.islink(os.path.join(folder, each)):
                    os.chmod(os.path.join(folder, each), 0o700)
        shutil.rmtree(self.folder, ignore_errors=True)


def matches(name, patterns):
    return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
