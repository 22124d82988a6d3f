# SPDX-License-Identifier: Apache-2.0
"""Units, times and temperatures."""

from topics.wording import pick, restyle

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
