"""Random functions of two ints in plain Python: every statement in every other,
all of whose runs end."""

import random

_NAMES = ["a", "b", "c", "d"]  # what programs assign
_HEAD = """def f(n, m):
    a = n + 1; b = m; c = 0; d = n - m
    out = [n]
    table = [n, 0, m, 1]
    grid = [[n, 1], [m, 0]]
    box = {"x": [n], "y": m}
    held = Held(n, m)
"""
_RESULT = (
    "a, b, c, d, len(out), out[0], out[-1], table[0], table[1], table[2], table[3], grid[0][1], "
    "grid[1][0], box['y'], box['x'][-1], len(held.values), held.count, held.table[1]"
)


class Held:
    """What programs know by this name."""

    def __init__(self, n, m):
        self.values, self.count, self.table = [n], m, [n, m, 1, 0]


class _Writer:
    """Writes one program. read: names that expressions may read where it is."""

    def __init__(self, seed):
        self.random, self.lines, self.count = random.Random(seed), [], 0
        self.read = [*_NAMES, "n", "m"]

    def new(self, start):
        self.count += 1
        return f"{start}{self.count}"

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    def expression(self, depth=2):
        kind = self.random.randrange(7) if depth else self.random.randrange(2)
        if kind == 0:
            return str(self.random.randrange(-3, 6))
        if kind == 1:
            return self.random.choice(self.read)
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        return (
            f"({left} + {right})",
            f"({left} - {right})",
            f"({left} * 3 % 17)",
            f"({left} % 11)",
            f"({left} if {self.condition(0)} else {right})",
        )[kind - 2]

    def condition(self, depth=2):
        kind = self.random.randrange(6) if depth else 0
        sign = self.random.choice(["<", ">", "<=", "==", "!="])
        left, right = self.expression(min(depth, 1)), self.expression(min(depth, 1))
        if kind == 3:
            word = self.random.choice(["and", "or"])
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        if kind == 4:
            return f"not {self.condition(depth - 1)}"
        return (
            f"{left} < {self.expression(0)} <= {right}" if kind == 5 else f"{left} {sign} {right}"
        )

    def block(self, indent, depth, in_loop, at_most=3):
        for _ in range(self.random.randrange(1, at_most + 1)):
            kinds = self.SIMPLE if depth <= 0 else self.SIMPLE + self.COMPOUND
            self.random.choice(kinds)(self, indent, depth, in_loop)

    # ---- Statements

    def assign(self, indent, depth, in_loop):
        name, sign = self.random.choice(_NAMES), self.random.choice(["=", "=", "+=", "-="])
        self.line(indent, f"{name} {sign} {self.expression()}")

    def unpack(self, indent, depth, in_loop):
        self.line(indent, f"a, b = {self.expression()}, {self.expression()}")

    def append(self, indent, depth, in_loop):
        self.line(indent, f"out.append({self.expression(1)})")

    def item(self, indent, depth, in_loop):
        self.line(indent, f"table[{self.random.randrange(-4, 4)}] = {self.expression()}")

    def item_at(self, indent, depth, in_loop):
        i, j, value = self.expression(1), self.expression(1), self.expression(1)
        self.line(
            indent,
            self.random.choice(
                [
                    f"table[({i}) % 4] = {value}",
                    f"table[({i}) % 4] += {value}",
                    f"grid[({i}) % 2][({j}) % 2] = {value}",
                    f"grid[({i}) % 2][({j}) % 2] -= {value}",
                    f"{self.random.choice(_NAMES)} = table[({i}) % 4] + grid[({i}) % 2][({j}) % 2]",
                    f"table[0], table[({i}) % 4] = table[3], {value}",
                    f"a = b = table[({i}) % 4] % 29",
                    f"held.table[{self.random.randrange(4)}] = {value}",
                    f"held.table[({i}) % 4] += 1",
                ]
            ),
        )

    def resize(self, indent, depth, in_loop):
        """A list that grows is also assigned by item, cut, or another one."""
        value = self.expression(1)
        self.line(
            indent,
            self.random.choice(
                [
                    f"out[0] = {value}",
                    f"out[-1] += {value}",
                    f"out = [{value}] + out",
                    "out = out[:2]",
                    "out = out[-3:]",
                    "out = out[::-1]",
                    f"out = [out[0], {value}, out[-1]]",
                    f"out.extend(out[:2] + [{value}])",
                ]
            ),
        )

    def change(self, indent, depth, in_loop):
        value = self.expression(1)
        self.line(
            indent,
            self.random.choice(
                [
                    f"out.extend([{value}, n])",
                    f"out += [{value}]",
                    f"out = out + [{value}]",
                    f"box['x'].append({value})",
                    f"box['y'] += {value}",
                    f"box.update(y={value})",
                    f"held.values.append({value})",
                    f"held.count -= {value}",
                    f"held.count = {value}",
                    f"a = 1 if {value} in (1, 2, 5) else sum(table) % 13",
                    f"b = max(table) - min({value}, n)",
                ]
            ),
        )

    def conditional(self, indent, depth, in_loop):
        for word in ["if", "elif"][: self.random.randrange(1, 3)]:
            self.line(indent, f"{word} {self.condition()}:")
            self.block(indent + 1, depth - 1, in_loop)
        if self.random.random() < 0.5:
            self.line(indent, "else:")
            self.block(indent + 1, depth - 1, in_loop)

    def for_loop(self, indent, depth, in_loop):
        name = self.new("i")
        count = self.random.choice(["3", "n % 5", "len(table)", f"{self.expression(1)} % 4"])
        self.line(indent, f"for {name} in range({count}):")
        self.loop_body(indent, depth, name, in_loop)

    def while_loop(self, indent, depth, in_loop):
        name, more = self.new("k"), self.random.choice(["", f" and {self.condition(1)}"])
        self.line(indent, f"{name} = {self.random.choice(['0', 'n * 0'])}")
        self.line(indent, f"while {name} < {self.random.randrange(1, 6)}{more}:")
        self.line(indent + 1, f"{name} += 1")
        self.loop_body(indent, depth, name, in_loop)

    def loop_body(self, indent, depth, name, in_loop):
        self.read.append(name)
        self.block(indent + 1, depth - 1, True)
        self.read.remove(name)
        if self.random.random() < 0.2:
            self.line(indent, "else:")
            self.block(indent + 1, depth - 1, in_loop)

    def jump(self, indent, depth, in_loop):
        self.line(indent, f"if {self.condition(1)}:")
        if self.random.random() < 0.5:
            self.block(indent + 1, 0, in_loop, 1)
        words = ["break", "continue"] if in_loop else []
        self.line(indent + 1, self.random.choice([*words, f"return {_RESULT}"]))

    def last(self, indent, depth, in_loop):
        """What a block ends with: mostly a return, on all paths or on some."""
        if self.random.random() < 0.6:
            self.block(indent, depth, in_loop, 2)
        kind = self.random.random()
        if kind < 0.35 and depth > 0:
            self.both(indent, depth, in_loop)
        elif kind < 0.5 and depth > 0:
            self.endless_loop(indent, depth, in_loop)
        elif kind < 0.7 and in_loop:
            self.line(indent, self.random.choice(["break", "continue"]))
        else:
            self.line(indent, "pass" if kind < 0.75 else f"return {_RESULT}")

    def both(self, indent, depth, in_loop):
        self.line(indent, f"if {self.condition()}:")
        self.last(indent + 1, depth - 1, in_loop)
        self.line(indent, "else:")
        self.last(indent + 1, depth - 1, in_loop)

    def endless_loop(self, indent, depth, in_loop):
        name = self.new("k")
        self.line(indent, f"{name} = n * 0")
        self.line(indent, "while True:")
        self.line(indent + 1, f"{name} += 1")
        self.line(indent + 1, f"if {name} > {self.random.randrange(1, 5)}:")
        self.line(indent + 2, self.random.choice(["break", f"return {_RESULT}"]))
        self.loop_body(indent, depth, name, False)

    def loop_over_rows(self, indent, depth, in_loop):
        name = self.new("i")
        rows = self.random.choice(
            [
                f"{name} in list(out)",
                f"{name} in (n, m, 2)",
                f"_, {name} in enumerate(list(table))",
                f"{name}, _ in zip(list(table), range(n % 4))",
            ]
        )
        self.line(indent, f"for {rows}:")
        self.loop_body(indent, depth, name, in_loop)

    def managed(self, indent, depth, in_loop):
        self.line(indent, "with contextlib.nullcontext():")
        self.random.choice([self.last, self.block])(indent + 1, depth - 1, in_loop)

    def whole_function(self, indent, depth, in_loop):
        name, kept = self.new("f"), self.read
        self.line(indent, f"def {name}(n, m):")
        self.lines.extend("    " * indent + text for text in _HEAD.splitlines()[1:])
        self.read = [*_NAMES, "n", "m"]
        self.block(indent + 1, depth - 1, False)
        self.line(indent + 1, f"return {_RESULT}")
        self.read = kept
        self.line(indent, f"a, b, c, d = {name}({self.expression(1)}, {self.expression(1)})[:4]")
        self.line(indent, "a, b, c, d = a % 31, b % 31, c % 31, d % 31")

    def function_that_assigns(self, indent, depth, in_loop):
        name, assigned = self.new("f"), self.random.choice(_NAMES)
        self.line(indent, f"def {name}(x):")
        self.line(indent + 1, f"nonlocal {assigned}")
        self.line(indent + 1, f"if {self.condition(1)}:")
        self.line(indent + 2, f"{assigned} = (x + {assigned}) % 19")
        self.line(indent + 1, f"return x - {assigned}")
        self.line(indent, f"{self.random.choice(_NAMES)} = {name}({self.expression(0)})")

    def function(self, indent, depth, in_loop):
        name, argument = self.new("f"), self.new("x")
        self.line(indent, f"def {name}({argument}, y=a):")
        kept, self.read = self.read, [*self.read, argument, "y"]
        self.line(indent + 1, f"if {self.condition(1)}:")
        self.line(indent + 2, f"return {self.expression(1)}")
        self.line(indent + 1, f"return {self.expression(1)}")
        self.read = kept
        self.line(indent, f"{self.random.choice(_NAMES)} = {name}({self.expression(1)}) % 23")

    def attempt(self, indent, depth, in_loop):
        self.line(indent, "try:")
        self.block(indent + 1, depth - 1, in_loop)
        if self.random.random() < 0.5:
            self.line(indent, "except ValueError as error:")
            self.line(indent + 1, "a = len(str(error))")
        else:
            self.line(indent, "finally:")
            self.block(indent + 1, 0, False, 1)

    SIMPLE = [assign, assign, unpack, append, item, item_at, change, resize]
    COMPOUND = [
        conditional,
        conditional,
        for_loop,
        while_loop,
        jump,
        function,
        attempt,
        both,
        endless_loop,
        loop_over_rows,
        managed,
        whole_function,
        function_that_assigns,
    ]


def program(seed):
    """The source of a function f(n, m)."""
    writer = _Writer(seed)
    writer.block(1, 3, False, 6)
    return f"{_HEAD}" + "\n".join(writer.lines) + f"\n    return {_RESULT}\n"
