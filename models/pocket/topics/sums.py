# SPDX-License-Identifier: Apache-2.0
"""Sums, differences, times tables and divisions, and those that are too big."""

from topics.wording import pick, restyle

TOO_BIG = "That is too big for me. I can add and subtract numbers from 0 to 99 and know the times tables up to 12."
EXPRESSION_FRAMES = ["What is {e}?", "{e}", "{e} =", "{e} = ?", "{e}?", "What's {e}?", "Calculate {e}.",
                     "Compute {e}.", "How much is {e}?", "Work out {e}.", "Solve {e}.", "What does {e} make?",
                     "What is the result of {e}?", "Do you know what {e} is?", "Can you calculate {e}?"]
PLUS_WORDS = ["Add {a} and {b}.", "Add {b} to {a}.", "What is the sum of {a} and {b}?", "Sum of {a} and {b}?",
              "What do you get if you add {b} to {a}?", "What do {a} and {b} make?", "{a} and {b} together?",
              "I have {a} and get {b} more. How many do I have?"]
MINUS_WORDS = ["Subtract {b} from {a}.", "Take {b} away from {a}.", "{a} take away {b}?", "{a} less {b}?",
               "What do you get if you subtract {b} from {a}?", "What is left of {a} after taking away {b}?",
               "I have {a} and lose {b}. How many are left?"]
TIMES_WORDS = ["Multiply {a} by {b}.", "Multiply {a} and {b}.", "What is the product of {a} and {b}?",
               "What do you get if you multiply {a} by {b}?"]
DIVIDE_WORDS = ["Divide {a} by {b}.", "How many times does {b} go into {a}?", "Share {a} among {b}.",
                "What do you get if you divide {a} by {b}?"]


def expression_question(rng, a, b, signs, word, sentences):
    """One of: sign in a frame, word in a frame, or a sentence. Returns (phrasing name, text)."""
    roll = rng.random()
    if roll < 0.25:
        name, sentence = pick(rng, sentences)
        return name, sentence.format(a=a, b=b)
    name, frame = pick(rng, EXPRESSION_FRAMES)
    if roll < 0.45:
        return f"word {name}", frame.format(e=f"{a} {word} {b}")
    sign = signs[0] if rng.random() < 0.85 else rng.choice(signs)
    gap = "" if rng.random() < 0.3 else " "
    return f"sign {name}", frame.format(e=f"{a}{gap}{sign}{gap}{b}")


def operand(rng):
    # Short numbers are rare among 0..99 but common in real questions.
    return rng.randrange(10) if rng.random() < 0.12 else rng.randrange(100)


def make_add(rng):
    a, b = operand(rng), operand(rng)
    _, text = expression_question(rng, a, b, ["+"], "plus", PLUS_WORDS)
    return f"+:{min(a, b)}:{max(a, b)}", restyle(rng, text), f"{a} + {b} = {a + b}."


def make_subtract(rng):
    a, b = operand(rng), operand(rng)
    _, text = expression_question(rng, a, b, ["-", "−", "–"], "minus", MINUS_WORDS)
    return f"-:{min(a, b)}:{max(a, b)}", restyle(rng, text), f"{a} - {b} = {a - b}."


def make_multiply(rng):
    a, b = rng.randrange(13), rng.randrange(13)
    name, text = expression_question(rng, a, b, ["*", "x", "×"], "times", TIMES_WORDS)
    return f"*:{a}:{b}:{name}", restyle(rng, text), f"{a} x {b} = {a * b}."


def make_divide(rng):
    a, b = rng.randrange(13), rng.randrange(1, 13)
    if rng.random() < 0.02:
        a = rng.randrange(1, 100)
        name, text = expression_question(rng, a, 0, ["/", "÷", ":"], "divided by", DIVIDE_WORDS)
        return f"/0:{a}", restyle(rng, text), "You cannot divide by 0."
    name, text = expression_question(rng, a * b, b, ["/", "÷", ":"], "divided by", DIVIDE_WORDS)
    return f"/:{a * b}:{b}:{name}", restyle(rng, text), f"{a * b} / {b} = {a}."


def make_too_big(rng):
    kind = rng.randrange(4)
    large = lambda: rng.randrange(10 ** rng.randrange(2, 6), 10 ** 6) if rng.random() < 0.3 else rng.randrange(100, 1000)
    if kind < 2:
        a, b = large(), rng.randrange(1000) if rng.random() < 0.7 else large()
        if rng.random() < 0.4:
            a, b = b, a
        signs, word, sentences = (["+"], "plus", PLUS_WORDS) if kind == 0 else (["-"], "minus", MINUS_WORDS)
    elif kind == 2:
        a, b = rng.randrange(13, 1000), rng.randrange(2, 1000)
        if rng.random() < 0.5:
            a, b = b, a
        signs, word, sentences = ["*", "x", "×"], "times", TIMES_WORDS
    else:
        a, b = rng.randrange(145, 10000), rng.randrange(2, 100)
        signs, word, sentences = ["/", "÷"], "divided by", DIVIDE_WORDS
    _, text = expression_question(rng, a, b, signs, word, sentences)
    return f"big:{a}:{b}", restyle(rng, text), TOO_BIG
