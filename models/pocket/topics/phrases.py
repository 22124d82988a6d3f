# SPDX-License-Identifier: Apache-2.0
"""French and German phrases, in both directions."""

import facts
from topics.wording import pick, restyle, upper_first

INTO_LANGUAGE = ["How do you say {q} in {lang}?", "What is {q} in {lang}?", "Translate {q} into {lang}.",
                 "Translate {q} to {lang}.", "{q} in {lang}?", "How do I say {q} in {lang}?", "Say {q} in {lang}.",
                 "What is the {lang} for {q}?", "What is the {lang} word for {q}?", "{lang} for {q}?"]
INTO_ENGLISH = ["What does {q} mean?", "What does {q} mean in English?", "Translate {q} into English.",
                "What is {q} in English?", "{q} in English?", "Translate {q} to English.",
                "What does the {lang} {q} mean?", "What is the English for {q}?"]
PLAIN_LETTERS = str.maketrans("àâäçèéêëîïôöùûüÀÉ", "aaaceeeeiioouuuAE")


def quoted(rng, phrase):
    return f'"{phrase}"' if rng.random() < 0.4 else phrase


def make_into_language(rng, lang, table):
    english, foreign = rng.choice(table)
    name, template = pick(rng, INTO_LANGUAGE)
    text = upper_first(template.format(q=quoted(rng, english), lang=lang))
    return f"{lang}:{english}:{name}", restyle(rng, text), f'"{english}" in {lang} is "{foreign}".'


def make_into_english(rng, lang, table):
    english, foreign = rng.choice(table)
    name, template = pick(rng, INTO_ENGLISH)
    typed = foreign
    if rng.random() < 0.15:  # not every keyboard has accents
        typed = foreign.translate(PLAIN_LETTERS).replace("ß", "ss")
    text = upper_first(template.format(q=quoted(rng, typed), lang=lang))
    return f"from {lang}:{foreign}:{name}", restyle(rng, text), f'"{foreign}" in English is "{english}".'


def make_french(rng):
    make = make_into_language if rng.random() < 0.6 else make_into_english
    return make(rng, "French", facts.FRENCH)


def make_german(rng):
    make = make_into_language if rng.random() < 0.6 else make_into_english
    return make(rng, "German", facts.GERMAN)
