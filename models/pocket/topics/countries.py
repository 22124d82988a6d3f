# SPDX-License-Identifier: Apache-2.0
"""Capitals and currencies, also as a follow-up question."""

import facts
from topics.wording import is_held_out, pick, restyle, upper_first

CAPITAL_OF = ["What is the capital of {c}?", "What's the capital of {c}?", "Capital of {c}?", "{c} capital?",
              "Which city is the capital of {c}?", "Name the capital of {c}.", "Tell me the capital of {c}.",
              "What is the capital city of {c}?", "What is {c}'s capital?", "Do you know the capital of {c}?",
              "The capital of {c} is what?", "Give me the capital of {c}."]
CAPITAL_IS = ["Which country has the capital {k}?", "{k} is the capital of which country?",
              "What country is {k} the capital of?", "Of which country is {k} the capital?",
              "{k} is the capital of what?", "Which country's capital is {k}?", "What is {k} the capital of?",
              "{k} is the capital of?"]
CURRENCY_OF = ["What is the currency of {c}?", "What's the currency of {c}?", "Currency of {c}?", "{c} currency?",
               "What money do they use in {c}?", "Which currency is used in {c}?", "What is {c}'s currency?",
               "Which currency does {c} use?", "How do people pay in {c}?", "Name the currency of {c}.",
               "What currency do I need in {c}?"]
NAME_PARTS = (["Bl", "Dr", "F", "Gr", "K", "L", "M", "N", "P", "Qu", "R", "S", "Tr", "V", "W", "Z", "Sk", "Th"],
              ["a", "e", "i", "o", "u", "ai", "oo"], ["b", "d", "l", "m", "n", "r", "v", "z", "nd", "rl", "st", "gg"],
              ["ia", "land", "istan", "onia", "or", "una", "ax", "ova", "ur", "eth"])
FOLLOW_UP = ["And {c}?", "And of {c}?", "What about {c}?", "How about {c}?", "And what about {c}?", "{c}?", "and {c}"]


def bare(country):
    return country.removeprefix("the ")


def capital_answer(country, capital):
    return f"The capital of {country} is {capital}."


def currency_answer(country, currency):
    return f"The currency of {country} is the {currency}."


def spoken(rng, country):
    # People leave out the article, or use a usual short name.
    if country in facts.SHORT_NAMES and rng.random() < 0.4:
        return rng.choice(facts.SHORT_NAMES[country])
    if country.startswith("the ") and rng.random() < 0.25:
        return bare(country)
    return country


def make_capital(rng):
    country, capital, _ = rng.choice(facts.COUNTRIES)
    name, template = pick(rng, CAPITAL_OF)
    text = upper_first(template.format(c=spoken(rng, country)))
    return f"capital:{country}:{name}", restyle(rng, text), capital_answer(country, capital)


def make_capital_reverse(rng):
    country, capital, _ = rng.choice(facts.COUNTRIES)
    name, template = pick(rng, CAPITAL_IS)
    return f"capital of:{capital}:{name}", restyle(rng, template.format(k=capital)), \
        f"{capital} is the capital of {country}."


def make_currency(rng):
    country, _, currency = rng.choice(facts.COUNTRIES)
    name, template = pick(rng, CURRENCY_OF)
    text = upper_first(template.format(c=spoken(rng, country)))
    return f"currency:{country}:{name}", restyle(rng, text), currency_answer(country, currency)


def invented_name(rng):
    return "".join(rng.choice(part) for part in NAME_PARTS)


def make_follow_up(rng):
    """'And Spain?' means the capital or the currency, as the question before did."""
    first, second = rng.sample(facts.COUNTRIES, 2)
    name, template = pick(rng, FOLLOW_UP)
    if rng.random() < 0.6:
        kind, questions = "capital", CAPITAL_OF
        answers = capital_answer(*first[:2]), capital_answer(*second[:2])
    else:
        kind, questions = "currency", CURRENCY_OF
        answers = currency_answer(first[0], first[2]), currency_answer(second[0], second[2])
    while True:  # the first question must not give away a held-out phrasing
        opening_name, question = pick(rng, questions)
        if not is_held_out(f"{kind}:{first[0]}:{opening_name}"):
            break
    opening = restyle(rng, upper_first(question.format(c=first[0])))
    closing = restyle(rng, upper_first(template.format(c=spoken(rng, second[0]))))
    return f"follow:{kind}:{second[0]}:{name}", [(opening, answers[0]), (closing, answers[1])]
