# SPDX-License-Identifier: Apache-2.0
"""Questions outside the model's world; it is to say that it does not know."""

import facts
from topics.countries import CAPITAL_IS, CAPITAL_OF, CURRENCY_OF, invented_name
from topics.phrases import INTO_LANGUAGE, quoted
from topics.talk import CAN_DO
from topics.wording import pick, restyle, upper_first
from topics.words import NOUN_ENDS, invented_word, plural

UNKNOWN = f"I don't know that. {CAN_DO}"

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
