# SPDX-License-Identifier: Apache-2.0
"""Makes every conversation the pocket model is trained and tested on.

Pure Python, no downloads, seeded: the same seed always gives the same text.

The split into training and held-out text is a property of the *fact*, decided
by a hash of its name, so no random draw can ever move a fact across.  What the
fact is depends on what can be generalised:

  sums, differences   the unordered pair of numbers, in every phrasing
  plurals, pasts      the regular word, in every phrasing
  units (powers of 10) the value, in every phrasing
  made-up countries, names, big sums, unknown topics    the word or number itself
  tables (capitals, currencies, phrases, times tables, irregular words, time
  and temperature units)      the combination of fact and phrasing; the fact
  itself is learnt by heart from its other phrasings

    python generate.py --count 20              # look at some training text
    python generate.py --write-tests test_questions.jsonl
"""

import argparse
import hashlib
import json
import random
import re

import facts

HELD_OUT_PERCENT = 15
# The example of the project's own documentation: never trained on.
ALWAYS_HELD_OUT = {"+:17:25", "-:17:25"}

WHO = "I am the anemone pocket model, a tiny language model."
SKILLS = "small sums, capitals, currencies, plurals, past tenses, units and short French and German phrases"
CAN_DO = f"I can do {SKILLS}."
UNKNOWN = f"I don't know that. {CAN_DO}"
TOO_BIG = "That is too big for me. I can add and subtract numbers from 0 to 99 and know the times tables up to 12."


def is_held_out(key):
    """True when the fact named `key` belongs to the held-out part."""
    if key in ALWAYS_HELD_OUT:
        return True
    digest = hashlib.sha256(key.encode()).digest()
    return int.from_bytes(digest[:4], "big") % 100 < HELD_OUT_PERCENT


# --- ways people write the same question -----------------------------------

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


# --- arithmetic ---------------------------------------------------------------

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


# --- countries ------------------------------------------------------------------

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


# --- words ------------------------------------------------------------------------

PLURAL_OF = ["What is the plural of {w}?", "Plural of {w}?", "What's the plural of {w}?", "Give me the plural of {w}.",
             "What is the plural form of {w}?", "How do you write the plural of {w}?", "{w}, plural?",
             "One {w}, two what?", "I have one {w} and you have two ...?", "Make {w} plural."]
PAST_OF = ["What is the past tense of {w}?", "Past tense of {w}?", "What's the past tense of {w}?",
           "Give me the past tense of {w}.", "What is the past of {w}?", "What is the past tense of to {w}?",
           "Put {w} in the past tense.", "{w}, past tense?", "Today I {w}. What did I do yesterday?",
           "What is the simple past of {w}?"]
ONSETS = "b c d f g h j k l m n p r s t v w y z bl br ch cl cr dr fl fr gl gr pl pr sc sh sk sl sm sn sp st str sw th tr tw wh".split()
NOUN_ENDS = ["ab", "ack", "ad", "ag", "am", "amp", "an", "and", "ap", "ar", "art", "at", "ave", "ell", "em", "en", "end",
             "ent", "er", "est", "et", "ick", "id", "ig", "ill", "im", "in", "ing", "ink", "ip", "irt", "it", "ob", "ock",
             "od", "og", "oll", "om", "on", "ond", "ook", "ool", "oom", "oon", "oot", "op", "ork", "orn", "ot", "oud",
             "ow", "ub", "uck", "ug", "ull", "um", "ump", "un", "unk", "up", "urt", "ut", "ade", "ake", "ale", "ame",
             "ane", "ape", "ice", "ide", "ine", "ipe", "ite", "oke", "one", "ope", "ube", "ean", "eat", "ail", "ain",
             "ay", "oy", "ey", "y", "y", "ly", "ry", "ty", "ny", "ch", "atch", "itch", "ush", "ash", "ish", "ox", "ix",
             "ess", "oss", "ass", "us", "tion", "ment", "let", "ock", "ower", "ander", "ittle", "ubble"]
VERB_ENDS = ["ack", "amp", "and", "ark", "art", "ask", "ast", "awn", "ay", "oy", "eak", "eal", "eam", "ean", "eat", "ell",
             "end", "elp", "est", "ick", "ill", "int", "isp", "irl", "oad", "oast", "oat", "ock", "oil", "olt", "ook",
             "ool", "oom", "ound", "orn", "ow", "uck", "ull", "ump", "unt", "urn", "ush", "ash", "ish", "atch", "ess",
             "iss", "ix", "ail", "ain", "ake", "ale", "ame", "ape", "ase", "ate", "ave", "ice", "ide", "ike", "ile",
             "ine", "ipe", "ire", "oke", "ope", "ore", "ove", "use", "ute", "angle", "iggle", "umble", "ettle", "ance",
             "y", "y", "y", "ify", "arry", "ap", "ip", "op", "up", "ag", "ig", "og", "ug", "ub", "ob", "im", "am", "in",
             "an", "ot", "at", "ab", "ander", "atter", "icker", "ollow", "allow"]
# Words the syllables above can form by chance that are irregular or rude.
NOT_INVENTED = set(facts.IRREGULAR_NOUNS) | set(facts.IRREGULAR_VERBS) | set("""
spin sting strike slide bind grind stride beat deal lean dream lay slay cast mow sow sneak rend wind mice lice dice
swine spell smell burn fuck shit cock dick cunt tit piss fag slut rape crap prick cum chink gook kike wank turd fart
whore spick poop hump tramp bonk dyke nig nigger bitch twat boob homo pube penis sex hell slag screw shag shite
""".split())


def plural(word):
    if re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + "s"


def past(word):
    if word.endswith("e"):
        return word + "d"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ied"
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word):
        return word + word[-1] + "ed"
    return word + "ed"


def invented_word(rng, ends):
    """A made-up word: there are enough of them that only the rule is worth learning."""
    while True:
        word = rng.choice(ONSETS) + rng.choice(ends)
        if rng.random() < 0.25:
            word = rng.choice(ONSETS) + rng.choice("aeiou") + rng.choice(["", "n", "r", "l", "m"]) + word
        known = word in NOT_INVENTED or word in facts.REGULAR_NOUNS or word in facts.REGULAR_VERBS
        if not known and re.search("[aeiouy]", word[:-1]):
            return word


def make_plural(rng):
    name, template = pick(rng, PLURAL_OF)
    roll = rng.random()
    if roll < 0.22:
        word = rng.choice(list(facts.IRREGULAR_NOUNS))
        answer, key = facts.IRREGULAR_NOUNS[word], f"plural:{word}:{name}"
    else:
        word = rng.choice(facts.REGULAR_NOUNS) if roll < 0.65 else invented_word(rng, NOUN_ENDS)
        answer, key = plural(word), f"plural:{word}"
    return key, restyle(rng, template.format(w=word), upper=False), f"The plural of {word} is {answer}."


def make_past(rng):
    name, template = pick(rng, PAST_OF)
    roll = rng.random()
    if roll < 0.40:
        word = rng.choice(list(facts.IRREGULAR_VERBS))
        answer, key = facts.IRREGULAR_VERBS[word], f"past:{word}:{name}"
    else:
        word = rng.choice(facts.REGULAR_VERBS) if roll < 0.70 else invented_word(rng, VERB_ENDS)
        answer, key = past(word), f"past:{word}"
    return key, restyle(rng, template.format(w=word), upper=False), f"The past tense of {word} is {answer}."


# --- units --------------------------------------------------------------------------

# short name: (singular, plural) as people write it in a question
UNIT_NAMES = {
    "km": ("kilometre", "kilometres"), "m": ("metre", "metres"), "cm": ("centimetre", "centimetres"),
    "mm": ("millimetre", "millimetres"), "kg": ("kilogram", "kilograms"), "g": ("gram", "grams"),
    "l": ("litre", "litres"), "ml": ("millilitre", "millilitres"),
}
DECIMAL_UNITS = [("km", "m", 1000), ("m", "cm", 100), ("cm", "mm", 10), ("kg", "g", 1000), ("l", "ml", 1000)]
COUNTED_UNITS = [("hour", "minute", 60), ("minute", "second", 60), ("week", "day", 7), ("day", "hour", 24),
                 ("year", "month", 12), ("dozen", "piece", 12)]
CONVERT = ["How many {to} are in {n} {unit}?", "Convert {n} {unit} to {to}.", "{n} {unit} in {to}?",
           "How many {to} is {n} {unit}?", "What is {n} {unit} in {to}?", "How many {to} make {n} {unit}?",
           "{n} {unit} to {to}", "{n} {unit} = how many {to}?", "Change {n} {unit} into {to}."]
CELSIUS = ["Celsius", "degrees Celsius", "C", "°C"]
FAHRENHEIT = ["Fahrenheit", "degrees Fahrenheit", "F", "°F"]


def unit_word(rng, unit, count):
    """A unit as people write it: short, long, or with the American spelling."""
    if rng.random() < 0.5:
        return unit
    word = UNIT_NAMES[unit][count != 1]
    return word.replace("metre", "meter").replace("litre", "liter") if rng.random() < 0.3 else word


def make_decimal_unit(rng):
    big, small, factor = rng.choice(DECIMAL_UNITS)
    count = rng.randrange(1, 100) if rng.random() < 0.85 else rng.randrange(100, 1000)
    name, template = pick(rng, CONVERT)
    if rng.random() < 0.6 or count > 99:
        source, target, value, result = big, small, count, count * factor
    else:
        source, target, value, result = small, big, count * factor, count
    text = template.format(n=value, unit=unit_word(rng, source, value), to=unit_word(rng, target, 2))
    if " " in text and rng.random() < 0.1:
        text = text.replace(f"{value} {source} ", f"{value}{source} ")
    return f"unit:{source}:{value}", restyle(rng, text, upper=False), f"{value} {source} = {result} {target}."


def counted(value, unit):
    return f"{value} {unit}" if value == 1 or unit == "dozen" else f"{value} {unit}s"


def make_counted_unit(rng):
    big, small, factor = rng.choice(COUNTED_UNITS)
    count = rng.randrange(1, 13)
    name, template = pick(rng, CONVERT)
    if rng.random() < 0.6:
        value, source, result, target = count, big, count * factor, small
    else:
        value, source, result, target = count * factor, small, count, big
    shown = counted(value, source)
    text = template.format(n=shown.split()[0], unit=shown.split()[1], to=counted(2, target).split()[1])
    return f"unit:{source}:{value}:{name}", restyle(rng, text), f"{shown} = {counted(result, target)}."


def make_temperature(rng):
    celsius = rng.randrange(-20, 101, 5)
    fahrenheit = celsius * 9 // 5 + 32
    style = rng.randrange(len(CELSIUS))
    name, template = pick(rng, CONVERT[1:5] + CONVERT[6:])
    if rng.random() < 0.5:
        text = template.format(n=celsius, unit=CELSIUS[style], to=FAHRENHEIT[style])
        return f"C:{celsius}:{name}", restyle(rng, text), f"{celsius} °C = {fahrenheit} °F."
    text = template.format(n=fahrenheit, unit=FAHRENHEIT[style], to=CELSIUS[style])
    return f"F:{fahrenheit}:{name}", restyle(rng, text), f"{fahrenheit} °F = {celsius} °C."


# --- phrases ------------------------------------------------------------------------

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


# --- small talk -----------------------------------------------------------------------

SMALL_TALK = [
    ("Hello! How can I help you?",
     ["Hello", "Hi", "Hey", "Hi there", "Hello there", "Good morning", "Good evening", "Good afternoon",
      "Hello, pocket model", "Hey you", "Hi, can you help me", "Greetings", "Hello, are you there", "Howdy"]),
    ("I am fine, thank you. How can I help you?",
     ["How are you", "How are you today", "Hi, how are you", "Hello, how are you doing", "How is it going",
      "Are you well", "How do you feel", "How do you do", "What's up", "Hey, how are things"]),
    ("You are welcome!",
     ["Thanks", "Thank you", "Thank you very much", "Thanks a lot", "Many thanks", "Great, thanks",
      "Thank you for your help", "Perfect, thank you", "Thanks, that helped", "Cool, thanks", "Nice, thank you"]),
    ("Goodbye! Have a nice day.",
     ["Bye", "Goodbye", "Bye bye", "See you", "See you later", "I have to go", "Good night", "Farewell",
      "Talk to you later", "That is all, bye", "See you tomorrow"]),
    (WHO,
     ["Who are you", "What are you", "What is your name", "Are you a human", "Are you a robot", "Are you an AI",
      "Tell me about yourself", "Introduce yourself", "Who am I talking to", "Are you a person",
      "What model are you", "What's your name", "Are you ChatGPT", "Do you have a name", "What is this"]),
    (CAN_DO,
     ["What can you do", "What do you know", "Help", "How can you help me", "What can I ask you", "Can you help me",
      "What are you good at", "What are your skills", "What questions can you answer", "What should I ask you",
      "What are you able to do", "What do you do", "Show me what you can do", "I need help"]),
    ("The anemone project trained me on text that it wrote itself.",
     ["Who made you", "Who trained you", "Who built you", "Where do you come from", "How were you made",
      "Who created you", "How were you trained", "Who is your maker", "What were you trained on"]),
    ("I am very small, so I know only a few things.",
     ["How big are you", "How large are you", "Are you smart", "Are you clever", "Do you know everything",
      "How small are you", "Are you intelligent", "How many parameters do you have", "Are you a big model"]),
    ("I am sorry. I am a very small model and make mistakes.",
     ["That is wrong", "That's not right", "You are wrong", "That is not correct", "I think you made a mistake",
      "Wrong", "No, that is wrong", "Are you sure", "You made a mistake", "This is false"]),
    ("I am glad. Ask me something else!",
     ["Good", "Great", "Well done", "Very good", "Nice", "Correct", "That is right", "Good job", "Cool", "Perfect",
      "You are great", "I like you", "Wow", "OK", "Okay", "Excellent", "Yes", "Right"]),
]


def make_small_talk(rng):
    answer, phrases = rng.choice(SMALL_TALK)
    text = rng.choice(phrases)
    question_like = re.match(r"(How|What|Who|Where|Are|Do|Can)\b", text) or text.startswith(("Hi, ", "Hello, "))
    text += rng.choice(["?", "?", "", "??"] if question_like else [".", "!", "", "!!", ""])
    if rng.random() < 0.4:
        text = text.lower()
    elif rng.random() < 0.05:
        text = text.upper()
    return f"talk:{text}", text, answer


# --- the world outside ---------------------------------------------------------------

PEOPLE = """Albert Einstein|Napoleon|Mozart|Shakespeare|Cleopatra|Isaac Newton|Marie Curie|Julius Caesar|Picasso
Beethoven|Gandhi|Darwin|Leonardo da Vinci|Galileo|Lincoln|Elvis|the king|the president|the pope|my neighbour
Columbus|Tolstoy|Goethe|Bach|Aristotle|Plato|the first astronaut|Frida Kahlo|Alan Turing|Ada Lovelace"""
THINGS = """love|the sea|autumn|a cat|my dog|the moon|winter|friendship|a lonely robot|the rain|summer|a dragon|the stars
black holes|photosynthesis|gravity|the economy|football|chess|cooking|jazz|DNA|electricity|the internet|dinosaurs
volcanoes|philosophy|computers|blockchain|climate change|music|art|religion|the human heart|bees|whales|the brain
atoms|magnets|evolution|poetry|rockets|coffee machines|guitars|bicycles|trains|pyramids|castles|quantum physics"""
EVENTS = """the war|the French Revolution|the Second World War|the First World War|the moon landing|the Roman Empire
the Middle Ages|the last election|the world cup|the Olympic Games|the Renaissance|the Cold War|the industrial revolution"""
PLACES = """Paris|London|Berlin|Tokyo|New York|my town|Madrid|Rome|Sydney|Moscow|Cairo|the mountains|Vienna|Oslo|Chicago"""
SPLIT = lambda text: text.replace("\n", "|").split("|")
WORKS = """Hamlet|the Odyssey|War and Peace|Don Quixote|the Mona Lisa|Faust|Romeo and Juliet|the Bible|Moby Dick
Harry Potter|Dracula|Macbeth|the Iliad|Les Miserables|Ulysses|Frankenstein|Pinocchio|Peter Pan|Oliver Twist"""
FILLERS = {"person": SPLIT(PEOPLE), "thing": SPLIT(THINGS), "event": SPLIT(EVENTS), "place": SPLIT(PLACES), "work": SPLIT(WORKS),
           "country": [row[0] for row in facts.COUNTRIES],
           "other": "Spanish|Italian|Japanese|Chinese|Russian|Latin|Arabic|Dutch|Polish|Greek|Turkish".split("|"),
           "phrase": [row[0] for row in facts.FRENCH], "noun": facts.REGULAR_NOUNS,
           "colour": "red|blue|green|black|white|yellow".split("|"),
           "time": "today|tomorrow|now|this week|on Monday|at the weekend|tonight|in June".split("|")}
OUTSIDE = [
    "What is the weather like {time}?", "What is the weather in {place}?", "Will it rain {time}?", "Is it cold in {place}?",
    "How hot is it in {place}?", "Will it snow {time}?", "Is it sunny {time}?", "Weather in {place}?",
    "What time is it?", "What day is it?", "What is the date {time}?", "What time is it in {place}?", "What year is it?",
    "Who was {person}?", "Who is {person}?", "When was {person} born?", "When did {person} die?", "Where was {person} born?",
    "What did {person} do?", "How old is {person}?", "Tell me about {person}.", "Is {person} famous?",
    "When was {event}?", "Who won {event}?", "Tell me about {event}.", "Why did {event} happen?", "What was {event}?",
    "Write a poem about {thing}.", "Write me a story about {thing}.", "Tell me a joke.", "Tell me a joke about {thing}.",
    "Write a song about {thing}.", "Tell me a story.", "Explain {thing}.", "What is {thing}?", "How does {thing} work?",
    "Tell me about {thing}.", "What do you think about {thing}?", "Do you like {thing}?", "Why is {thing} important?",
    "Tell me something about {thing}.", "Give me a fact about {thing}.", "What is the meaning of life?",
    "What is the population of {country}?", "Who is the president of {country}?", "How big is {country}?",
    "What language do they speak in {country}?", "Where is {country}?", "What is the flag of {country}?",
    "How many people live in {country}?", "Who is the king of {country}?", "What food do they eat in {country}?",
    "Tell me about {country}.", "What is the highest mountain in {country}?", "Is {country} in Europe?",
    "How many people live in {place}?", "How far is {place}?", "How do I get to {place}?", "Where is {place}?",
    'How do you say "{phrase}" in {other}?', "How do you say {phrase} in {other}?", "What is {phrase} in {other}?",
    "Translate {phrase} into {other}.", "What is the opposite of {colour}?", "What rhymes with {noun}?",
    "What is a {noun}?", "What does a {noun} cost?", "What is the price of a {noun}?", "Where can I buy a {noun}?",
    "How do I cook a {noun}?", "How do I repair a {noun}?", "Who invented the {noun}?", "What colour is a {noun}?",
    "How do you spell {noun}?", "Draw a {noun}.", "What is the future tense of {verb}?", "What is the definition of {noun}?",
    "What is the square root of {n}?", "Is {n} a prime number?", "What is {n} percent of {m}?", "What is {n} squared?",
    "How many miles is {n} km?", "How many pounds is {n} kg?", "Convert {n} dollars to euros.", "How many inches are in {n} cm?",
    "Write a program that prints {n}.", "Write Python code.", "Write an e-mail to my boss.", "Play some music.",
    "Set an alarm for {n} minutes.", "Turn on the light.", "Call my mother.", "Book a flight to {place}.",
    "What should I eat {time}?", "What should I wear {time}?", "Recommend a good book.", "What is the news {time}?",
    "Who will win {event}?", "What is the best film?", "What is the speed of light?", "How far is the moon?",
    "How many stars are there?", "Why is the sky {colour}?", "What is my password?", "Where am I?", "How old am I?",
    "Where do I live?", "What am I thinking?", "How do I learn {other}?", "Do you speak {other}?", "What is your favourite colour?",
    "How tall is {person}?", "Sing a song.", "Let's play a game.", "What is the stock price of {invented}?",
    "Who wrote {work}?", "Who painted {work}?", "Have you read {work}?", "What is {work} about?", "Summarise {work}.",
    "Who discovered {thing}?", "Who invented {thing}?", "Where does {thing} come from?", "Can you explain {thing}?",
    "Write an essay about {thing}.", "Write a letter to {person}.", "Can you write a poem?", "Write a haiku.",
    "Can you help me with {thing}?", "How do I become a {noun}?", "How many {nouns} are there in {place}?",
    "What happened in {year}?", "Who was the president in {year}?", "What happened on my birthday?", "Count to {n}.",
    "What is the weather?", "How is the weather {time}?", "What is the temperature in {place}?", "Is it raining {time}?",
    "What is the longest river in {country}?", "What is the largest city of {country}?", "When is {event}?",
    "Which is bigger, {country} or {place}?", "Is {place} the largest city in the world?", "How many {nouns} do I have?",
    "Why {verb}?", "Should I {verb} {time}?", "Can you {verb}?", "I want to {verb} a {noun}.", "I have a {noun}.",
    "My {noun} is {colour}.", "The {noun} is in {place}.", "Where is my {noun}?", "Who has my {noun}?",
    "What is the best {noun}?", "Which {noun} is the best?", "Buy me a {noun}.", "Find a {noun} in {place}.",
    "What is {invented}?", "Who is {invented}?", "Tell me about {invented}.", "Do you know {invented}?",
]
MAD = ["asdf", "qwerty", "blah", "foo", "bar", "lorem", "ipsum", "xyz", "hm", "uh", "zzz", "test", "abc", "la", "etwas", "quoi"]


def make_unknown(rng):
    roll = rng.random()
    if roll < 0.14:  # countries that do not exist
        name = invented_name(rng)
        _, template = pick(rng, CAPITAL_OF + CURRENCY_OF)
        return f"country:{name}", restyle(rng, template.format(c=name)), UNKNOWN
    if roll < 0.19:
        name = invented_name(rng)
        _, template = pick(rng, CAPITAL_IS)
        return f"country:{name}", restyle(rng, template.format(k=name)), UNKNOWN
    if roll < 0.32:  # phrases that were never taught
        phrase = rng.choice(facts.UNTRANSLATED) if rng.random() < 0.6 else rng.choice(
            ["the {}", "a {}", "my {} is lost", "I have a {}", "{}", "where is my {}", "I like the {}"]).format(
                invented_word(rng, NOUN_ENDS) if rng.random() < 0.4 else rng.choice(
                    [w for w in facts.REGULAR_NOUNS if w not in KNOWN_WORDS]))
        _, template = pick(rng, INTO_LANGUAGE)
        text = upper_first(template.format(q=quoted(rng, phrase), lang=rng.choice(["French", "German"])))
        return f"phrase:{phrase}", restyle(rng, text), UNKNOWN
    if roll < 0.35:
        text = " ".join(rng.choice(MAD) for _ in range(rng.randrange(1, 5)))
        return f"mad:{text}", text, UNKNOWN
    fill = {name: rng.choice(values) for name, values in FILLERS.items()}
    fill.update(year=rng.randrange(1000, 2030), n=rng.randrange(2, 100), m=rng.randrange(2, 1000),
                invented=invented_name(rng), nouns=plural(rng.choice(facts.REGULAR_NOUNS)),
                verb=rng.choice(facts.REGULAR_VERBS))
    text = upper_first(rng.choice(OUTSIDE).format(**fill))
    return f"outside:{text}", restyle(rng, text), UNKNOWN


KNOWN_WORDS = {word.lower() for row in facts.FRENCH + facts.GERMAN for word in row[0].split()}


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


# --- conversations ----------------------------------------------------------------------

FOLLOW_UP = ["And {c}?", "And of {c}?", "What about {c}?", "How about {c}?", "And what about {c}?", "{c}?", "and {c}"]
INTRODUCE = ["My name is {n}.", "I am {n}.", "I'm {n}.", "Hello, I am {n}.", "Hi, my name is {n}.", "Call me {n}.",
             "You can call me {n}.", "Hello! My name is {n}."]
ASK_NAME = ["What is my name?", "What's my name?", "Who am I?", "Do you remember my name?", "Do you know my name?",
            "Can you tell me my name?"]


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


def make_name_memory(rng, between=None):
    name = rng.choice(facts.NAMES) if rng.random() < 0.7 else invented_name(rng)
    ask = restyle(rng, rng.choice(ASK_NAME), upper=False)
    if rng.random() < 0.15:
        return f"no name:{ask}", [(ask, "You have not told me your name.")]
    said = rng.choice(INTRODUCE).format(n=name)
    if rng.random() < 0.2:
        said = said[:-1]
    turns = [(said, f"Nice to meet you, {name}!")]
    if rng.random() < 0.8:
        if between and rng.random() < 0.5:
            turns += between
        turns.append((ask, f"Your name is {name}."))
    return f"name:{name}", turns


# category: (share of the training questions, maker).  Arithmetic is the hardest
# part for a model this small and gets most of the questions.
SINGLE = {
    "addition": (24, make_add),
    "subtraction": (27, make_subtract),
    "multiplication": (6, make_multiply),
    "division": (4, make_divide),
    "capital": (5, make_capital),
    "capital, reversed": (3.5, make_capital_reverse),
    "currency": (4, make_currency),
    "plural": (4.5, make_plural),
    "past tense": (6.5, make_past),
    "decimal units": (4, make_decimal_unit),
    "time and dozens": (2.5, make_counted_unit),
    "temperature": (2, make_temperature),
    "French": (5, make_french),
    "German": (5, make_german),
    "small talk": (3, make_small_talk),
    "unknown": (6, make_unknown),
    "too big": (2, make_too_big),
}
DIALOGUE = {"follow-up": (2.5, make_follow_up), "name memory": (2, make_name_memory)}
CATEGORIES = list(SINGLE) + list(DIALOGUE)
SYSTEM_TEXTS = ["You are a helpful assistant.", "You are a friendly assistant.", "Answer briefly.", "Be helpful.",
                "You are a helpful assistant. Answer in one sentence."]


def draw(rng, category, split):
    """Turns [(question, answer), ...] of one category; the last turn is the one that counts.

    The draw is repeated until its fact lies in the wanted part ("train" or "test")."""
    want = split == "test"
    while True:
        if category in SINGLE:
            key, question, answer = SINGLE[category][1](rng)
            turns = [(question, answer)]
        elif category == "name memory":
            key, turns = make_name_memory(rng, between=draw_any(rng, "train"))
        else:
            key, turns = DIALOGUE[category][1](rng)
        if is_held_out(key) == want:
            return turns


def draw_any(rng, split):
    """One single question of a random category, by the shares above."""
    category = rng.choices(list(SINGLE), [share for share, _ in SINGLE.values()])[0]
    return draw(rng, category, split)


def conversation(rng, boost=None):
    """One training conversation: mostly one question, some times a longer chat.

    `boost` multiplies the shares of some categories: {"plural": 2}."""
    roll = rng.random()
    if roll < 0.80:
        length = 1
    elif roll < 0.97:
        length = rng.randrange(2, 4)
    else:
        length = rng.randrange(4, 10)
    shares = {name: share * (boost or {}).get(name, 1) for name, (share, _) in {**SINGLE, **DIALOGUE}.items()}
    turns = []
    for category in rng.choices(list(shares), list(shares.values()), k=length):
        turns += draw(rng, category, "train")
    system = rng.choice(SYSTEM_TEXTS) if rng.random() < 0.04 else None
    return system, turns


def render(system, turns):
    """ChatML text in pieces (text, is_answer); the answers are what is learnt."""
    pieces = [(f"<|im_start|>system\n{system}<|im_end|>\n", False)] if system else []
    for question, answer in turns:
        pieces.append((f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n", False))
        pieces.append((f"{answer}<|im_end|>", True))
        pieces.append(("\n", False))
    return pieces


def training_stream(seed, count, boost=None):
    rng = random.Random(f"train {seed}")
    for _ in range(count):
        yield render(*conversation(rng, boost))


def held_out_questions(seed, per_category):
    """Distinct held-out questions as dicts with category, messages, prompt and answer."""
    rng = random.Random(f"test {seed}")
    questions = []
    for category in CATEGORIES:
        seen = set()
        tries = 0
        while len(seen) < per_category and tries < 100 * per_category:
            tries += 1
            turns = draw(rng, category, "test")
            messages = []
            for question, answer in turns:
                messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
            prompt = "".join(text for text, _ in render(None, turns)[:-2])
            if prompt in seen:
                continue
            seen.add(prompt)
            questions.append({"category": category, "messages": messages[:-1], "prompt": prompt,
                              "answer": turns[-1][1]})
    return questions


def write_tests(path, per_category=11, seed=1):
    questions = held_out_questions(seed, per_category)
    first = {"category": "addition", "messages": [{"role": "user", "content": "What is 17 + 25?"}],
             "prompt": "<|im_start|>user\nWhat is 17 + 25?<|im_end|>\n<|im_start|>assistant\n",
             "answer": "17 + 25 = 42."}
    with open(path, "w", encoding="utf-8") as out:
        for item in [first] + [q for q in questions if q["prompt"] != first["prompt"]]:
            out.write(json.dumps(item, ensure_ascii=False) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10, help="training conversations to print")
    parser.add_argument("--write-tests", metavar="FILE", help="write the small held-out question file instead")
    args = parser.parse_args()
    if args.write_tests:
        write_tests(args.write_tests)
        return
    for pieces in training_stream(args.seed, args.count):
        print("".join(text for text, _ in pieces))


if __name__ == "__main__":
    main()
