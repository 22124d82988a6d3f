# SPDX-License-Identifier: Apache-2.0
"""Chat templates from strangers: whatever they say, one error or a text, in time and memory that do not grow with it."""

import json

from lib.case import add
from lib.process import answered, refused, settled

LIMITS = {
    "seconds": 3,
    "bytes": 1_000_000_000,
}  # an error is due within a second; the rest is the start and a busy machine
MESSAGES = [{"role": "user", "content": "hi"}]


def render(name, reason, source, outcome=settled, messages=None, extra=None):
    def body(trial):
        text = source() if callable(source) else source
        file = trial.write("template.jinja", text)
        request = {"messages": messages or MESSAGES, **(extra() if extra else {})}
        outcome(trial.run("chat-template", "--template", file, stdin=json.dumps(request)))

    add(f"template/{name}", reason, body, **LIMITS)


LOOP = "Loops are counted, not only written down."
for name, source in {
    "range-huge": "{% for i in range(10**9) %}x{% endfor %}",
    "range-list": "{{ range(10**9)|list|length }}",
    "range-negative": "{{ range(0, -10**12, -1)|list|length }}",
    "nested": "{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{% endfor %}{% endfor %}{% endfor %}",
    "nested-over-text": "{% for a in 'x'*5000 %}{% for b in 'x'*5000 %}{% for c in 'x'*5000 %}{% endfor %}{% endfor %}{% endfor %}",
    "empty-body": "{% for a in range(10**7) %}{% endfor %}" * 20,
    "filtered": "{% for a in range(10**8) if false %}{% endfor %}",
    "recursive": "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "recursive-wide": "{% for a in [1,2,3,4] recursive %}{{ loop([1,2,3,4]) }}{% endfor %}",
    "previous-items": "{% for a in range(100000) %}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}",
    "macro-recursion": "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "macro-tree": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "macro-mutual": "{% macro f(x) %}{{ g(x) }}{% endmacro %}{% macro g(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "caller-recursion": "{% macro f() %}{{ caller() }}{% endmacro %}{% macro g(n) %}{% call f() %}{% if n %}{{ g(n-1) }}{{ g(n-1) }}{% endif %}{% endcall %}{% endmacro %}{{ g(40) }}",
    "while-by-append": "{% set l = [1] %}{% for x in l %}{% set _ = l.append(x) %}{% endfor %}",
    "conditions": "{% for a in range(10**8) %}{% if a and a and a and a %}{% endif %}{% endfor %}",
}.items():
    render(f"loop-{name}", LOOP, source)
GROW = "What makes much out of little is charged for what it makes."
for name, source in {
    "times": "{{ 'a' * 10**9 }}",
    "times-list": "{{ ([0] * 10**9)|length }}",
    "times-negative": "{{ 'a' * -10**18 }}",
    "times-times": "{{ ('a' * 10**5) * 10**5 }}",
    "times-reversed": "{{ 10**9 * 'a' }}",
    "doubling": "{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s|length }}",
    "doubling-plus": "{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s|length }}",
    "doubling-list": "{% set ns = namespace(s=[1]) %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s|length }}",
    "doubling-join": "{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s]|join %}{% endfor %}{{ ns.s|length }}",
    "doubling-replace": "{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = ns.s|replace('a', 'aa') %}{% endfor %}{{ ns.s|length }}",
    "doubling-format": "{% set ns = namespace(s='a') %}{% for i in range(60) %}{% set ns.s = '%s%s'|format(ns.s, ns.s) %}{% endfor %}{{ ns.s|length }}",
    "doubling-set-block": "{% set s = 'a' %}" + "{% set s %}{{ s }}{{ s }}{% endset %}" * 60 + "{{ s|length }}",
    "power": "{{ 10 ** 10 ** 10 }}",
    "power-negative": "{{ (-2) ** 0.5 }}",
    "power-tower": "{{ 9**9**9**9 }}",
    "big-numbers": "{{ (10**300) ** 300 }}",
    "shift-by-times": "{{ 9223372036854775807 * 9223372036854775807 }}",
    "least-by-minus-one": "{{ (-9223372036854775807 - 1) // -1 }}",
    "modulo-least": "{{ (-9223372036854775807 - 1) % -1 }}",
    "divide-zero": "{{ 1 // 0 }}",
    "modulo-zero": "{{ 1 % 0 }}",
    "divide-zero-float": "{{ 1 / 0 }}",
    "append-many": "{% set l = [] %}{% for i in range(10**8) %}{% set _ = l.append('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') %}{% endfor %}",
    "namespace-many": "{% set ns = namespace() %}{% for i in range(10**7) %}{% set ns.a = 'a' * 1000 %}{% endfor %}",
    "output-large": "{% for i in range(10**5) %}{{ 'a' * 10**4 }}{% endfor %}",
    "dict-many": "{% set d = {} %}{% for i in range(10**6) %}{% set _ = d.update({i: i}) %}{% endfor %}",
    "dict-int-keys": "{% set d = dict() %}{% for i in range(10**5) %}{% set _ = d.__setitem__(i, i) %}{% endfor %}",
    "dict-literal-int-keys": lambda: "{{ {" + ",".join(f"{i}:{i}" for i in range(50_000)) + "}|length }}",
    "dict-float-keys": lambda: "{{ {" + ",".join(f"{i}.5:{i}" for i in range(50_000)) + "}|length }}",
    "dict-long-keys": "{% set d = {} %}{% for i in range(10**5) %}{% set _ = d.update({'k' * 10000 ~ i: 1}) %}{% endfor %}",
}.items():
    render(f"grow-{name}", GROW, source)
FREE = "What costs time or memory beside the values is charged, too."
CYCLE = "{% set x = [] %}{% for i in range(1000) %}{% set _ = x.append(x) %}{% endfor %}"
AGAIN = "{% set s = 'ab' * 8000000 %}{% for i in range(100000) %}{% for j in range(1000) %}"
for name, source in {
    "path": CYCLE + "{{ (x|map(attribute='0.' * 500000 ~ '0')|list)|length }}",
    "path-parsed": AGAIN.replace("'ab'", "'0.'") + "{% set _ = []|map(attribute=s) %}{% endfor %}{% endfor %}",
    "trim": AGAIN + "{% set _ = ''|trim(s) %}{% endfor %}{% endfor %}",
    "strip": AGAIN + "{% set _ = ''.strip(s) %}{% endfor %}{% endfor %}",
    "indent": AGAIN + "{% set _ = ''|indent(s) %}{% endfor %}{% endfor %}",
    "tojson-separators": AGAIN + "{% set _ = ''|tojson(separators=(s, s)) %}{% endfor %}{% endfor %}",
    "tojson-indent": AGAIN + "{% set _ = ''|tojson(indent=s) %}{% endfor %}{% endfor %}",
    "long-numbers": AGAIN + "{% set _ = '%.6f' % 1e300 %}{% endfor %}{% endfor %}",
    "long-rounds": AGAIN + "{% set _ = 1e300|round(20) %}{% endfor %}{% endfor %}",
    "chosen-items": "{% set l = [0] * 1000000 %}{% macro r(n) %}{% if n %}{% for x in l if r(n - 1) %}{% endfor %}"
    "{% endif %}{% endmacro %}{{ r(60) }}",
}.items():
    render(f"free-{name}", FREE, source)
FILTERS = "Every filter that multiplies has to be charged for its result."
for name, source in {
    "batch": "{{ [1]|batch(100000, 0)|list|length }}",
    "batch-many": "{% for i in range(10**4) %}{{ [1]|batch(100000, 0)|list|length }}{% endfor %}",
    "batch-huge": "{{ [1]|batch(10**12, 0)|list|length }}",
    "batch-zero": "{{ [1,2]|batch(0)|list }}",
    "batch-negative": "{{ [1,2]|batch(-5, 0)|list }}",
    "slice-huge": "{{ [1]|slice(10**9)|list|length }}",
    "slice-fill": "{{ [1]|slice(10**8, 'x')|list|length }}",
    "slice-zero": "{{ [1]|slice(0)|list }}",
    "center": "{{ 'a'|center(10**9)|length }}",
    "center-method": "{{ 'a'.center(10**9)|length }}",
    "ljust": "{{ 'a'.ljust(10**9)|length }}",
    "rjust": "{{ 'a'.rjust(10**9)|length }}",
    "zfill": "{{ 'a'.zfill(10**9)|length }}",
    "expandtabs": "{{ ('\\t' * 10**5).expandtabs(10**6)|length }}",
    "indent": "{{ ('a\\n' * 10**5)|indent(10**6)|length }}",
    "indent-text": "{{ ('a\\n' * 10**5)|indent('x' * 10**5)|length }}",
    "join-long": "{{ range(10**5)|join('x' * 10**5)|length }}",
    "replace-empty": "{{ ('a' * 10**6)|replace('', 'x' * 10**4)|length }}",
    "replace-grow": "{{ ('a' * 10**6)|replace('a', 'x' * 10**4)|length }}",
    "replace-method": "{{ ('a' * 10**6).replace('a', 'x' * 10**4)|length }}",
    "replace-count": "{{ ('a' * 10**6).replace('a', 'b', 10**18)|length }}",
    "format-width": "{{ '%1000000000d'|format(1) }}",
    "format-precision": "{{ '%.1000000000f'|format(1.5) }}",
    "format-star": "{{ '%*d'|format(10**9, 1) }}",
    "format-method": "{{ '{:>1000000000}'.format(1) }}",
    "format-nested": "{{ '{:{w}}'.format(1, w=10**9) }}",
    "format-many": "{{ ('%s' * 10**6)|format('a') }}",
    "format-none": "{{ '%d'|format('x') }}",
    "wordwrap": "{{ ('a ' * 10**6)|wordwrap(1, wrapstring='x' * 10**4)|length }}",
    "tojson-indent": "{{ range(10**5)|list|tojson(indent=10**5)|length }}",
    "tojson-deep": "{% set ns = namespace(l=[]) %}{% for i in range(10**5) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l|tojson|length }}",
    "string-deep": "{% set ns = namespace(l=[]) %}{% for i in range(10**5) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}",
    "pprint": "{{ (range(10**6)|list)|pprint|length }}",
    "sort": "{{ range(10**6)|list|sort|length }}",
    "sort-texts": "{% set l = [] %}{% for i in range(3000) %}{% set _ = l.append('a' * 30000 ~ i) %}{% endfor %}{{ l|sort|length }}",
    "sort-mixed": "{{ [1, 'a', none]|sort }}",
    "sort-attribute": "{{ messages|sort(attribute='a.b.c.d') }}",
    "sort-many-times": "{% set l = range(10**5)|list %}{% for i in range(10**4) %}{% set _ = l|sort %}{% endfor %}",
    "unique": "{{ range(10**6)|unique|list|length }}",
    "unique-lists": "{% set l = [] %}{% for i in range(30000) %}{% set _ = l.append([i]) %}{% endfor %}{{ l|unique|list|length }}",
    "unique-texts": "{% set l = [] %}{% for i in range(3000) %}{% set _ = l.append('a' * 30000 ~ i) %}{% endfor %}{{ l|unique|list|length }}",
    "groupby": "{% set l = [] %}{% for i in range(50000) %}{% set _ = l.append({'a': i}) %}{% endfor %}{{ l|groupby('a')|list|length }}",
    "min": "{% set l = range(10**5)|list %}{% for i in range(10**4) %}{% set _ = l|min %}{% endfor %}",
    "max": "{% set l = range(10**5)|list %}{% for i in range(10**4) %}{% set _ = l|max %}{% endfor %}",
    "sum": "{% set l = range(10**5)|list %}{% for i in range(10**4) %}{% set _ = l|sum %}{% endfor %}",
    "sum-lists": "{% set l = [] %}{% for i in range(20000) %}{% set _ = l.append([i]) %}{% endfor %}{{ l|sum(start=[])|length }}",
    "reverse": "{% set s = 'a' * 10**6 %}{% for i in range(10**4) %}{% set _ = s|reverse %}{% endfor %}",
    "upper": "{% set s = 'a' * 10**6 %}{% for i in range(10**5) %}{% set _ = s|upper %}{% endfor %}",
    "title": "{% set s = 'a b ' * 10**5 %}{% for i in range(10**5) %}{% set _ = s|title %}{% endfor %}",
    "capitalize": "{% set s = 'a' * 10**6 %}{% for i in range(10**5) %}{% set _ = s|capitalize %}{% endfor %}",
    "wordcount": "{% set s = 'a b ' * 10**5 %}{% for i in range(10**5) %}{% set _ = s|wordcount %}{% endfor %}",
    "trim": "{% set s = ' ' * 10**6 %}{% for i in range(10**5) %}{% set _ = s|trim %}{% endfor %}",
    "strip": "{% set s = ' ' * 10**6 %}{% for i in range(10**5) %}{% set _ = s.strip() %}{% endfor %}",
    "length": "{% set s = '\u00e4' * 10**6 %}{% for i in range(10**6) %}{% set _ = s|length %}{% endfor %}",
    "list-of-text": "{% set s = 'a' * 10**6 %}{% for i in range(10**4) %}{% set _ = s|list %}{% endfor %}",
    "split": "{% set s = 'a ' * 10**6 %}{% for i in range(10**4) %}{% set _ = s.split() %}{% endfor %}",
    "split-one": "{% set s = 'a' * 10**6 %}{% for i in range(10**4) %}{% set _ = s.split('a') %}{% endfor %}",
    "splitlines": "{% set s = '\\n' * 10**6 %}{% for i in range(10**4) %}{% set _ = s.splitlines() %}{% endfor %}",
    "find": "{% set s = 'a' * 10**5 %}{% for i in range(10**5) %}{% set _ = s.find('a' * 5000 ~ 'b') %}{% endfor %}",
    "count": "{% set s = 'a' * 10**6 %}{% for i in range(10**5) %}{% set _ = s.count('a') %}{% endfor %}",
    "startswith": "{% set s = 'a' * 10**6 %}{% for i in range(10**6) %}{% set _ = s.startswith(s) %}{% endfor %}",
    "escape": "{% set s = '<' * 10**6 %}{% for i in range(10**4) %}{% set _ = s|escape %}{% endfor %}",
    "urlencode": "{% set s = '<' * 10**6 %}{% for i in range(10**4) %}{% set _ = s|urlencode %}{% endfor %}",
    "map-chain": "{{ range(10**6)|map('string')|map('upper')|map('lower')|map('length')|list|length }}",
    "select-chain": "{{ range(10**6)|select('odd')|reject('even')|list|length }}",
    "map-attribute": "{{ messages|map(attribute='" + "a." * 5000 + "a')|list }}",
    "items": "{% set d = dict(a=1) %}{% for i in range(10**7) %}{% set _ = d.items() %}{% endfor %}",
    "dictsort": "{% set d = {} %}{% for i in range(20000) %}{% set _ = d.update({i ~ '': i}) %}{% endfor %}{% for i in range(1000) %}{% set _ = d|dictsort %}{% endfor %}",
    "filesizeformat": "{{ (10**300)|filesizeformat }}",
    "round": "{{ 1.5|round(10**9) }}",
    "int-base": "{{ ('9' * 10**6)|int }}",
    "float": "{{ ('9' * 10**6)|float }}",
    "random": "{{ range(10**9)|random }}",
    "first": "{{ range(10**9)|first }}",
    "last": "{{ range(10**9)|last }}",
    "truncate": "{{ 'abc'|truncate(10**18) }}",
    "truncate-negative": "{{ 'abc'|truncate(-10**18, true) }}",
    "strftime": "{{ strftime_now('%Y' * 10**6)|length }}",
    "strftime-wide": "{{ strftime_now('%1000000000Y') }}",
    "striptags": "{{ ('<' * 10**6)|striptags|length }}",
    "striptags-open": "{{ ('<!--' * 10**6)|striptags|length }}",
    "xmlattr": "{{ {'a': 'x' * 10**7}|xmlattr|length }}",
    "urlize": "{{ ('http://a' * 10**5)|urlize|length }}",
}.items():
    render(f"filter-{name}", FILTERS, source)
COMPARE = "Comparing is work, too: of long values, of values in each other, of values in themselves."
SHARED = "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(200) %}{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}"
for name, source in {
    "shared-equal": SHARED + "{{ ns.a == ns.b }}",
    "shared-less": SHARED + "{{ ns.a < ns.b }}",
    "shared-in": SHARED + "{{ ns.a in [ns.b] }}",
    "shared-print": SHARED + "{{ ns.a }}",
    "shared-json": SHARED + "{{ ns.a|tojson }}",
    "shared-unique": SHARED + "{{ [ns.a, ns.b]|unique|list }}",
    "shared-sort": SHARED + "{{ [ns.a, ns.b]|sort }}",
    "shared-max": SHARED + "{{ [ns.a, ns.b]|max }}",
    "shared-key": SHARED + "{% set d = {ns.a: 1} %}",
    "shared-string": SHARED + "{{ ns.a|string|length }}",
    "shared-index": SHARED + "{{ [ns.a].index(ns.b) }}",
    "shared-count": SHARED + "{{ [ns.a].count(ns.b) }}",
    "cycle-print": "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}",
    "cycle-json": "{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson }}",
    "cycle-equal": "{% set l = [] %}{% set _ = l.append(l) %}{% set m = [] %}{% set _ = m.append(m) %}{{ l == m }}",
    "cycle-both": "{% set l = [] %}{% set m = [l, l] %}{% set _ = l.append(m) %}{% set _ = l.append(m) %}{{ l == m }}",
    "cycle-dict": "{% set d = {} %}{% set _ = d.update({'d': d}) %}{{ d }}",
    "cycle-dict-equal": "{% set d = {} %}{% set _ = d.update({'d': d}) %}{% set e = {} %}{% set _ = e.update({'d': e}) %}{{ d == e }}",
    "cycle-namespace": "{% set n = namespace() %}{% set n.n = n %}{{ n }}{{ n|tojson }}",
    "cycle-in": "{% set l = [] %}{% set _ = l.append(l) %}{{ [[]] in l }}",
    "cycle-sort": "{% set l = [] %}{% set _ = l.append(l) %}{{ [l, l]|sort }}",
    "cycle-join": "{% set l = [] %}{% set _ = l.append(l) %}{{ l|join }}",
    "cycle-sum": "{% set l = [] %}{% set _ = l.append(l) %}{{ l|sum(start=[]) }}",
    "cycle-extend": "{% set l = [1] %}{% for i in range(60) %}{% set _ = l.extend(l) %}{% endfor %}{{ l|length }}",
    "long-equal": "{% set a = 'a' * 10**6 %}{% set b = 'a' * 10**6 %}{% for i in range(10**6) %}{% if a == b %}{% endif %}{% endfor %}",
    "long-list-equal": "{% set a = range(10**5)|list %}{% set b = range(10**5)|list %}{% for i in range(10**5) %}{% if a == b %}{% endif %}{% endfor %}",
    "long-in": "{% set a = range(10**5)|list %}{% for i in range(10**5) %}{% if -1 in a %}{% endif %}{% endfor %}",
    "long-in-range": "{% for i in range(10**6) %}{% if -1 in range(10**9) %}{% endif %}{% endfor %}",
    "long-in-text": "{% set a = 'a' * 10**6 %}{% for i in range(10**5) %}{% if 'b' in a %}{% endif %}{% endfor %}",
    "is-lower": "{% set s = 'a' * 10**6 %}{% for i in range(10**5) %}{% if s is lower %}{% endif %}{% endfor %}",
    "is-upper": "{% set s = 'A' * 10**6 %}{% for i in range(10**5) %}{% if s is upper %}{% endif %}{% endfor %}",
    "is-in": "{% set a = range(10**5)|list %}{% for i in range(10**5) %}{% if -1 is in a %}{% endif %}{% endfor %}",
    "is-eq": "{% set a = 'a' * 10**6 %}{% set b = 'a' * 10**6 %}{% for i in range(10**6) %}{% if a is eq b %}{% endif %}{% endfor %}",
    "isdigit": "{% set s = '1' * 10**6 %}{% for i in range(10**5) %}{% if s.isdigit() %}{% endif %}{% endfor %}",
    "slice-text": "{% set s = 'a' * 10**6 %}{% for i in range(10**5) %}{% set _ = s[1:] %}{% endfor %}",
    "slice-reverse": "{% set s = 'a' * 10**6 %}{% for i in range(10**5) %}{% set _ = s[::-1] %}{% endfor %}",
    "slice-zero": "{{ 'abc'[::0] }}",
    "slice-huge": "{{ 'abc'[-10**18:10**18:10**18] }}",
    "slice-least": "{{ 'abc'[::-9223372036854775807-1] }}",
    "index-huge": "{{ 'abc'[10**18] }}{{ [1][-10**18] }}",
    "pop-front": "{% set l = range(10**5)|list %}{% for i in range(10**5) %}{% set _ = l.pop(0) %}{% endfor %}",
    "insert-front": "{% set l = [] %}{% for i in range(10**5) %}{% set _ = l.insert(0, i) %}{% endfor %}",
    "dict-get-list-key": "{{ {[1]: 2} }}",
    "deep-equal": "{% set ns = namespace(a=[], b=[]) %}{% for i in range(10**5) %}{% set ns.a = [ns.a] %}{% set ns.b = [ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
}.items():
    render(f"compare-{name}", COMPARE, source)
NEST = "The depth of the source must not use up the stack, nor its length the time."
for name, source in {
    "parens": lambda: "{{ " + "(" * 100_000 + "1" + ")" * 100_000 + " }}",
    "lists": lambda: "{{ " + "[" * 100_000 + "]" * 100_000 + " }}",
    "dicts": lambda: "{{ " + "{'a':" * 100_000 + "1" + "}" * 100_000 + " }}",
    "not": lambda: "{{ " + "not " * 100_000 + "1 }}",
    "minus": lambda: "{{ " + "-" * 100_000 + "1 }}",
    "if": lambda: "{% if 1 %}" * 50_000 + "{% endif %}" * 50_000,
    "for": lambda: "{% for a in [1] %}" * 50_000 + "{% endfor %}" * 50_000,
    "filters": lambda: "{{ 'a'" + "|upper" * 100_000 + " }}",
    "attributes": lambda: "{{ a" + ".b" * 100_000 + " }}",
    "items": lambda: "{{ a" + "[0]" * 100_000 + " }}",
    "calls": lambda: "{{ a" + "()" * 100_000 + " }}",
    "sum": lambda: "{{ 1" + "+1" * 200_000 + " }}",
    "and": lambda: "{{ 1" + " and 1" * 100_000 + " }}",
    "concat": lambda: "{{ 1" + "~1" * 200_000 + " }}",
    "power": lambda: "{{ 1" + "**1" * 100_000 + " }}",
    "compare": lambda: "{{ 1" + "<1" * 100_000 + " }}",
    "ternary": lambda: "{{ " + "1 if 1 else " * 50_000 + "1 }}",
    "elif": lambda: "{% if 0 %}" + "{% elif 0 %}" * 50_000 + "{% endif %}",
    "set": lambda: "{% set a = 1 %}" * 100_000,
    "set-block": lambda: "{% set a %}" * 20_000 + "{% endset %}" * 20_000,
    "filter-block": lambda: "{% filter upper %}" * 20_000 + "{% endfilter %}" * 20_000,
    "macro-in-macro": lambda: "{% macro f() %}" * 20_000 + "{% endmacro %}" * 20_000,
    "tuple": lambda: "{{ (" + "1," * 200_000 + ") }}",
    "arguments": lambda: "{{ f(" + "1," * 200_000 + "1) }}",
    "parameters": lambda: "{% macro f(" + ",".join(f"a{i}" for i in range(50_000)) + ") %}{% endmacro %}{{ f() }}",
    "names": lambda: "{{ " + "a" * 5_000_000 + " }}",
    "text": lambda: "a" * 20_000_000,
    "comment": lambda: "{#" + "a" * 20_000_000 + "#}",
    "open-comments": lambda: "{#" * 2_000_000,
    "open-outputs": lambda: "{{" * 2_000_000,
    "open-statements": lambda: "{%" * 2_000_000,
    "braces": lambda: "{" * 5_000_000,
    "raw": lambda: "{% raw %}" * 100_000,
    "quotes": lambda: "{{ '" * 1_000_000,
    "escapes": lambda: "{{ '" + "\\" * 4_000_001 + "' }}",
    "number-long": lambda: "{{ " + "9" * 1_000_000 + " }}",
    "trim-marks": lambda: ("{{- 1 -}}" + " " * 1000) * 3000,
    "line-ends": lambda: "\n" * 5_000_000 + "{{ 1 }}",
    "nul": "{{ '\0' }}\0",
    "binary": lambda: bytes(range(256)) * 1000,
    "unpack": lambda: "{% set " + ",".join(f"a{i}" for i in range(50_000)) + " = range(50000) %}",
}.items():
    render(f"nest-{name}", NEST, source)
WAY = "Ways out of a template, or into its host."
for name, source in {
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}",
    "extends": "{% extends '/etc/passwd' %}",
    "from": "{% from 'a' import b %}",
    "class": "{{ ''.__class__.__mro__ }}",
    "globals": "{{ cycler.__init__.__globals__ }}",
    "self": "{{ self }}",
    "builtins": "{{ [].__class__.__base__.__subclasses__() }}",
    "raise": "{{ raise_exception('x' * 10**7) }}",
    "raise-controls": "{{ raise_exception('\x1b[2J\r\n\x07') }}",
    "unknown-filter": "{{ 1|nothing }}",
    "unknown-test": "{{ 1 is nothing }}",
    "unknown-function": "{{ nothing() }}",
}.items():
    render(f"way-{name}", WAY, source)
render(
    "raise-is-one-line",
    "What a template raises is one line without control characters.",
    "{{ raise_exception('a\\nb\\x1b[31m') }}",
    refused,
)
render(
    "good",
    "A good template is rendered, or the other cases show nothing.",
    "{% for m in messages %}{{ m.role }}{% endfor %}",
    answered,
)
render(
    "variables-deep",
    "Values of the request in the place of the template's own.",
    "{{ a|tojson|length }}{{ a }}",
    extra=lambda: {"kwargs": {"a": json.loads("[" * 60 + "]" * 60)}},
)
render(
    "variables-many",
    "Many names beside those of the template cost their number.",
    "{{ k5 }}",
    extra=lambda: {"kwargs": {f"k{i}": i for i in range(200_000)}},
)
render(
    "messages-many",
    "Many messages cost their number.",
    "{% for m in messages %}{{ m.content }}{% endfor %}",
    messages=[{"role": "user", "content": "a"}] * 100_000,
)
render(
    "messages-twice",
    "A loop in a loop over many messages ends in an error.",
    "{% for m in messages %}{% for n in messages %}{{ n.content }}{% endfor %}{% endfor %}",
    messages=[{"role": "user", "content": "a"}] * 20_000,
)
render(
    "messages-slices",
    "A slice of many messages in every turn is work.",
    "{% for m in messages %}{% set r = messages[1:] %}{% endfor %}",
    messages=[{"role": "user", "content": "a"}] * 20_000,
)
render(
    "messages-selectattr",
    "A search over many messages in every turn is work.",
    "{% for m in messages %}{% set r = messages|selectattr('role', 'equalto', 'x')|list %}{% endfor %}",
    messages=[{"role": "user", "content": "a"}] * 20_000,
)
