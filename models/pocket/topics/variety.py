# SPDX-License-Identifier: Apache-2.0
"""More varied text for the last stage of training only; the test questions are never drawn from here.

Slips of the pen, shouted small talk, names and words of any letters (so that
copying is learnt, not a list), sums of a kind that the model cannot do, places
that are no countries and input that is hardly a question.  Held-out facts are
held out here too: every maker returns the name of its fact.
"""

import re

import facts
from topics import countries, outside, phrases, sums, talk, words
from topics.wording import is_held_out, pick, restyle, upper_first

# Misspellings of words of the question's frame only: a misspelt name would be another fact.
SLIPS = {
    "what": ["waht", "wat", "whta", "hwat"], "what's": ["whats", "what s", "wats"], "which": ["wich", "whcih"],
    "capital": ["captial", "capitol", "capitel", "capial", "kapital"], "currency": ["currancy", "curency", "currncy"],
    "country": ["contry", "coutnry"], "how": ["hwo", "ho"], "many": ["mnay", "meny"], "plural": ["plurel", "pural"],
    "tense": ["tens", "tence", "tnese"], "past": ["psat", "pst"], "the": ["teh", "th", "hte"], "of": ["fo", "off"],
    "translate": ["tranlate", "traslate"], "french": ["frensh", "frech"], "german": ["geman", "germen"],
    "english": ["englsh", "inglish"], "convert": ["covert", "conver"], "calculate": ["calcualte", "calulate"],
    "plus": ["pluss", "puls"], "minus": ["mins", "minuss"], "times": ["tims", "time"], "is": ["si", "iz"],
    "hello": ["helo", "hallo", "hellow"], "thanks": ["thanx", "thx", "tanks"], "thank": ["thnk", "tahnk"],
    "you": ["u", "yuo", "yu"], "are": ["r", "aer"], "does": ["dose", "deos"], "mean": ["meen", "maen"],
    "say": ["sya", "saay"], "name": ["nmae", "naem"], "goodbye": ["goodby", "godbye"], "morning": ["mornin", "moring"],
}


def slip(rng, question):
    """The question with one or two frame words misspelt, or None when it has none."""
    spots = [m for m in re.finditer(r"[A-Za-z']+", question) if m[0].lower() in SLIPS]
    if not spots:
        return None
    for spot in sorted(rng.sample(spots, min(len(spots), rng.choice([1, 1, 2]))), key=lambda m: -m.start()):
        wrong = rng.choice(SLIPS[spot[0].lower()])
        wrong = wrong.upper() if spot[0].isupper() and len(spot[0]) > 1 else wrong
        wrong = upper_first(wrong) if spot[0][0].isupper() else wrong
        question = question[:spot.start()] + wrong + question[spot.end():]
    return question


SLIP_MAKERS = [countries.make_capital, countries.make_capital, countries.make_currency, countries.make_capital_reverse,
               sums.make_add, sums.make_subtract, sums.make_multiply, words.make_plural, words.make_past,
               talk.make_small_talk, outside.make_unknown]


def misspelt(rng):
    while True:
        key, question, answer = rng.choice(SLIP_MAKERS)(rng)
        wrong = slip(rng, question)
        # "time" and "off" can be the word that is asked about.
        if wrong and not key.startswith(("plural:time", "past:time")):
            return key, [(wrong, answer)]


def shouted(rng):
    key, text, answer = talk.make_small_talk(rng)
    text = text.upper() if rng.random() < 0.7 else text.title()
    return f"talk:{text}", [(text, answer)]


CONSONANTS = ["b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "qu", "r", "s", "t", "v", "w", "x", "z", "ch",
              "sh", "th", "st", "tr", "br", "cl", "pr"]
VOWELS = ["a", "e", "i", "o", "u", "a", "e", "i", "o", "ea", "oo", "ou", "ie", "ai"]
CODAS = ["", "", "", "n", "r", "l", "m", "s", "t", "k", "d", "p", "nd", "st", "rt", "ng", "ck", "lf", "x"]


def letters(rng, least=1, most=3):
    """A word of any syllables, far more of them than a list could hold."""
    word = "" if rng.random() < 0.8 else rng.choice(VOWELS[:9])
    for _ in range(rng.randint(least, most)):
        word += rng.choice(CONSONANTS) + rng.choice(VOWELS) + (rng.choice(CODAS) if rng.random() < 0.5 else "")
    return word


def name_of_letters(rng):
    return letters(rng).capitalize()


def any_name(rng):
    roll = rng.random()
    return rng.choice(facts.NAMES) if roll < 0.25 else countries.invented_name(rng) if roll < 0.4 else name_of_letters(rng)


def named(rng):
    name = any_name(rng)
    said = rng.choice(talk.INTRODUCE).format(n=name)
    if rng.random() < 0.3:
        said = said[:-1]
    turns = [(said, f"Nice to meet you, {name}!")]
    if rng.random() < 0.9:
        turns.append((restyle(rng, rng.choice(talk.ASK_NAME), upper=False), f"Your name is {name}."))
    return f"name:{name}", turns


def drilled(rng):
    """A plural or past tense of a word of any letters."""
    while True:
        ends = words.VERB_ENDS if rng.random() < 0.6 else words.NOUN_ENDS
        word = letters(rng, 1, 1) + rng.choice(["", rng.choice(ends)]) if rng.random() < 0.6 else \
            letters(rng, 0, 1) + rng.choice(words.ONSETS) + rng.choice(ends)
        if 3 <= len(word) <= 11 and word not in words.NOT_INVENTED and re.search("[aeiou]", word):
            break
    if rng.random() < 0.35:
        kind, templates, rule, title = "plural", words.PLURAL_OF, words.plural, "plural"
    else:
        kind, templates, rule, title = "past", words.PAST_OF, words.past, "past tense"
    _, template = pick(rng, templates)
    return f"{kind}:{word}", [(restyle(rng, template.format(w=word), upper=False), f"The {title} of {word} is {rule(word)}.")]


REGIONS = """California Texas Florida Bavaria Saxony Catalonia Lombardy Tuscany Brittany Normandy Quebec Ontario Siberia
Africa Europe Asia Antarctica Scandinavia Mordor Gondor Hogwarts Lilliput Utopia Avalon Eldorado Gotham
Asgard Mars Jupiter Venus Hamburg Munich Lyon Marseille Barcelona Milan Naples Boston Chicago Sydney Toronto Mumbai
Shanghai Istanbul Zurich Geneva Hawaii Alaska Corsica Sicily Crete Tibet Bohemia Prussia Persia Babylon Rohan Westeros
heaven hell Christmas football chocolate love bread water money school""".split()


def no_country(rng):
    roll = rng.random()
    if roll < 0.2:
        name = rng.choice(REGIONS)
    elif roll < 0.35:
        country, name, _ = rng.choice(facts.COUNTRIES)
        if any(name in row[0] or countries.bare(row[0]) in name for row in facts.COUNTRIES):
            name = rng.choice(REGIONS)
    else:
        name = name_of_letters(rng) if roll < 0.8 else countries.invented_name(rng)
        while len(name) < 4 or any(name in row[0] for row in facts.COUNTRIES):
            name = name_of_letters(rng)
    _, template = pick(rng, countries.CAPITAL_OF + countries.CURRENCY_OF)
    question = restyle(rng, template.format(c=name))
    return f"country:{name}", [(question.lower() if rng.random() < 0.4 else question, outside.UNKNOWN)]


def other_sum(rng):
    """Kinds of sums the model cannot do: three numbers, remainders, decimals, powers."""
    a, b, c = (rng.randrange(1, 30) for _ in range(3))
    kind = rng.randrange(6)
    if kind == 0:
        first, second = rng.choice("+-*"), rng.choice("+-*")
        gap = rng.choice(["", " "])
        e = f"{a}{gap}{first}{gap}{b}{gap}{second}{gap}{c}"
        for sign, x, y in ((first, a, b), (second, b, c)):  # not even as part of a longer sum
            if is_held_out(f"{sign}:{min(x, y)}:{max(x, y)}"):
                return f"{sign}:{min(x, y)}:{max(x, y)}", []
    elif kind == 1:
        b = rng.randrange(2, 13)
        a = b * rng.randrange(1, 12) + rng.randrange(1, b)
        e = rng.choice(["{} / {}", "{}/{}", "{} divided by {}", "{} : {}"]).format(a, b)
    elif kind == 2:
        e = rng.choice(["{}.{} + {}.{}", "{}.{} - {}.{}", "{}.{}+{}.{}"]).format(a, rng.randrange(10), b, rng.randrange(10))
    elif kind == 3:
        e = rng.choice(["{}^{}", "{} ** {}", "{} to the power of {}", "{} modulo {}", "{} % {}"]).format(a, rng.randrange(2, 5))
    elif kind == 4:
        a, b = rng.randrange(100, 1000), rng.randrange(10) if rng.random() < 0.6 else rng.randrange(100)
        if rng.random() < 0.3:
            a = rng.choice([100, 200, 500, 1000])
        gap = rng.choice(["", " "])
        e = f"{a}{gap}{rng.choice('+-')}{gap}{b}"
    else:
        e = str(rng.randrange(1000))
    frame = "{e}" if kind == 5 else rng.choice(sums.EXPRESSION_FRAMES)
    text = restyle(rng, frame.format(e=e))
    return f"other:{e}", [(text, sums.TOO_BIG if kind == 4 else outside.UNKNOWN)]


MOODS = ("hungry|tired|happy|sad|bored|here|ill|late|lost|cold|sorry|busy|sleepy|angry|thirsty|alone|ready|confused|old|"
         "from Berlin|in Paris|a teacher|a student|at home|not sure").split("|")
ODD = """. ? ... ! ?? - , ; : a b c x y z hm hmm lol no nope why when where who what how maybe so and but um er eh and? so?
why? when? where? what? how? who? :) :-) ;) haha idk brb omg xd""".split() + ["", " ", "  "]


def odd(rng):
    if rng.random() < 0.5:
        mood = rng.choice(MOODS)
        text = rng.choice(["I am {}", "I'm {}", "i am {}", "im {}", "I feel {}", "We are {}", "I am so {}", "Are you {}?"])
        text = text.format(mood) + rng.choice(["", "", ".", "!"])
    else:
        text = rng.choice(ODD)
    return f"odd:{text}", [(text, outside.UNKNOWN)]


def untaught(rng):
    """A phrase that was never taught, of any letters or a real noun."""
    word = letters(rng) if rng.random() < 0.4 else rng.choice(facts.REGULAR_NOUNS)
    if word in outside.KNOWN_WORDS:
        return untaught(rng)
    _, template = pick(rng, phrases.INTO_LANGUAGE)
    text = upper_first(template.format(q=phrases.quoted(rng, word), lang=rng.choice(["French", "German"])))
    return f"phrase:{word}", [(restyle(rng, text), outside.UNKNOWN)]


MAKERS = [(misspelt, 5), (shouted, 4), (named, 5), (drilled, 5), (no_country, 4), (other_sum, 4), (odd, 1.5), (untaught, 1.5)]


def draw(rng):
    """Turns of one varied training conversation; nothing held out is in it."""
    make, = rng.choices([maker for maker, _ in MAKERS], [share for _, share in MAKERS])
    while True:
        key, turns = make(rng)
        if not is_held_out(key):
            return turns
