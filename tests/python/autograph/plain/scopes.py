"""Names: shadowed, nonlocal, global, captured, default values, attributes,
and values that change them."""

from . import case

LEVEL = 1.5
COUNTS = {"calls": 0}


class Cell:
    """State in attributes, changed by methods and from outside."""

    def __init__(self, value, gain=0.5):
        self.value, self.gain = value, gain
        self.inner = None

    def push(self, x):
        if x > self.value:
            return x * self.gain + self.value
        return self.value - x * self.gain

    def scaled(self):
        return Cell(self.value * self.gain, self.gain)

    def __add__(self, other):
        return Cell(self.value + other.value, self.gain)

    def __getitem__(self, k):
        return self.value * k

    def __enter__(self):
        self.value = self.value + 1.0
        return self

    def __exit__(self, *error):
        self.value = self.value * 2.0


@case((2.0,), (-2.0,))
def nonlocal_in_if(x):
    total = x

    def add(k):
        nonlocal total
        if k > 0.0:
            total = total + k
        else:
            total = total * k

    add(x)
    add(x * 0.5)
    return total


@case((2.0,), (-2.0,))
def nonlocal_in_loop(x):
    total = 1.0

    def grow(n):
        nonlocal total
        for _ in range(n):
            total = total * x + 1.0

    grow(3)
    return total


@case((2.0, 4), (0.5, 2))
def nonlocal_in_while(x, n):
    steps = 0.0

    def run(k):
        nonlocal steps
        while k > 0:
            steps = steps + x
            k -= 1
        return k

    left = run(n)
    return steps, left


@case((2.0,), (0.2,))
def global_read_in_branch(x):
    if x > LEVEL:
        return x * LEVEL
    return x + LEVEL


@case((2.0,), (0.2,))
def closure_sees_later_value(x):
    k = 1.0

    def inner():
        return x * k

    before = inner()
    if x > 1.0:
        k = 3.0 * x
    return before + inner()


@case((2.0, 3), (0.2, 5))
def closure_sees_loop_value(x, n):
    k = 1.0

    def inner(y):
        return y + k * x

    s = 0.0
    for _ in range(n):
        s = inner(s)
        k = k * 0.5
    return s


@case((2.0,), (-0.2,))
def shadowing_parameters(x):
    def outer(x):
        def inner(x):
            x = x * 2.0
            return x + 1.0

        y = inner(x)
        if y > x:
            x = y
        return x

    return outer(x) + x


@case((2.0,), (-0.2,))
def shadowed_function_name(x):
    def helper(v):
        return v * 2.0

    if x > 0.0:
        x = helper(x)
    helper = x * 3.0
    return helper


@case((2.0,), (-0.2,))
def default_is_evaluated_once(x):
    k = x * 2.0

    def inner(y, scale=k):
        return y * scale if y > 0.0 else y - scale

    k = 100.0
    return inner(x) + inner(x, 1.0) + 0.0 * k


@case((2.0,), (-0.2,))
def keyword_and_star(x):
    def inner(a, *rest, scale=1.0, **named):
        s = a
        for r in rest:
            s = s + r if r > 0.0 else s - r
        return s * scale + named.get("shift", 0.0)

    return inner(x, x * 2.0, -1.0, scale=0.5, shift=x)


@case((2.0,), (-0.2,))
def returns_two_closures(x):
    def make():
        state = [x]

        def get():
            return state[0]

        def put(v):
            state[0] = v

        return get, put

    get, put = make()
    put(get() * 3.0)
    if get() > 1.0:
        return get()
    return -get()


@case((2.0,), (-0.2,))
def decorated_inner(x):
    def doubled(fn):
        def wrapper(*args):
            return 2.0 * fn(*args)

        return wrapper

    @doubled
    def inner(y):
        return y if y > 0.0 else y * y

    return inner(x)


@case((2.0, 4), (-0.2, 3))
def attribute_in_for(x, n):
    cell = Cell(x)
    for i in range(n):
        if i % 2 == 0:
            cell.value = cell.value * cell.gain
        else:
            cell.value += x
    return cell.value


@case((2.0, 4), (9.0, 3))
def two_attributes_in_while(x, n):
    cell = Cell(x, 0.9)
    while cell.value > 0.5 and n > 0:
        cell.value = cell.value * cell.gain - 0.1
        cell.gain = cell.gain * 0.9
        n -= 1
    return cell.value, cell.gain


@case((2.0,), (-2.0,))
def attribute_of_attribute(x):
    cell = Cell(x)
    cell.inner = Cell(1.0)
    if x > 0.0:
        cell.inner.value = x * 2.0
    return cell.inner.value + cell.value


@case((2.0,), (-2.0,))
def method_with_condition(x):
    cell = Cell(0.5)
    return cell.push(x) + cell.push(-x)


@case((2.0,), (-2.0,))
def method_chain(x):
    return Cell(x).scaled().scaled().push(x)


@case((2.0,), (-2.0,))
def operators_of_objects(x):
    total = Cell(x) + Cell(1.0)
    if total.value > 0.0:
        return total[2]
    return total[3]


@case((2.0,), (-2.0,))
def with_that_changes_state(x):
    cell = Cell(x)
    with cell as inside:
        if inside.value > 0.0:
            x = inside.value * x
    return x + cell.value


@case((2.0,), (-2.0,))
def object_in_loop(x):
    s = 0.0
    for k in range(3):
        cell = Cell(x, float(k))
        s = s + cell.push(1.0)
    return s


@case((2.0, 3))
def object_made_in_traced_loop(x, n):
    s = 0.0
    for k in range(n):
        s = s + Cell(x, 0.5).push(s)
    return s


@case((2.0,), (-2.0,))
def swap_through_star(x):
    a, *b = x, 1.0, 2.0
    if x > 0.0:
        b[0], a = a, b[1]
    return a * 10.0 + b[0]


@case((2.0, 5), (0.5, 2))
def tuple_of_state(x, n):
    state = (x, (1.0, 0.0))
    for _ in range(n):
        a, (b, c) = state
        state = (a * 0.5 + c, (b + a, c + b * 0.1))
    return state[0] + state[1][0] * state[1][1]


@case((2.0, 5), (0.5, 2))
def dict_of_state(x, n):
    state = {"position": x, "speed": 0.0}
    while n > 0:
        state["speed"] -= 0.1 * state["position"]
        state["position"] += 0.1 * state["speed"]
        n -= 1
    return state


@case((2.0,), (-2.0,))
def loop_variable_reused(x):
    for x in [x, x * 2.0, x * 3.0]:
        if x > 5.0:
            break
    return x


@case((2.0, 4), (-2.0, 3))
def name_of_inner_loop_survives(x, n):
    j = 0
    for i in range(n):
        for j in range(i):
            x = x + 0.5 * float(j)
    return x, j


@case((2.0,), (-2.0,))
def conditional_function(x):
    def plus(v):
        return v + 1.0

    def times(v):
        return v * 3.0

    if x > 0.0:
        y = plus(x)
    else:
        y = times(x)
    return y


@case((2.0,), (-2.0,))
def recursion_with_accumulator(x):
    def fold(values, acc):
        if not values:
            return acc
        head, *rest = values
        return fold(rest, acc * 0.5 + head if head > 0.0 else acc - head)

    return fold([x, 1.0, -x], 0.0)


@case((2.0,), (-2.0,))
def count_python_calls(x):
    COUNTS["calls"] = 0

    def noted(v):
        COUNTS["calls"] += 1
        return v * 2.0

    y = noted(x) + noted(x)
    return y * COUNTS["calls"]


@case((2.2, 3), (5.0, 8))
def break_leaves_names(x, n):
    last = x
    for i in range(n):
        candidate = last * 0.5
        if candidate < 1.0:
            break
        last = candidate
    else:
        last = -last
    return last


@case((1.9, 4), (3.0, 0))
def returns_in_nests(x, n):
    for i in range(n):
        if i > 0:
            j = 0
            while j < i:
                if x * float(j) > 3.0:
                    return x * float(i)
                j += 1
            else:
                x = x + 1.0
    return x


@case((2.0, 6), (0.1, 6))
def continue_in_nests(x, n):
    s = 0.0
    for i in range(n):
        if i % 2 == 0:
            if x > 1.0:
                continue
            s += 1.0
        for j in range(3):
            if j == i:
                continue
            s += x * float(j)
    return s
