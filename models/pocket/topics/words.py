# SPDX-License-Identifier: Apache-2.0
"""Plurals and past tenses, of real and of invented words."""

import re

import facts
from topics.wording import pick, restyle

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
