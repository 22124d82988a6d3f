# SPDX-License-Identifier: Apache-2.0
"""Outputs that are told to go where the model of the command lies, or to one place."""

import os

from lib import process
from lib.case import case, expect
from lib.process import refused

IDS = ("--prompt-ids", "1 2 3", "--max-new", "4", "--ignore-eos", "--greedy")
READ = "No output replaces a file that the command reads, or lies beside those of a model."
for name, words, place in (
    ("logits-on-manifest", ("run", "{}", *IDS, "--logits-out"), "manifest.json"),
    ("logits-on-tokenizer", ("run", "{}", *IDS, "--logits-out"), "tokenizer.json"),
    ("logits-beside", ("run", "{}", *IDS, "--logits-out"), "new"),
    ("plot-beside", ("bench", "{}", "--plot"), "new.svg"),
    ("ready-file-beside", ("serve", "{}", "--port", "0", "--ready-file"), "new"),
):

    @case(f"output/{name}", READ)
    def on_model(trial, words=words, place=place):
        folder = trial.copy(trial.tiny(), "model")
        os.symlink("model", trial.path("link"))
        before = trial.tree("model")
        for way in ("model", "link"):
            refused(trial.run(*(word.format(folder) for word in words), trial.path(way, place)))
        expect(trial.tree("model") == before, "the model is not what it was")


@case("output/predict-on-package", READ)
def predict_on_package(trial):
    folder = trial.copy(trial.tiny(), "model")
    package = os.path.join(folder, "head_0.mlpackage")
    weights = os.path.join(package, "Data", "com.apple.CoreML", "weights", "weight.bin")
    inputs = trial.write("in", b"x")
    before = trial.tree("model")
    out = trial.path("out")
    for more in (("--outputs", weights), ("--outputs", out, "--state-out", weights)):
        refused(trial.run("predict", package, "--inputs", inputs, *more), 2)
    for state in (out, trial.path(".", "out")):
        done = refused(trial.run("predict", package, "--inputs", inputs, "--outputs", out, "--state-out", state), 2)
        expect(b"two flags name this file" in done.err, f"got {process.shown(done.err)}")
    expect(trial.tree("model") == before, "the package is not what it was")
