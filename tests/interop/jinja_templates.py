# SPDX-License-Identifier: Apache-2.0
"""Random chat templates and variables, by a grammar: most of them render, some are errors."""

import random

NAMES = ["a", "b", "s", "t", "n", "f", "items", "names", "d", "deep", "messages", "flag", "nothing", "missing"]
TEXTS = ["", "a", "ab", "Hello World", " x ", "a,b,,c", "\\n", "Äß", "é", "1", "-7", "2.5", "0x1f", "zz\\nyy\\n", "A-b c", "%", "{", "İ", "x1y2",
         "\\t", "ǅ", "true", "tool", "user", "日本", "aaa", "  lead", "tail  ", "O'Neil", 'say \\"hi\\"']
ATTRIBUTES = ["role", "content", "a", "b", "x", "name", "0", "k"]
WORDS = ["user", "assistant", "a", "b", "c", "Zed", "zed", "ä", ""]
SORTED_BY = "(attribute='content,role')"
NUMBER_FORMATS = [">5", "<7", "^6", "05d", ",", ".2f", "x", "+d", ".3", "*^9", "e", "%", "<05", "#06x", "09,", "_b", "+08.2f", "=+7", "6G", "012,.1f"]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.depth = 0
        self.loops = 0
        self.macros = []
        self.namespaces = []
        self.generators = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    # Values of the context.
    def json(self, depth=0):
        kind = self.random.randrange(9 if depth < 3 else 6)
        if kind == 0:
            return self.random.choice([None, True, False])
        if kind == 1:
            return self.random.choice([0, 1, -1, 2, 7, 10, 100, 2**31, -(2**40), 12345678901234567890])
        if kind == 2:
            return self.random.choice([0.5, -1.5, 2.0, 1e20, 1e-7, 3.14159, 100.0, 1e16, 123456789.125])
        if kind < 6:
            return self.text_value()
        if kind == 6:
            return {self.random.choice(WORDS + ATTRIBUTES): self.json(depth + 1) for _ in range(self.random.randrange(4))}
        return [self.json(depth + 1) for _ in range(self.random.randrange(5))]

    def text_value(self):
        return self.random.choice(TEXTS).encode("latin-1", "backslashreplace").decode("unicode_escape") if self.chance(0.3) \
            else self.random.choice(WORDS + ["Hello, World", "two words", " padded ", "multi\nline\ntext", "<tag>&", "tab\there", "日本語", "ÄÖ"])

    def context(self):
        return {
            "a": self.json(), "b": self.json(), "s": self.text_value(), "t": self.text_value(), "n": self.random.randrange(-3, 12),
            "f": self.random.choice([0.0, 1.5, -2.25, 1e10, 0.1]), "items": [self.json(1) for _ in range(self.random.randrange(6))],
            "names": [self.random.choice(WORDS) for _ in range(self.random.randrange(6))],
            "d": {self.random.choice(WORDS): self.json(1) for _ in range(self.random.randrange(5))},
            "deep": {"a": {"b": [1, {"x": "y"}], "name": self.json(2)}, "k": self.json(1)}, "flag": self.chance(0.5), "nothing": None,
        }

    def messages(self):
        return [{"role": self.pick("user", "assistant", "system"), "content": self.text_value(), **({"k": self.json(1)} if self.chance(0.4) else {})}
                for _ in range(self.random.randrange(4))]

    # Expressions, by the kind of value that they most likely have.
    def text(self):
        choices = [lambda: '"' + self.random.choice(TEXTS).replace('"', '\\"').replace('\\\\"', '\\"') + '"',
                   lambda: "'" + self.pick("x", "ab", "-", ", ", "%s", "Q") + "'", lambda: self.pick("s", "t")]
        if self.depth < 4:
            choices += [lambda: self.text_method(), lambda: self.text_filter(), lambda: f"({self.expression()} ~ {self.expression()})",
                        lambda: f"{self.sliced()}[{self.slice()}]", lambda: f"({self.text()} + {self.text()})",
                        lambda: f"({self.text()} * {self.random.randrange(-1, 5)})", lambda: f"({self.expression()}|tojson({self.json_arguments()}))",
                        lambda: f"({self.list()}|join({self.pick('', self.text())}))", lambda: f"({self.format()})",
                        lambda: f"({self.expression()}|string)"]
        return self.down(choices)

    def down(self, choices):
        self.depth += 1
        try:
            return self.random.choice(choices)()
        finally:
            self.depth -= 1

    def atom(self):
        return self.down([lambda: self.random.choice(NAMES), lambda: self.random.choice(["s", "t", "items", "names", "d"]),
                          lambda: f"({self.expression()})"])

    def sliced(self):
        # No number or none: Jinja2 folds (1)[:] into an undefined value, where a variable of 1 is an error.
        return self.down([lambda: self.random.choice(NAMES), lambda: f"({self.text()})", lambda: f"({self.list()})"])

    def slice(self):
        part = lambda: self.pick("", "", str(self.random.randrange(-4, 6)))
        return self.pick(f"{part()}:{part()}", f"{part()}:{part()}:{self.random.choice(['', '-1', '2', '-2', '1'])}", "::-1")

    def json_arguments(self):
        return self.pick("", "", "", f"indent={self.random.randrange(0, 5)}", "ensure_ascii=true", "sort_keys=true", "separators=(',', ':')")

    def format(self):
        number = lambda: self.pick(self.integer(), self.float())
        return self.pick(
            lambda: f"'%{self.pick('', '5', '-5', '05', '+', '.2', '8.3', '+07', '0-6', ' 04.2', '7.')}{self.random.choice('idsrxXoefgGE')}' % {number()}",
            lambda: f"'%s|%s' % ({self.expression()}, {self.expression()})",
            lambda: f"'{{}}-{{}}'.format({self.expression()}, {self.text()})",
            lambda: f"'{{:{self.random.choice(NUMBER_FORMATS)}}}'.format({number()})",
            lambda: f"'{{:{self.pick('>5', '<7', '^6', '.2', '*^9.3', 's', '05')}}}'.format({self.text()})",
            lambda: f"'{{0}}{{1}}{{0}}'.format({self.text()}, {self.integer()})",
            lambda: f"'%s=%d'|format({self.text()}, {self.integer()})")()

    def text_method(self):
        base = self.pick("s", "t", f"({self.text()})", "'Hello World'", "'a,b,,c'")
        small = lambda: self.pick("'a'", "' '", "','", "'o'", "'l'", "'lo'", "''", "'Hel'", "'\\n'")
        return base + self.pick(
            lambda: f".{self.pick('upper', 'lower', 'strip', 'lstrip', 'rstrip', 'capitalize', 'title')}()",
            lambda: f".{self.pick('strip', 'lstrip', 'rstrip')}({small()})",
            lambda: f".replace({small()}, {self.pick(small(), 'zz')!s})" if False else f".replace({small()}, {small()})",
            lambda: f".replace({small()}, {small()}, {self.random.randrange(-1, 3)})",
            lambda: f".split({self.pick('', small())})|join('|')",
            lambda: f".{self.pick('split', 'rsplit')}({small()}, {self.random.randrange(0, 3)})|join('|')",
            lambda: f".split(none, {self.random.randrange(0, 3)})|join('|')",
            lambda: ".splitlines()|join('/')",
            lambda: f".{self.pick('removeprefix', 'removesuffix')}({small()})",
            lambda: f".{self.pick('ljust', 'rjust', 'zfill')}({self.random.randrange(0, 9)})",
            lambda: f".join({self.pick('names', '[s, t]', 's')})")()

    def text_filter(self):
        return f"({self.expression()}|" + self.pick(
            lambda: self.pick("upper", "lower", "trim", "title", "capitalize", "string", "escape", "safe"),
            lambda: f"replace({self.text()}, {self.text()})", lambda: f"default({self.text()})", lambda: f"default({self.text()}, true)",
            lambda: f"indent({self.random.randrange(0, 5)})", lambda: f"indent({self.random.randrange(0, 5)}, {self.pick('true', 'false')}, true)",
            lambda: f"trim({self.pick(chr(39) + 'a' + chr(39), chr(39) + ' x' + chr(39))})")() + ")"

    def integer(self):
        # No power of an expression: Jinja2 folds (-2) ** 2 into -2 ** 2.
        choices = [lambda: str(self.random.randrange(0, 12)), lambda: "n", lambda: self.pick("3", "100", "-2", "1000000", "0x10", "1_000")]
        if self.depth < 4:
            number = self.integer
            choices += [lambda: f"({number()} {self.pick('+', '-', '*', '//', '%')} {number()})", lambda: f"({self.list()}|length)",
                        lambda: f"({self.atom()}|length)", lambda: f"({self.expression()}|int)", lambda: f"(-{number()})",
                        lambda: f"({self.text()}.{self.pick('find', 'rfind', 'count')}({self.pick(chr(39) + 'a' + chr(39), chr(39) + 'o' + chr(39), 's')}))",
                        lambda: f"({self.text()}|wordcount)", lambda: f"(n ** {self.random.randrange(0, 4)})",
                        lambda: f"({self.expression()}|int({self.random.randrange(3)}, {self.pick('10', '16', '2')}))", lambda: f"({number()}|abs)",
                        lambda: f"(names.{self.pick('index', 'count')}({self.text()}))"]
        return self.down(choices)

    def float(self):
        choices = [lambda: "f", lambda: self.pick("0.5", "1.0", "2.25", "1e3", "1.5e-7", "10.0")]
        if self.depth < 4:
            choices += [lambda: f"({self.integer()} / {self.integer()})", lambda: f"({self.float()} {self.pick('+', '-', '*', '//', '%')} {self.integer()})",
                        lambda: f"({self.expression()}|float)", lambda: f"({self.float()}|round({self.random.randrange(-1, 4)}))",
                        lambda: f"({self.float()}|round({self.random.randrange(0, 3)}, '{self.pick('ceil', 'floor', 'common')}'))"]
        return self.down(choices)

    def list(self):
        choices = [lambda: self.pick("items", "names", "messages"), lambda: "[]"]
        if self.depth < 4:
            item = self.expression
            choices += [lambda: f"[{item()}, {item()}]", lambda: f"[{item()}]", lambda: f"({item()}, {item()})", lambda: f"({item()},)",
                        lambda: f"({self.list()} + {self.list()})", lambda: f"({self.list()}[{self.slice()}])",
                        lambda: f"({self.list()} * {self.random.randrange(-1, 4)})", lambda: f"({self.sequence()}|list)",
                        lambda: f"({self.atom()}|list)", lambda: f"({self.sequence()}|sort{self.pick('', '(reverse=true)', '(case_sensitive=true)', SORTED_BY)})",
                        lambda: f"(range({self.random.randrange(0, 5)})|list)", lambda: f"(range({self.integer()}, {self.integer()}, {self.pick('1', '2', '-1')})|list)",
                        lambda: f"({self.dict()}.{self.pick('keys', 'values', 'items')}()|list)", lambda: f"({self.dict()}|items|list)",
                        lambda: f"({self.dict()}|dictsort{self.pick('', '(true)', '(reverse=true)')})" if self.chance(0.5) else "(d|dictsort)",
                        lambda: f"(messages|groupby('role')|map(attribute=0)|list)", lambda: f"({self.sequence()}|reverse|list)",
                        lambda: f"({self.sequence()}|batch({self.random.randrange(1, 4)}{self.pick('', ', 0', ', ' + chr(39) + 'x' + chr(39))})|list)",
                        lambda: f"({self.text()}.split({self.pick('', chr(39) + ',' + chr(39))}))"]
        return self.down(choices)

    def sequence(self):
        """Also lazy ones: not to be printed as they are."""
        base = self.list() if self.chance(0.8) else self.atom()
        return self.pick(
            lambda: base, lambda: f"{base}|map('{self.pick('string', 'upper', 'length', 'int', 'trim', 'first', 'list', 'tojson', 'default')}')",
            lambda: f"messages|map(attribute='{self.random.choice(ATTRIBUTES)}')",
            lambda: f"messages|map(attribute='{self.random.choice(ATTRIBUTES)}', default={self.expression()})",
            lambda: f"{base}|{self.pick('select', 'reject')}", lambda: f"{base}|{self.pick('select', 'reject')}('{self.simple_test()}')",
            lambda: f"{base}|{self.pick('select', 'reject')}('{self.pick('equalto', 'ne', 'in', '==', 'gt')}', {self.expression()})",
            lambda: f"messages|{self.pick('selectattr', 'rejectattr')}('{self.random.choice(ATTRIBUTES)}')",
            lambda: f"messages|{self.pick('selectattr', 'rejectattr')}('role', '{self.pick('equalto', '==', 'ne', 'in')}', {self.text()})",
            lambda: f"{base}|unique", lambda: f"{base}|reverse")()

    def dict(self):
        choices = [lambda: "d", lambda: "deep", lambda: "{}"]
        if self.depth < 4:
            key = lambda: self.pick(self.text(), self.integer(), "'a'", "'b'", "none", "true", "1.0", "(1, 2)")
            choices += [lambda: f"{{{key()}: {self.expression()}}}", lambda: f"{{{key()}: {self.expression()}, {key()}: {self.expression()}}}",
                        lambda: f"dict(a={self.expression()}, b=1)", lambda: f"dict({self.dict()}, x=1)", lambda: f"dict([('a', 1), ({self.text()}, 2)])",
                        lambda: f"({self.dict()}.copy())", lambda: "messages[0]"]
        return self.down(choices)

    def simple_test(self):
        return self.pick("defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "iterable", "sequence", "true",
                         "false", "lower", "upper", "callable")

    def boolean(self):
        choices = [lambda: self.pick("true", "false", "flag", "True")]
        if self.depth < 4:
            value = self.expression
            choices += [lambda: f"({value()} {self.pick('==', '!=', '==', '<', '>=', '<=', '>')} {value()})",
                        lambda: f"({self.integer()} {self.pick('<', '>', '<=', '>=', '==')} {self.integer()})",
                        lambda: f"({self.integer()} < {self.integer()} <= {self.integer()})",
                        lambda: f"({value()} {self.pick('in', 'not in')} {self.pick(self.list(), self.text(), self.dict())})",
                        lambda: f"({value()} is {self.pick('', 'not ')}{self.simple_test()})", lambda: f"({self.atom()} is {self.pick('', 'not ')}defined)",
                        lambda: f"({self.integer()} is {self.pick('odd', 'even', 'divisibleby(3)', 'gt 2', 'eq(1)')})", lambda: f"(not {value()})",
                        lambda: f"({value()} {self.pick('and', 'or')} {value()})",
                        lambda: f"({self.text()}.{self.pick('startswith', 'endswith')}({self.text()}))",
                        lambda: f"({self.text()}.{self.pick('isdigit', 'isalpha', 'isalnum', 'isspace', 'isupper', 'islower')}())",
                        lambda: f"({self.list()} < {self.list()})", lambda: f"({value()} is sameas {self.pick('true', 'none', 'false')})",
                        lambda: f"({value()} is in {self.list()})"]
        return self.down(choices)

    def expression(self):
        choices = [lambda: self.random.choice(NAMES), self.text, self.integer, self.float, self.boolean, lambda: self.pick("none", "None", "missing")]
        if self.depth < 4:
            choices += [self.list, self.dict, lambda: f"{self.atom()}.{self.random.choice(ATTRIBUTES[:-2] + ['k'])}",
                        lambda: f"{self.atom()}['{self.random.choice(ATTRIBUTES)}']", lambda: f"{self.atom()}[{self.random.randrange(-3, 4)}]",
                        lambda: f"({self.expression()} if {self.boolean()} else {self.expression()})", lambda: f"({self.expression()} if {self.boolean()})",
                        lambda: f"{self.dict()}.get({self.text()})", lambda: f"{self.dict()}.get({self.text()}, {self.expression()})",
                        # "first" of a lazy one is left out: Jinja2 then ignores what fails in later items.
                        lambda: f"({self.sequence()}|{self.pick('last', 'min', 'max', 'sum', 'length')})" if self.chance(0.7) else f"({self.list()}|last)",
                        lambda: f"({self.list()}|{self.pick('first', 'last', 'min', 'max', 'sum', 'length', 'count')})",
                        lambda: f"({self.expression()}|default({self.expression()}))", lambda: f"deep.{self.pick('a.b', 'a.b[1].x', 'k', 'a.name', 'a.zz', 'zz.a')}",
                        lambda: f"({self.expression()}|{self.pick('string', 'length', 'list', 'upper', 'd', 'abs', 'trim', 'tojson', 'float', 'int')})",
                        lambda: f"({self.expression()}|tojson|{self.pick('from_json', 'fromjson')})",
                        lambda: f"({self.pick(self.text(), self.expression())}|from_json)",
                        lambda: f"({self.list()}|sum(start={self.integer()}))", lambda: f"(messages|sum(attribute='{self.random.choice(ATTRIBUTES)}'))",
                        lambda: f"({self.expression()} {self.pick('+', '-', '*', '/', '%', '//')} {self.expression()})"]
            if self.loops:
                choices += [lambda: "loop." + self.pick("index", "index0", "first", "last", "length", "revindex", "revindex0", "depth", "previtem", "nextitem"),
                            lambda: f"loop.cycle({self.expression()}, {self.expression()})", lambda: f"loop.changed({self.expression()})", lambda: "item"]
            if self.generators:
                # No lazy filter of one that is not taken in full: ours takes all items of the generator that it is made from.
                one = lambda: self.random.choice(self.generators)
                choices += [lambda: f"({one()}|{self.pick('first', 'list', 'join', 'sum', 'length')})", lambda: f"({self.expression()} in {one()})",
                            lambda: f"({one()}|{self.pick('map', 'select', 'reject')}({self.pick('', repr('string'))})|list)"]
            if self.macros:
                choices += [self.macro_call]
            if self.namespaces:
                choices += [lambda: f"{self.random.choice(self.namespaces)}.{self.pick('x', 'y', 'count')}"]
        return self.down(choices)

    def macro_call(self):
        name, count = self.random.choice(self.macros)
        arguments = [self.expression() for _ in range(self.random.randrange(count + 1))]
        if count and self.chance(0.3) and len(arguments) < count:
            arguments.append(f"p{count - 1}={self.expression()}")
        return f"{name}({', '.join(arguments)})"

    # Statements.
    def tag(self, content):
        return "{%" + self.pick("", "-", "", "+", "-") + f" {content} " + self.pick("", "", "-", "+", "") + "%}"

    def block(self, size=3):
        return "".join(self.statement() for _ in range(self.random.randrange(1, size + 1)))

    def statement(self):
        choices = [lambda: self.pick("text", "\n", "  ", " x\n", "{", "}", "\n  \n", "#", "\t", "a\nb", "%", "\r\n"),
                   lambda: "{{" + self.pick("", "-", "") + " " + self.expression() + " " + self.pick("", "-", "") + "}}",
                   lambda: "{{ " + self.expression() + " }}", lambda: "{#" + self.pick("", "-") + " note " + self.pick("", "-") + "#}"]
        if self.depth < 3:
            choices += [self.if_block, self.for_block, self.set_statement, self.for_block, self.counting_loop, self.set_generator, self.macro_block, self.namespace_block, self.with_block,
                        self.filter_block, lambda: self.tag("raw") + " {{ x }} {% y " + self.tag("endraw"),
                        lambda: self.tag("generation") + self.scoped() + self.tag("endgeneration")]
            if self.loops:
                choices += [lambda: self.tag(f"if {self.boolean()}") + self.tag(self.pick("break", "continue")) + self.tag("endif")]
        return self.down(choices)

    def scoped(self):
        loops, self.loops = self.loops, 0
        outer = list(self.macros), list(self.namespaces), list(self.generators)
        try:
            return self.block()
        finally:
            self.loops, (self.macros, self.namespaces, self.generators) = loops, outer

    def inner(self):
        outer = list(self.macros), list(self.namespaces), list(self.generators)
        try:
            return self.block()
        finally:
            self.macros, self.namespaces, self.generators = outer

    def if_block(self):
        out = self.tag(f"if {self.pick(self.boolean(), self.expression())}") + self.inner()
        if self.chance(0.3):
            out += self.tag(f"elif {self.boolean()}") + self.inner()
        if self.chance(0.4):
            out += self.tag("else") + self.inner()
        return out + self.tag("endif")

    def for_block(self):
        target, iterable = self.pick(("item", self.pick(self.sequence(), self.list(), self.atom())), ("item", self.list()),
                                     ("key, item", f"{self.dict()}.items()"), ("item", "messages"), ("(key, item)", "d|dictsort"))
        condition = f" if {self.boolean()}" if self.chance(0.2) else ""
        out = self.tag(f"for {target} in {iterable}{condition}")
        self.loops += 1
        out += self.inner()
        self.loops -= 1
        if self.chance(0.2):
            out += self.tag("else") + self.inner()
        return out + self.tag("endfor")

    def counting_loop(self):
        """A loop whose condition depends on what its body does; it may also be left, or ask for later items."""
        iterable = self.pick(self.list(), self.list(), self.sequence(), self.pick(*self.generators, "nothing", "missing", "n", "d", "s"))
        name = self.pick("ns", "state")
        out = self.tag(f"set {name} = namespace(x=0, y={self.expression()}, count={self.random.randrange(3)})")
        condition = self.pick(f"{name}.count < {self.random.randrange(1, 5)}", f"{name}.count is even", f"item != {name}.y", f"{name}.x < 2 or item")
        out += self.tag(f"for item in {iterable} if {condition}") + "{{ item }}"
        self.loops += 1
        self.namespaces.append(name)
        step = self.tag(f"set {name}.{self.pick('count', 'count', 'x')} = {name}.{self.pick('count', 'x')} + 1")
        looks = "{{ loop." + self.pick("last", "nextitem", "length", "revindex", "revindex0", "previtem", "index", "first") + " }}"
        parts = [step, self.pick(looks, ""), self.pick("", self.tag(f"set {name}.y = item")), self.pick("", self.statement())]
        self.random.shuffle(parts)
        out += "".join(parts)
        self.namespaces.pop()
        self.loops -= 1
        return out + self.pick("", self.tag("else") + "none") + self.tag("endfor") + "{{ " + name + ".count }}"

    def set_generator(self):
        name = self.pick("g", "h")
        out = self.tag(f"set {name} = {self.sequence()}")
        self.generators.append(name)
        return out

    def set_statement(self):
        # The names of the context are left out: in blocks that assign a name later on, Jinja2 does not see the one of
        # the context before.
        name = self.pick("v", "w")
        if self.namespaces and self.chance(0.5):
            return self.tag(f"set {self.random.choice(self.namespaces)}.{self.pick('x', 'y', 'count')} = {self.expression()}")
        return self.pick(lambda: self.tag(f"set {name} = {self.expression()}") + "{{ " + name + " }}",
                         lambda: self.tag(f"set {name}{self.pick('', ' | upper', ' | trim')}") + self.inner() + self.tag("endset") + "{{ " + name + " }}",
                         lambda: self.tag(f"set v, w = {self.expression()}, {self.expression()}") + "{{ v }}{{ w }}")()

    def namespace_block(self):
        name = self.pick("ns", "state")
        out = self.tag(f"set {name} = namespace(x={self.expression()}, count=0)")
        self.namespaces.append(name)
        return out

    def macro_block(self):
        name, count = self.pick("m1", "m2"), self.random.randrange(3)
        parameters = [f"p{i}" + (f"={self.expression()}" if i == count - 1 and self.chance(0.5) else "") for i in range(count)]
        loops, self.loops = self.loops, 0
        macros, self.macros = self.macros, []
        body = self.pick("", "{{ p0 }}" if count else "", self.inner()) + "{{ p0 }}" * (count > 0)
        self.loops, self.macros = loops, macros
        self.macros.append((name, count))
        return self.tag(f"macro {name}({', '.join(parameters)})") + body + self.tag("endmacro") + "{{ " + self.macro_call() + " }}"

    def with_block(self):
        return self.tag(f"with v = {self.expression()}, w = {self.expression()}") + self.inner() + "{{ v }}" + self.tag("endwith")

    def filter_block(self):
        return self.tag(f"filter {self.pick('upper', 'trim', 'indent(2)', 'replace(' + chr(39) + 'a' + chr(39) + ', ' + chr(39) + 'b' + chr(39) + ')', 'title')}") \
            + self.inner() + self.tag("endfilter")

    def template(self):
        return self.block(6)
