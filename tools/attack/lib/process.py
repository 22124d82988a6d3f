# SPDX-License-Identifier: Apache-2.0
"""Runs the program under attack and watches its time and memory.

Memory is read as the resident set of the process: an address-space limit would count mapped files, which cost nothing.
"""

import os
import re
import resource
import signal
import subprocess
import time
from dataclasses import dataclass

from .case import Failure, Slow

SANITIZER = re.compile(rb"Sanitizer|runtime error: ")


def peak_bytes(pid):
    """The largest resident set so far, 0 when the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def heap_bytes(pid):
    """What of the resident set is no file, 0 when the process is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def reset_peak(pid):
    try:
        with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as refs:
            refs.write("5")
    except OSError:
        pass


def machine_waits(pid):
    """For each thread, how many seconds it was ready to run and others had the processor."""
    waits = {}
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                waits[task] = int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        pass
    return waits


def machine_wait(before, after):
    """What a busy machine, and not the program, added to its time: the longest wait of a thread."""
    return max((seconds - before.get(task, 0.0) for task, seconds in after.items()), default=0.0)


def load_factor():
    """Runnable threads per processor (load average), at least 1. It only stretches how long a case waits before it
    gives up."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def environment(folder, extra=None):
    """Nothing of the caller's settings reaches the program: no caches, no tokens, no proxies."""
    out = {
        "PATH": "/usr/bin:/bin",
        "HOME": os.path.join(folder, "home"),
        "LANG": "C.UTF-8",
        "ANEMONE_CACHE": os.path.join(folder, "cache"),
        "TMPDIR": folder,
        "HF_HUB_OFFLINE": "1",
        # A load of more than five seconds says so on stderr, where a case expects its error alone.
        "ANEMONE_PROGRESS": "off",
        "ANEMONE_FSYNC": "off",
        # Freed memory goes back to the system soon, as without a sanitizer.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:abort_on_error=1:quarantine_size_mb=64"
        ":allocator_release_to_os_interval_ms=100",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    out.update(extra or {})
    return {key: value for key, value in out.items() if value is not None}


@dataclass
class Outcome:
    words: list
    code: int  # negative: minus the signal
    out: bytes
    err: bytes
    seconds: float
    peak: int

    def check_alive(self):
        """No signal, no internal error, no report of a sanitizer."""
        if SANITIZER.search(self.err):
            raise Failure(f"a sanitizer reports: {shown(self.err, 600)}")
        if self.code < 0:
            raise Failure(f"crash: {signal.Signals(-self.code).name} {shown(self.err)}")
        if self.code == 70:
            raise Failure(f"internal error: {shown(self.err)}")
        return self


def shown(data, most=200):
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
    return repr(text if len(text) <= most else text[:most] + "...")


def check_error_line(outcome):
    """Exactly one line on stderr, as docs/errors.md promises."""
    err = outcome.err
    if not err.startswith(b"anemone: ") or err.count(b"\n") != 1 or not err.endswith(b"\n"):
        raise Failure(f"expected one line on stderr, got {shown(err)}")
    if len(err.decode("utf-8", "replace")) > 401:
        raise Failure(f"expected an error line of at most 400 characters, got {len(err)}")
    if any(byte < 0x20 or byte == 0x7F for byte in err[:-1]):
        raise Failure(f"expected no control characters in the error, got {shown(err)}")
    if b"cannot cannot" in err:
        raise Failure(f"expected a sentence, got {shown(err)}")


def refused(outcome, *codes):
    """The program says no in one line, with an exit code for bad input (or exactly one of `codes`)."""
    outcome.check_alive()
    if outcome.code not in (codes or (2, 3, 4, 5, 6)):
        raise Failure(
            f"expected a refusal{f' with {codes}' if codes else ''}, got exit code {outcome.code}: "
            f"{shown(outcome.err)}"
        )
    if outcome.out:
        raise Failure(f"expected no output beside the error, got {shown(outcome.out)}")
    check_error_line(outcome)
    return outcome


def answered(outcome):
    """The program ends with exit code 0."""
    outcome.check_alive()
    if outcome.code != 0:
        raise Failure(f"expected an answer, got exit code {outcome.code}: {shown(outcome.err)}")
    return outcome


def settled(outcome):
    """answered() or refused(): what matters is that it ends within its limits, without a crash."""
    outcome.check_alive()
    return answered(outcome) if outcome.code == 0 else refused(outcome)


def start(words, folder, stdin=subprocess.DEVNULL, extra=None, stdout=None, limits=None, stderr=None):
    """The process. The caller passes files for its output, so that nobody has to read while it runs."""
    os.makedirs(os.path.join(folder, "home"), exist_ok=True)

    def prepare():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for kind, value in (limits or {}).items():
            resource.setrlimit(kind, (value, value))

    return subprocess.Popen(
        words,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=environment(folder, extra),
        cwd=folder,
        preexec_fn=prepare,
        close_fds=True,
    )


def watch(process, limit_seconds, max_bytes):
    """Waits for the end; kills what is beyond its limits. (exit code, seconds, peak bytes), the seconds not counting
    the longest time that one of its threads waited for a processor."""
    begin = time.monotonic()
    peak = 0
    waits = {}
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds = time.monotonic() - begin
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            # The time is never less than the process's work takes: threads that wait for each other wait for nobody
            # else.
            work = (usage.ru_utime + usage.ru_stime) / (os.cpu_count() or 1)
            own = max(seconds - machine_wait({}, waits), min(work, seconds))
            return process.returncode, own, max(peak, usage.ru_maxrss * 1024)
        peak = max(peak, peak_bytes(process.pid))
        waits = machine_waits(process.pid) or waits
        if seconds - machine_wait({}, waits) > limit_seconds or seconds > 10 * limit_seconds or peak > max_bytes:
            process.kill()
            os.wait4(process.pid, 0)
            process.returncode = -signal.SIGKILL
            if peak > max_bytes:
                raise Failure(f"took more than {max_bytes / 1e9:.1f} GB of memory after {seconds:.1f} s, ended it")
            raise Slow(f"still ran after {seconds - machine_wait({}, waits):.0f} s, ended it")
        time.sleep(0.002 if seconds < 0.2 else 0.02)


def run(words, folder, seconds, max_bytes, stdin=b"", extra=None, limits=None, name="io"):
    """Runs to the end; Slow beyond `seconds`, Failure beyond `max_bytes`."""
    paths = {end: os.path.join(folder, f"{name}.{end}") for end in ("in", "out", "err")}
    with open(paths["in"], "wb") as file:
        file.write(stdin)
    with open(paths["in"], "rb") as source, open(paths["out"], "wb") as out, open(paths["err"], "wb") as err:
        process = start(words, folder, source, extra, out, limits, err)
        code, took, peak = watch(process, 2 * seconds, max_bytes)
    with open(paths["out"], "rb") as out, open(paths["err"], "rb") as err:
        outcome = Outcome(words, code, out.read(100_000_000), err.read(1_000_000), took, peak)
    for path in paths.values():
        os.remove(path)
    if took > seconds:
        outcome.check_alive()
        raise Slow(f"expected an end within {seconds:.0f} s, took {took:.1f} s")
    return outcome
