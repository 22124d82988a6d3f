# SPDX-License-Identifier: Apache-2.0
"""What is held out from training, and the ways people write the same question."""

import hashlib
import re

HELD_OUT_PERCENT = 15
# The example of the project's own documentation: never trained on.
ALWAYS_HELD_OUT = {"+:17:25", "-:17:25"}


def is_held_out(key):
    """True when the fact named `key` belongs to the held-out part."""
    if key in ALWAYS_HELD_OUT:
        return True
    digest = hashlib.sha256(key.encode()).digest()
    return int.from_bytes(digest[:4], "big") % 100 < HELD_OUT_PERCENT


def upper_first(text):
    return text[:1].upper() + text[1:]


def restyle(rng, question, upper=True):
    """The same question as a hurried, polite or shouting person types it."""
    roll = rng.random()
    if roll < 0.10 and question[-1:] in "?.":
        body = question if re.match(r"[A-Z][a-z]*[A-Z]|I\b", question) else question[0].lower() + question[1:]
        question = rng.choice(["Please tell me: ", "Hey, ", "Hi, ", "Can you tell me, ", "Tell me, ", "And "]) + body
    elif roll < 0.13 and question[-1:] in "?.":
        question = question[:-1] + rng.choice([", please", " please"]) + question[-1]
    roll = rng.random()
    if roll < 0.25:
        question = question.lower()
    elif roll < 0.27 and upper:
        question = question.upper()
    if rng.random() < 0.30 and question[-1:] in "?.!":
        question = question[:-1]
    elif rng.random() < 0.03:
        question += rng.choice(["?", "!", " "])
    return question


def pick(rng, templates):
    """A template and its name, which is part of the name of a table fact.

    Templates that differ in punctuation only share a name: restyle() may turn
    one into the other."""
    template = rng.choice(templates)
    return re.sub(r"[^a-z{}']", "", template.lower()), template
