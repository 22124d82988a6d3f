# SPDX-License-Identifier: Apache-2.0
"""The binary under test, as Python functions."""

import json
import subprocess

import numpy as np
from safetensors.numpy import load_file, save_file


class AnemoneError(AssertionError):
    """The binary refused; the text is its exit code and what it said."""


class Anemone:
    def __init__(self, path, *options):
        self.path = path
        self.options = options

    def reference(self):
        """The same, with every operation by its reference kernel."""
        return Anemone(self.path, "--isa", "reference")

    def __call__(self, *arguments):
        done = subprocess.run([self.path, "--threads", "2", *self.options, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120)
        if done.returncode != 0:
            raise AnemoneError(f"anemone {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def check(self, package, *options):
        """The exit code of `check`, which is 1 where a law is broken, and its report."""
        done = subprocess.run([self.path, "check", "--json", *options, str(package)], capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 1):
            raise AnemoneError(f"anemone check {package}: exit {done.returncode}: {done.stderr}")
        return done.returncode, json.loads(done.stdout)

    def inspect(self, package):
        """What `inspect --strict --json` says, after the text forms and `check` worked, too."""
        assert self.check(package)
        assert self("inspect", package)
        assert "program" in self("inspect", "--mil", package)
        return json.loads(self("inspect", "--strict", "--json", package))

    def predict(self, package, inputs, folder, function=None, states=None):
        """Outputs by name; with `states` (a dictionary that is changed in place, empty at first) a stateful step."""
        save_file({name: np.ascontiguousarray(array) for name, array in inputs.items()}, folder / "in.safetensors")
        arguments = ["predict", package, "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors"]
        if function is not None:
            arguments += ["--function", function]
        if states is not None:
            if states:
                save_file(states, folder / "state-in.safetensors")
                arguments += ["--state-in", folder / "state-in.safetensors"]
            arguments += ["--state-out", folder / "state-out.safetensors"]
        self(*arguments)
        if states is not None:
            states.clear()
            states.update(load_file(folder / "state-out.safetensors"))
        return load_file(folder / "out.safetensors")
