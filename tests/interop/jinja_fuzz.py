# SPDX-License-Identifier: Apache-2.0
"""Random templates, rendered by Jinja2 as transformers sets it up and by `anemone chat-template`: the texts are equal, or both
refuse. usage: jinja_fuzz.py --anemone BINARY [--seconds N] [--seed S]"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import jinja2.defaults
import jinja2.exceptions
from transformers.utils import chat_template_utils

from jinja_templates import Generator

warnings.filterwarnings("ignore", category=SyntaxWarning)  # of the Python that Jinja2 writes

# What anemone refuses on purpose where Python goes on: numbers beyond 128 bits, and work or sizes beyond its limits.
DELIBERATE = ("out of range", "at most", "levels", "smaller", "range too big", "integer of at most", "small integer",
              "number overflow")


def from_json(value):
    """The filter that servers add to what transformers sets up."""
    if isinstance(value, jinja2.Undefined):
        raise jinja2.exceptions.UndefinedError
    return json.loads(value) if isinstance(value, str) else value


# Every environment begins with a copy of these.
jinja2.defaults.DEFAULT_FILTERS.update({"from_json": from_json, "fromjson": from_json})


class Answers:
    """One process that answers requests in order."""

    def __init__(self, binary):
        self.binary = binary
        self.process = None

    def ask(self, request):
        if self.process is None:
            self.process = subprocess.Popen([self.binary, "chat-template", "--stdin-jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"anemone ended with {self.process.wait()} on {json.dumps(request)}")
        return json.loads(line)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


MEMORY = 2 << 30  # bytes that Jinja2 may take for one template, beside what the process has


class memory_limit:
    """Jinja2 has no limit of its own: a template that doubles a text takes all that the machine has."""

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm") as sizes:
            now = int(sizes.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, self.before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_AS, self.before)


def render(request):
    """What Jinja2 makes of a request: (text, None) or (None, error)."""
    try:
        with memory_limit():  # of compiling as well, which evaluates constant expressions
            template = chat_template_utils._cached_compile_jinja_template(request["template"])
            context = {"tools": None, "documents": None, **request["kwargs"]}
            return template.render(messages=request["messages"], add_generation_prompt=False, **context), None
    except MemoryError:
        raise
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def unstable(text):
    """Texts with addresses or forms of Python objects that no template means to print."""
    return any(mark in text for mark in ("<generator", "<built-in", "object at 0x", "<function", "<bound method", "<Macro", "<Namespace", "<class",
                                         "dict_keys(", "dict_values(", "dict_items(", "range(", "<method", "<jinja2", "<LoopContext", "<Cycler", "Markup("))


def compare(answers, seed):
    """A difference as text, or None."""
    generator = Generator(seed)
    request = {"template": generator.template(), "messages": generator.messages(), "kwargs": generator.context()}
    try:
        text, error = render(request)
    except MemoryError:
        # Nothing to compare with; that ours ends in time and memory is still asked.
        answers.ask(request)
        return None
    if text is not None and unstable(text):
        return None
    answer = answers.ask(request)
    if "text" in answer:
        if text == answer["text"]:
            return None
    elif text is None or any(mark in answer["error"] for mark in DELIBERATE):
        return None
    return (f"seed {seed}\ntemplate {request['template']!r}\nmessages {request['messages']!r}\nkwargs {request['kwargs']!r}\n"
            f"jinja2  {text!r} {error or ''}\nanemone {answer!r}\n")


def run(binary, seconds, seed, most=10):
    """Differences found in that time, and how many templates were tried."""
    answers = Answers(binary)
    found, tried, end = [], 0, time.monotonic() + seconds
    while time.monotonic() < end and len(found) < most:
        difference = compare(answers, seed + tried)
        tried += 1
        if difference:
            found.append(difference)
    answers.close()
    return found, tried


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anemone", required=True)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=10)
    options = parser.parse_args()
    found, tried = run(options.anemone, options.seconds, options.seed, options.most)
    for difference in found:
        print(difference)
    print(f"{tried} templates, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
