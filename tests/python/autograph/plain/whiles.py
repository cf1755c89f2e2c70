"""while with break, continue, return, else."""

from . import case


@case((5,), (0,))
def count_down(n):
    s = 0
    while n > 0:
        s += n
        n -= 1
    return s


@case((5,), (0,))
def only_counter(n):
    i = 0
    while i < n:
        i += 1
    return i


@case((10,), (3,))
def with_break(n):
    i = 0
    while i < n:
        if i == 4:
            break
        i += 1
    return i


@case((10,), (3,))
def with_continue(n):
    i, s = 0, 0
    while i < n:
        i += 1
        if i % 2 == 0:
            continue
        s += i
    return s


@case((20,), (3,))
def break_and_continue(n):
    i, s = 0, 0
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        if s > 30:
            break
        s += i
    return s, i


@case((10,), (3,))
def return_from_loop(n):
    i = 0
    while i < n:
        if i * i > 20:
            return i
        i += 1
    return -1


@case((10,), (30,))
def while_true(n):
    i = 1
    while True:
        i *= 2
        if i > n:
            break
    return i


@case((10,), (30,))
def while_true_return(n):
    i = 1
    while True:
        if i > n:
            return i
        i *= 3


@case((10,), (2,))
def while_else(n):
    i = 0
    while i < n:
        i += 1
        if i == 5:
            break
    else:
        i += 100
    return i


@case((4,), (0,))
def nested(n):
    s, i = 0, 0
    while i < n:
        j = 0
        while j < i:
            s += i * j
            j += 1
        i += 1
    return s


@case((6,), (2,))
def break_in_inner(n):
    s, i = 0, 0
    while i < n:
        j = 0
        while j < n:
            if j > i:
                break
            s += 1
            j += 1
        i += 1
    return s


@case((6,), (2,))
def return_from_inner(n):
    i = 0
    while i < n:
        j = 0
        while j < n:
            if i * j == 12:
                return i * 10 + j
            j += 1
        i += 1
    return -1


@case((27,), (1,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case((48, 36), (17, 5))
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@case((10,), (1,), (0,))
def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


@case((50,), (2,))
def integer_root(n):
    r = 0
    while (r + 1) * (r + 1) <= n:
        r += 1
    return r


@case((2.0,), (9.0,))
def newton(x):
    y = x
    k = 0
    while k < 20 and abs(y * y - x) > 1e-4:
        y = (y + x / y) * 0.5
        k += 1
    return y


@case((12345,), (7,))
def digits(n):
    s = 0
    while n > 0:
        s += n % 10
        n //= 10
    return s


@case((2, 10), (3, 0))
def power(base, exponent):
    result = 1
    while exponent > 0:
        if exponent % 2 == 1:
            result *= base
        base *= base
        exponent //= 2
    return result


@case((97,), (91,), (2,))
def is_prime(n):
    d = 2
    while d * d <= n:
        if n % d == 0:
            return False
        d += 1
    return True


@case((5,))
def float_accumulator(n):
    s = 0.0
    while n > 0:
        s += 1.5
        n -= 1
    return s


@case((5,))
def int_becomes_float(n):
    s = 0
    while n > 0:
        s = s + 0.5
        n -= 1
    return s


@case((5,), (1,))
def flag_loop(n):
    done = False
    i = 0
    while not done:
        i += 2
        done = i >= n
    return i


@case((5,), (0,))
def name_from_loop_used_after_definition(n):
    last = -1
    while n > 0:
        last = n * 10
        n -= 1
    return last


@case((5,))
def local_of_body(n):
    s = 0
    while n > 0:
        t = n * 2
        s += t
        n -= 1
    return s


@case((5,))
def defined_in_loop_used_after(n):
    while n > 0:
        t = n * 2
        n -= 1
    return t


@case((7,), (2,))
def if_else_in_loop(n):
    even, odd = 0, 0
    while n > 0:
        if n % 2 == 0:
            even += n
        else:
            odd += n
        n -= 1
    return even, odd


@case((4,), (9,))
def or_condition(n):
    a, b = 0, 0
    while a < n or b < 5:
        a += 1
        b += 2
    return a, b


@case((3,), (9,))
def chained_condition(n):
    i = 1
    while 0 < i < n:
        i += 2
    return i


@case((3,))
def two_loops(n):
    s = 0
    i = n
    while i > 0:
        s += i
        i -= 1
    while s > 2:
        s -= 2
        i += 1
    return s, i


@case((3,))
def tuple_state(n):
    p = (0, 1)
    while n > 0:
        p = (p[1], p[0] + p[1])
        n -= 1
    return p


@case((3,))
def dict_state(n):
    d = {"x": 0, "y": 1}
    while n > 0:
        d = {"x": d["y"], "y": d["x"] + d["y"]}
        n -= 1
    return d


@case((3,))
def dict_item_state(n):
    d = {"x": 0}
    while n > 0:
        d["x"] = d["x"] + n
        n -= 1
    return d["x"]


@case((3,))
def list_of_fixed_length(n):
    v = [0, 0]
    while n > 0:
        v = [v[1], v[0] + n]
        n -= 1
    return v


@case((10,), (3,))
def continue_first(n):
    s = 0
    while n > 0:
        n -= 1
        if n > 5:
            continue
        if n == 2:
            continue
        s += n
    return s


@case((10,), (2,))
def break_in_else(n):
    i = 0
    while i < n:
        if i < 5:
            i += 1
        else:
            break
    return i


@case((10,), (2,))
def break_deep(n):
    i = 0
    while i < n:
        i += 1
        if i > 2:
            if i % 2 == 1:
                if i > 4:
                    break
    return i


@case((10,), (2,))
def return_after_inner_break(n):
    i = 0
    while i < n:
        while True:
            i += 1
            if i % 3 == 0:
                break
        if i > 5:
            return i
    return -i


@case((6,))
def python_loop_around(n):
    s = 0
    k = 0
    while k < 3:
        m = n
        while m > 0:
            s += m
            m -= 1
        k += 1
    return s


@case((100,), (5,))
def maximum_iterations_by_hand(n):
    i = 0
    tries = 0
    while i < n and tries < 10:
        i += 3
        tries += 1
    return i, tries


@case((5,))
def unchanged_name(n):
    k = 3
    s = 0
    while n > 0:
        s += k
        n -= 1
    return s, k


@case((5, 2))
def argument_captured(n, k):
    s = 0
    while n > 0:
        s += k * n
        n -= 1
    return s


@case((4,))
def assert_in_loop(n):
    while n > 0:
        assert n < 100
        n -= 1
    return n


@case((4,), (11,))
def bits(n):
    count = 0
    while n != 0:
        count += n % 2
        n = n // 2
    return count


@case((3, 3), (3, 1))
def return_that_python_never_reaches(n, m):
    i = 0
    while i < 2 and n == m:
        i += 1
        if 2 * 3 < 4:
            return i
    return -i
