# SPDX-License-Identifier: Apache-2.0
"""The command line: chooses cases, runs them, reports."""

import argparse
import json
import os
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import cases as case_modules

from .case import CASES, Failure, Skip, Slow
from .trial import ROOT, Settings, Trial, matches


def parse(words):
    parser = argparse.ArgumentParser(
        prog="tools/attack/run", description=__doc__, epilog="Exit code: 0 all cases held, 1 some did not, 2 usage."
    )
    parser.add_argument(
        "--anemone",
        default=os.path.join(ROOT, "build", "dev", "anemone"),
        metavar="PATH",
        help="the program to attack (default: build/dev/anemone)",
    )
    parser.add_argument("--filter", action="append", default=[], metavar="GLOB", help="cases by name (repeatable)")
    parser.add_argument("--list", action="store_true", help="print names and reasons, run nothing")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time; those on servers take turns (default: 2)")
    parser.add_argument("--json", metavar="FILE", help="write every result with its measures")
    parser.add_argument("--seed", type=int, default=1, help="of the cases that draw (default: 1)")
    parser.add_argument(
        "--sanitized",
        action="store_true",
        help="the program is built with sanitizers: six times the time, four times the memory",
    )
    parser.add_argument("--verbose", action="store_true", help="name every case when it ends")
    return parser.parse_args(words)


def attempt(settings, case):
    """(verdict, text, trial) of one run."""
    trial = Trial(settings, case)
    verdict, text = "passed", ""
    try:
        case.body(trial)
        trial.finish()
    except Skip as skip:
        verdict, text = "skipped", str(skip)
    except Slow as slow:
        verdict, text = "slow", str(slow)
    except Failure as failure:
        verdict, text = "failed", str(failure)
    except Exception:  # a fault of the case itself is one of its failures, and the others go on
        verdict, text = "failed", "the case itself broke: " + traceback.format_exc(limit=-3).replace("\n", " | ")
    finally:
        trial.clean_up(verdict == "passed")
    return verdict, text, trial


def judge(settings, case, before=None):
    """The result of one run; `before` is that of a run that was too slow, and both times are shown."""
    begin = time.monotonic()
    verdict, text, trial = attempt(settings, case)
    if before is not None and verdict in ("slow", "failed"):
        verdict, text = "failed", f"{before['text']}; again: {text}"
    return {
        "name": case.name,
        "reason": case.reason,
        "verdict": verdict,
        "text": text,
        "tries": 1 if before is None else 2,
        "seconds": round(time.monotonic() - begin, 3),
        "slowest_process_seconds": round(trial.slowest, 3),
        "peak_bytes": trial.peak,
    }


class Progress:
    def __init__(self, total, is_verbose):
        self.total, self.done, self.is_verbose, self.lock = total, 0, is_verbose, threading.Lock()
        self.is_terminal = sys.stderr.isatty()

    def show(self, result):
        with self.lock:
            self.done += 1
            if self.is_verbose or result["verdict"] == "failed":
                print(
                    f"{result['verdict']:>7} {result['seconds']:6.2f} s  {result['name']}"
                    + (f": {result['text']}" if result["text"] else ""),
                    flush=True,
                )
            elif self.is_terminal:
                print(f"\r{self.done} of {self.total}", end="\r", file=sys.stderr, flush=True)


def run_cases(settings, chosen, options):
    progress = Progress(len(chosen), options.verbose)
    results = []

    slow = []

    def work(some):
        for case in some:
            result = judge(settings, case)
            if result["verdict"] == "slow":
                slow.append((case, result))
                continue
            progress.show(result)
            results.append(result)

    in_turns = [case for case in chosen if case.on_server]
    free = [case for case in chosen if not case.on_server]
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        futures = [pool.submit(work, in_turns)] + [pool.submit(work, [case]) for case in free]
        for future in futures:
            future.result()
    # Time alone: another case may have been the reason, so these run again when no other does.
    for case, before in slow:
        result = judge(settings, case, before)
        progress.show(result)
        results.append(result)
    return sorted(results, key=lambda result: result["name"])


def report(settings, results, seconds):
    failed = [result for result in results if result["verdict"] == "failed"]
    skipped = [result for result in results if result["verdict"] == "skipped"]
    if failed:
        width = max(len(result["name"]) for result in failed)
        print("\nWhat did not hold:")
        for result in failed:
            print(f"  {result['name']:<{width}}  {result['text'][:400]}\n  {'':<{width}}  ({result['reason']})")
    for result in skipped:
        print(f"skipped {result['name']}: {result['text']}")
    again = [result["name"] for result in results if result["tries"] > 1 and result["verdict"] == "passed"]
    if again:
        print(f"too slow at first, in time when run again: {', '.join(again)}")
    slowest = max(results, key=lambda result: result["slowest_process_seconds"], default=None)
    largest = max(results, key=lambda result: result["peak_bytes"], default=None)
    if slowest:
        print(
            f"\nslowest process {slowest['slowest_process_seconds']:.2f} s ({slowest['name']}), largest "
            f"{largest['peak_bytes'] / 1e6:.0f} MB ({largest['name']}), slowest /health "
            f"{1000 * settings.worst_health:.0f} ms, slowest end after a signal {settings.worst_stop:.1f} s, "
            f"{seconds:.0f} s in all"
        )
    passed = len(results) - len(failed) - len(skipped)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0


def main(words):
    options = parse(words)
    case_modules.load_all()
    chosen = [case for case in CASES if matches(case.name, options.filter)]
    if options.list:
        for case in chosen:
            print(f"{case.name}\t{case.reason}" + (f" [{case.why}]" if case.why else ""))
        print(f"{len(chosen)} cases", file=sys.stderr)
        return 0
    if not os.access(options.anemone, os.X_OK):
        print(f"attack: [{options.anemone}] expected a program (see --anemone)", file=sys.stderr)
        return 2
    if not chosen:
        print("attack: expected cases, none has such a name (see --list)", file=sys.stderr)
        return 2
    settings = Settings(options)
    begin = time.monotonic()
    try:
        results = run_cases(settings, chosen, options)
        code = report(settings, results, time.monotonic() - begin)
    finally:
        settings.close()
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return code
