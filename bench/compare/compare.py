#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""anemone and llama.cpp in turn, on the same random weights of the shape of Qwen2.5-0.5B.

    compare.py [--work DIR] [--anemone FILE] [--llama DIR] [--rounds 5] [--threads 2] [--only NAME,...] [--json FILE]

Makes what is missing below --work: llama.cpp's tools, the weights as GGUF and as a checkpoint, the compiled models.
Each round runs every test by both engines, one right after the other, in alternating order; what counts is the median
of the rounds' ratios, which what else runs on the machine disturbs least.
"""
import argparse
import array
import json
import math
import os
import platform
import statistics
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(os.environ.get("ANEMONE_SHARED") or ROOT.parent / "shared") / "tools/peers"
CONTEXT = 2304  # holds the deepest test: 2048 tokens and 64 more
STEPS = 64

# name: (our model, the peer's model, what is run)
TESTS = {
    "decode int8 / Q8_0": ("int8", "Q8_0", "decode"),
    "decode lut4 / Q4_0": ("lut4", "Q4_0", "decode"),
    "decode int4-block / Q4_0": ("int4-block", "Q4_0", "decode"),
    "prefill 512 int8 / Q8_0": ("int8", "Q8_0", "prefill"),
    "8 streams int8 / Q8_0": ("int8", "Q8_0", "streams"),
    "decode at 2048 int8 / Q8_0": ("int8", "Q8_0", "depth"),
}


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        sys.exit(f"compare: {command[0]} ended with code {done.returncode}: {lines[-1]}")
    return done.stdout


class Bench:
    def __init__(self, options):
        self.work = Path(options.work)
        self.anemone = Path(options.anemone)
        self.llama = Path(options.llama) if options.llama else self.work / "llama"
        self.threads = str(options.threads)

    def prepare(self, tests):
        self.work.mkdir(parents=True, exist_ok=True)
        if not self.anemone.is_file():
            sys.exit(f"compare: [{self.anemone}] expected the anemone executable (--anemone), got no file")
        if not (self.llama / "bin/llama-bench").is_file():
            say("building llama.cpp (some minutes)")
            run(["bash", PEERS / "build-llama-cpp.sh", self.llama])
        hf = self.work / "hf"
        if not (hf / "model.safetensors").is_file():
            say("writing the checkpoint")
            run([self.python(), PEERS / "make-hf.py", hf])
        for form in sorted({TESTS[name][1] for name in tests}):
            if not self.gguf(form).is_file():
                say(f"writing {self.gguf(form).name}")
                run([self.python(), PEERS / "make-gguf.py", self.gguf(form), "--type", form])
        for scheme in sorted({TESTS[name][0] for name in tests}):
            if not (self.artifact(scheme) / "manifest.json").is_file():
                say(f"compiling {scheme}")
                run([self.anemone, "compile", hf, "-o", self.artifact(scheme), "--quant", scheme,
                     "--context", CONTEXT])
            self.check(scheme)

    # numpy and gguf are for making weights only.
    def python(self):
        venv = self.work / "venv"
        if not (venv / "ready").is_file():
            say("installing numpy and gguf")
            run([sys.executable, "-m", "venv", venv])
            run([venv / "bin/pip", "install", "-q", "numpy", "gguf"])
            (venv / "ready").touch()
        return venv / "bin/python"

    def gguf(self, form):
        return self.work / f"{form}.gguf"

    def artifact(self, scheme):
        return self.work / f"{scheme}.anemone"

    # What is timed must be right: the fast path against plain loops over the same packages.
    def check(self, scheme):
        logits = []
        for isa in ("fast", "plain"):
            path = self.work / f"{isa}.safetensors"
            command = [self.anemone, "run", self.artifact(scheme), "--prompt-ids", "11 222 3333 44444 5 66",
                       "--max-new", "0", "--logits-out", path]
            run(command + (["--isa", "plain"] if isa == "plain" else []))
            logits.append(read_logits(path))
            path.unlink()
        cosine = lowest_cosine(*logits)
        say(f"{scheme}: lowest cosine of the logits to those of plain loops {cosine:.6f}")
        if not cosine > 0.999:
            sys.exit(f"compare: expected logits of {scheme} with a cosine above 0.999, got {cosine:.6f}")

    def ours(self, scheme, what):
        flags = {"decode": ["--prefill", 0, "--decode", STEPS],
                 "prefill": ["--prefill", 512, "--decode", 0],
                 "streams": ["--prefill", 0, "--decode", STEPS, "--streams", 8],
                 "depth": ["--prefill", 0, "--decode", STEPS, "--depth", 2048]}[what]
        records = json.loads(run([self.anemone, "bench", self.artifact(scheme), "--threads", self.threads,
                                  "--reps", 2, "--json", *flags]))
        return records[-1]["tok_s"]

    def theirs(self, form, what):
        model = self.gguf(form)
        if what == "streams":
            text = run([self.llama / "bin/llama-batched-bench", "-m", model, "-c", 2048, "-b", 2048, "-t",
                        self.threads, "-tb", self.threads, "-npp", 16, "-ntg", STEPS, "-npl", 8,
                        "--output-format", "jsonl"])
            return [json.loads(line) for line in text.splitlines() if line.startswith("{")][-1]["speed_tg"]
        flags = {"decode": ["-p", 0, "-n", STEPS], "prefill": ["-p", 512, "-n", 0],
                 "depth": ["-p", 0, "-n", STEPS, "-d", 2048]}[what]
        records = json.loads(run([self.llama / "bin/llama-bench", "-m", model, "-t", self.threads, "-r", 2, "-o",
                                  "json", *flags]))
        return records[-1]["avg_ts"]


def read_logits(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    entry = json.loads(data[8:8 + length])["logits"]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    values = array.array("f", data[begin:end])
    columns = entry["shape"][1]
    return [values[i:i + columns] for i in range(0, len(values), columns)]


def lowest_cosine(rows, others):
    def dot(a, b):
        return math.fsum(x * y for x, y in zip(a, b))
    return min(dot(a, b) / math.sqrt(dot(a, a) * dot(b, b)) for a, b in zip(rows, others))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", default=Path.home() / ".cache/anemone/compare", help="where weights and tools are kept")
    parser.add_argument("--anemone", default=ROOT / "build/release/anemone")
    parser.add_argument("--llama", help="folder with bin/llama-bench (default: built below --work)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
                        else os.cpu_count())
    parser.add_argument("--only", help="tests whose name has one of these words, with commas")
    parser.add_argument("--json", help="also write all figures to this file")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: expected at least 1")
    tests = [name for name in TESTS if not options.only or any(word in name for word in options.only.split(","))]
    if not tests:
        parser.error(f"--only: expected a word of {', '.join(TESTS)}")

    bench = Bench(options)
    bench.prepare(tests)
    figures = {name: [] for name in tests}
    for round_number in range(options.rounds):
        for name in tests:
            scheme, form, what = TESTS[name]
            engines = [("ours", lambda: bench.ours(scheme, what)), ("theirs", lambda: bench.theirs(form, what))]
            if round_number % 2:
                engines.reverse()
            pair = {key: measure() for key, measure in engines}
            figures[name].append(pair)
            say(f"round {round_number + 1}: {name}: {pair['ours']:.1f} against {pair['theirs']:.1f} tok/s")

    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, {options.rounds} rounds, load "
          f"average {os.getloadavg()[0]:.1f}")
    print(f"{'test':28} {'anemone':>9} {'llama.cpp':>9} {'ratio':>6}  of the rounds")
    for name, pairs in figures.items():
        ratios = sorted(pair["ours"] / pair["theirs"] for pair in pairs)
        print(f"{name:28} {statistics.median(p['ours'] for p in pairs):9.1f} "
              f"{statistics.median(p['theirs'] for p in pairs):9.1f} {statistics.median(ratios):6.2f}  "
              f"{ratios[0]:.2f} to {ratios[-1]:.2f}")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
