"""Calls: nested functions, closures, lambdas, defaults, methods, recursion, comprehensions."""

import functools

from . import case

SCALE = 3


def helper(x):
    if x > 0:
        return x
    return -x


def twice(fn, x):
    return fn(fn(x))


class Counter:
    step = 2

    def __init__(self, start):
        self.value = start

    def next(self, x):
        if x > self.value:
            return x - self.value
        return self.value - x

    @staticmethod
    def double(x):
        if x > 0:
            return x * 2
        return x

    @classmethod
    def stepped(cls, x):
        return x + cls.step if x > 0 else x - cls.step

    @property
    def half(self):
        return self.value // 2

    def __call__(self, x):
        while x > self.value:
            x -= self.value
        return x


class Child(Counter):
    def next(self, x):
        if x > 100:
            return 0
        return super().next(x) + 1


@case((3,), (-3,))
def calls_helper(x):
    return helper(x) + helper(-x)


@case((3,), (-3,))
def uses_global(x):
    if x > 0:
        return x * SCALE
    return x


@case((3,), (-3,))
def nested_function(x):
    def inner(y):
        if y > 0:
            return y + 1
        return y - 1

    return inner(x) * inner(-x)


@case((3,), (-3,))
def closure(x):
    k = x * 2

    def inner(y):
        return y + k if y > 0 else k

    return inner(x)


@case((3,), (-3,))
def nonlocal_name(x):
    total = 0

    def add(y):
        nonlocal total
        total = total + y

    add(x)
    add(x * 2)
    return total


@case((3,), (-3,))
def lambda_call(x):
    f = lambda y: y + 1 if y > 0 else y - 1
    return f(x)


@case((3,), (-3,))
def lambda_in_argument(x):
    return twice(lambda y: y * 2 if y > 0 else y - 5, x)


@case((3,), (-3,))
def function_as_argument(x):
    return twice(helper, x)


@case((3,), (-3,))
def default_argument(x):
    def inner(y, k=10):
        return y * k if y > 0 else y + k

    return inner(x) + inner(x, 2) + inner(x, k=3)


@case((3,), (-3,))
def keyword_only(x):
    def inner(y, *, k):
        if y > 0:
            return y * k
        return k

    return inner(x, k=4)


@case((3,), (-3,))
def star_arguments(x):
    def inner(*values):
        s = 0
        for v in values:
            if v > 0:
                s += v
        return s

    return inner(x, 2, x + 1) + inner(*[x, 5])


@case((3,), (-3,))
def star_keywords(x):
    def inner(**named):
        return named["a"] - named["b"]

    return inner(a=x, b=2) + inner(**{"a": 1, "b": x})


@case((3,), (-3,))
def partial(x):
    def inner(a, b):
        return a - b if a > b else b

    return functools.partial(inner, 1)(x) + functools.partial(inner, b=2)(x)


@case((3,), (-3,))
def method(x):
    return Counter(1).next(x)


@case((3,), (-3,))
def bound_method(x):
    f = Counter(2).next
    return f(x) + f(x + 1)


@case((3,), (-3,))
def static_method(x):
    return Counter.double(x) + Counter(1).double(x)


@case((3,), (-3,))
def class_method(x):
    return Counter.stepped(x)


@case((3,), (-3,))
def property_read(x):
    return x + Counter(8).half


@case((30,), (3,))
def callable_object(x):
    return Counter(4)(x)


@case((30,), (300,))
def inherited_with_super(x):
    return Child(4).next(x)


@case((3,), (-3,))
def attribute_state(x):
    c = Counter(0)
    if x > 0:
        c.value = x
    else:
        c.value = -x * 2
    return c.value


@case((3,), (6,))
def attribute_in_loop(n):
    c = Counter(0)
    for i in range(n):
        c.value = c.value + i
    return c.value


@case((3,), (6,))
def attribute_in_while_with_break(n):
    c = Counter(0)
    while c.value < 100:
        c.value += n
        if c.value > 20:
            break
    return c.value


@case((5,), (0,))
def call_in_loop(n):
    s = 0
    for i in range(n):
        s += helper(i - 2)
    return s


@case((5,))
def nested_function_in_loop(n):
    s = 0
    for i in range(n):

        def inner(y):
            return y * i if y > 1 else y

        s += inner(i)
    return s


@case((5,))
def call_in_condition(n):
    while helper(n) > 1:
        n -= 1
    return n


@case((3,))
def recursion_over_python(x):
    def power(k):
        if k == 0:
            return 1
        return x * power(k - 1)

    return power(4)


@case((3,), (-3,))
def comprehension(x):
    return sum([x * k for k in range(4)])


@case((3,), (-3,))
def comprehension_with_test(x):
    return sum(x * k for k in range(6) if k % 2 == 0)


@case((3,), (-3,))
def comprehension_calls_helper(x):
    return sum([helper(x - k) for k in range(6)])


@case((3,), (-3,))
def dict_comprehension(x):
    d = {k: x + k for k in range(3)}
    return d[0] * d[2]


@case((3,), (-3,))
def map_and_filter(x):
    return sum(map(lambda k: helper(x + k), filter(lambda k: k > 1, [1, 2, 3])))


@case((3,), (-3,))
def any_all(x):
    return (any([x > 0, x > 10]), all([x > 0, x < 10]))


@case((3,), (-3,))
def sorted_python(x):
    order = sorted([3, 1, 2], key=lambda v: -v)
    return x * order[0] + order[1]


@case((3,), (-3,))
def returns_function_result(x):
    def make(k):
        def inner(y):
            return y + k if y > 0 else y * k

        return inner

    return make(5)(x)


@case((3,), (-3,))
def function_chosen_by_python(x):
    f = helper if SCALE == 3 else twice
    return f(x)


@case((3,), (-3,))
def returns_nothing_used(x):
    def nothing(y):
        if y > 0:
            y = 1

    nothing(x)
    return x


@case((3,), (-3,))
def shadowed_argument(x):
    def inner(x):
        x = x + 1
        return x

    y = inner(x)
    return x * 10 + y


@case((3,), (-3,))
def shadowed_in_loop(n):
    i = 100
    for i in range(3):
        n += i
    return n + i


@case((3,), (-3,))
def docstring_and_comments(x):
    """Has a docstring."""
    # and a comment
    if x > 0:  # here, too
        return 1
    return 0


@case((3,), (-3,))
def annotations(x: int) -> int:
    y: int = 2
    if x > 0:
        y = x
    return y


@case((3,), (-3,))
def try_finally(x):
    y = 0
    try:
        if x > 0:
            y = 1
    finally:
        y = y + 10
    return y


@case((3,), (-3,))
def try_except_python(x):
    try:
        k = {"a": 1}["b"]
    except KeyError:
        k = 5
    return k * x if x > 0 else k


@case((3,), (-3,))
def with_statement(x):
    import contextlib

    with contextlib.nullcontext(4) as k:
        if x > 0:
            x = x + k
    return x


@case((3,), (-3,))
def return_inside_with(x):
    import contextlib

    with contextlib.nullcontext(4) as k:
        if x > 0:
            return x + k
        return x


@case((3,), (-3,))
def del_name(x):
    y = x + 1
    z = y * 2
    del y
    if z > 0:
        y = 5
    else:
        y = 6
    return y + z


@case((3,), (-3,))
def local_class(x):
    class Point:
        def __init__(self, a):
            self.a = a

    p = Point(x)
    if x > 0:
        p.a = p.a + 1
    return p.a


@case((3,), (-3,))
def isinstance_python(x):
    k = [1, 2]
    if isinstance(k, list):
        return x + len(k)
    return x


@case((3,), (-3,))
def fstring_and_str(x):
    name = f"k{2}"
    return x * {"k2": 4}[name]


@case((3,), (-3,))
def lru_cached(x):
    @functools.lru_cache
    def table(k):
        return k * 2

    return x * table(3)


@case((10,), (1,))
def mutual_python(x):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    if even(4):
        return x
    return -x


@case((3.0,), (-3.0,))
def exception_with_a_name(x):
    try:
        y = x + 1.0
        if x > 0:
            y = y * 2.0
    except ValueError as error:
        y = str(error)
    return y


@case((3.0,), (-3.0,))
def exception_that_is_caught(x):
    try:
        y = x * 2.0
        {}["missing"]
    except KeyError as error:
        if x > 0:
            y = x * len(error.args)
    finally:
        y = y + 1.0
    return y


@case((3.0,), (1.0,))
def assert_with_formatted_message(x):
    assert x > 0, f"{x} is not positive, but {x:5}"
    if x > 2:
        x = x * 2.0
    return x


class _Scaled:
    """Names that begin with two underscores are the class's own."""

    def __init__(self, by):
        self.__by = by

    def __scale(self, x, __more=1.0):
        if x > 0:
            return x * self.__by + __more
        return x - __more

    def call(self, x):
        if x > 1:
            x = self.__scale(x)
        return x


@case((3.0,), (0.5,))
def private_names(x):
    return _Scaled(2.0).call(x)


@case((3.0,), (-2.0,))
def lambdas_of_one_line(x):
    def both(f, g):
        return f(x), g(x)

    return both(lambda a: a * 2.0 if a > 0 else a, lambda a: a * 3.0 if a > 0 else -a)


@case((3.0,), (-2.0,))
def lambda_that_reads_a_name_later(x):
    scale = 1.0
    scaled = lambda: x * scale
    if x > 0:
        scale = 5.0
    return scaled()


@case((3,), (-2,))
def else_of_a_try(n):
    found = []
    try:
        found.append(n)
    except ValueError:
        found.append(-1)
    else:
        if n > 0:
            return n
    return found[0] * 2
