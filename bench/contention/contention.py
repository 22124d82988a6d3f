#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of its decoding speed the engine keeps while another program computes on one core.

    contention.py MODEL_DIR [--anemone FILE] [--rounds 5] [--steps 64] [--busy 1]

Decodes with all cores, in turn alone and beside programs that do nothing but compute, each bound to a core. With half
of two cores left, half of the speed would be fair.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cores():
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def decode(options, threads):
    command = [str(options.anemone), "bench", options.model, "--prefill", "0", "--decode", str(options.steps), "--threads",
               str(threads), "--reps", "3", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"contention: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    return json.loads(done.stdout)[-1]["tok_s"]


class Busy:
    """Processes that use one core each, for as long as a with block."""

    def __init__(self, count):
        self.targets = cores()[:count]
        self.processes = []

    def __enter__(self):
        for core in self.targets:
            bind = f"os.sched_setaffinity(0, {{{core}}})" if hasattr(os, "sched_setaffinity") else "pass"
            self.processes.append(subprocess.Popen([sys.executable, "-c", f"import os\n{bind}\nwhile True: pass"]))
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--anemone", default=ROOT / "build/release/anemone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--busy", type=int, default=1, help="cores that are taken")
    options = parser.parse_args()
    threads = len(cores())
    if options.rounds < 1 or not 1 <= options.busy <= threads:
        parser.error(f"expected --rounds of at least 1 and --busy from 1 to {threads}")
    shares = []
    for number in range(options.rounds):
        alone = decode(options, threads)
        with Busy(options.busy):
            beside = decode(options, threads)
        shares.append(beside / alone)
        print(f"round {number + 1}: {alone:.1f} tok/s alone, {beside:.1f} beside {options.busy} busy: "
              f"{100 * shares[-1]:.0f} %", flush=True)
    shares.sort()
    print(f"share of the speed of {threads} cores: median {100 * statistics.median(shares):.0f} %, "
          f"{100 * shares[0]:.0f} to {100 * shares[-1]:.0f} %")


if __name__ == "__main__":
    main()
