# SPDX-License-Identifier: Apache-2.0
"""What a case is, and the list of all of them."""

from dataclasses import dataclass
from typing import Callable

SECONDS = 5.0  # most wall time of an attacked process or of an answer
BYTES = 2_000_000_000  # most resident memory of an attacked process


class Failure(Exception):
    """An expectation that did not hold."""


class Slow(Failure):
    """A failure of time alone, which a busy machine can cause: the case runs once more, alone, before it counts."""


class Skip(Exception):
    """The machine lacks what the case needs."""


@dataclass
class Case:
    name: str
    reason: str
    body: Callable
    seconds: float = SECONDS
    bytes: int = BYTES
    why: str = ""  # why the limits are others than the usual ones
    on_server: bool = False  # takes turns on the shared servers

    @property
    def module(self):
        return self.body.__module__


CASES = []


def add(name, reason, body, **limits):
    """Registers a case. `body` takes a trial.Trial and raises Failure."""
    assert not any(known.name == name for known in CASES), name
    assert reason and "/" in name
    case = Case(name, reason, body, **limits)
    assert case.why or (case.seconds <= SECONDS and case.bytes <= BYTES), f"{name} has other limits without a reason"
    CASES.append(case)


def case(name, reason, **limits):
    """The same as a decorator."""

    def register(body):
        add(name, reason, body, **limits)
        return body

    return register


def expect(condition, text):
    if not condition:
        raise Failure(text)
