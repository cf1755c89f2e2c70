"""for over ranges, rows of tensors, lists, enumerate, zip, reversed."""

from . import case


@case((5,), (0,))
def over_range(n):
    s = 0
    for i in range(n):
        s += i
    return s


@case((2, 7), (7, 2))
def over_range_from(a, b):
    s = 0
    for i in range(a, b):
        s += i
    return s


@case((0, 10, 3), (10, 0, -3), (0, 10, -1), (5, 5, 1))
def over_range_with_step(a, b, step):
    s, n = 0, 0
    for i in range(a, b, step):
        s += i
        n += 1
    return s, n


@case((0,), (7,))
def over_enumerated_ranges(n):
    s = 0
    for i, j in enumerate(range(n)):
        s += i * j
    for i, j in enumerate(range(3, n * 2, 2), 1):
        s += i * j
    return s


@case((10,))
def negative_step(n):
    s = 0
    for i in range(n, 0, -2):
        s = s * 2 + i
    return s


@case((10,))
def range_downwards_to_minus_one(n):
    s = 0
    for i in range(n - 1, -1, -1):
        s = s + i * (n - i)
    return s


@case((5,))
def target_after_loop(n):
    i = -1
    for i in range(n):
        pass
    return i


@case((5,))
def target_defined_by_loop(n):
    for i in range(n):
        pass
    return i


@case((5,))
def target_changed_in_body(n):
    s = 0
    for i in range(n):
        i = i * 2
        s += i
    return s


@case((5,))
def bound_changed_in_body(n):
    s = 0
    for i in range(n):
        n = n - 1
        s += n
    return s, n


@case((10,), (2,))
def for_break(n):
    s = 0
    for i in range(n):
        if i == 5:
            break
        s += i
    return s


@case((10,), (2,))
def for_break_target(n):
    for i in range(n):
        if i == 5:
            break
    return i


@case((10,))
def for_continue(n):
    s = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        s += i
    return s


@case((10,), (3,))
def for_return(n):
    for i in range(n):
        if i * i > 20:
            return i
    return -1


@case((10,), (3,))
def for_return_tuple(n):
    for i in range(n):
        if i * i > 20:
            return i, i * i
    return -1, n


@case((10,), (3,))
def for_else(n):
    for i in range(n):
        if i == 7:
            r = 1
            break
    else:
        r = 2
    return r


@case((10,))
def break_and_continue(n):
    s = 0
    for i in range(n):
        if i == 2:
            continue
        if i == 7:
            break
        s += i
    return s


@case((4,))
def nested_for(n):
    s = 0
    for i in range(n):
        for j in range(i):
            s += i * j + 1
    return s


@case((4,))
def triple(n):
    s = 0
    for i in range(n):
        for j in range(n):
            for k in range(j):
                s += i + j + k
    return s


@case((6,))
def break_in_inner(n):
    s = 0
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            s += j
    return s


@case((6,), (1,))
def return_from_inner(n):
    for i in range(n):
        for j in range(n):
            if i + j == 6:
                return i * 10 + j
    return 0


@case((6,))
def continue_outer_through_flag(n):
    s = 0
    for i in range(n):
        skip = False
        for j in range(2, i):
            if i % j == 0:
                skip = True
        if skip:
            continue
        s += i
    return s


@case((6,))
def while_in_for(n):
    s = 0
    for i in range(n):
        k = i
        while k > 1:
            k = k // 2
            s += 1
    return s


@case((6,))
def for_in_while(n):
    s = 0
    while n > 0:
        for i in range(n):
            s += i
        n -= 2
    return s


@case((6,))
def python_range_inside(n):
    s = 0
    for i in range(n):
        for j in range(3):
            s += i * j
    return s


@case((6,))
def python_range_outside(n):
    s = 0
    for j in range(3):
        for i in range(n):
            s += i * j
    return s


@case((6,), (2,))
def python_range_with_traced_break(n):
    s = 0
    for j in range(10):
        if j > n:
            break
        s += j
    return s


@case((6,), (2,))
def python_list_with_traced_return(n):
    for v in [1, 5, 7, 9]:
        if v > n:
            return v
    return 0


@case((6,), (2,))
def python_list_with_traced_continue(n):
    s = 0
    for v in [1, 5, 7, 9]:
        if v < n:
            continue
        s += v
    return s


@case(([1.0, 2.0, 3.5],), ([4.0],))
def over_rows(xs):
    s = 0.0
    for x in xs:
        s += x
    return s


@case(([1, 2, 3],))
def over_rows_from_int_zero(xs):
    s = 0
    for x in xs:
        s += x * x
    return s


@case(([1.0, 2.0, 3.5],))
def int_zero_becomes_float(xs):
    s = 0
    for x in xs:
        s += x
    return s


@case(([3, 1, 2],), ([1, 9, 4],))
def maximum_of_rows(xs):
    best = xs[0]
    for x in xs:
        if x > best:
            best = x
    return best


@case(([3, 1, 2], 1), ([1, 9, 4], 7))
def find_row(xs, y):
    for x in xs:
        if x == y:
            return True
    return False


@case(([3, 1, 2], 1), ([1, 9, 4], 7))
def index_of(xs, y):
    for i, x in enumerate(xs):
        if x == y:
            return i
    return -1


@case(([3, 1, 2],))
def over_enumerate(xs):
    s = 0
    for i, x in enumerate(xs):
        s += i * x
    return s


@case(([3, 1, 2],))
def over_enumerate_from(xs):
    s = 0
    for i, x in enumerate(xs, 10):
        s += i * x
    return s


@case(([3, 1, 2], [4, 5, 6]), ([3, 1, 2], [4, 5]))
def over_zip(xs, ys):
    s = 0
    for x, y in zip(xs, ys):
        s += x * y
    return s


@case(([3, 1, 2], [4, 5, 6]))
def over_zip_with_python(xs, ys):
    s = 0
    for x, k in zip(xs, [1, 10, 100]):
        s += x * k
    return s


@case(([3, 1, 2], [4, 5, 6]))
def over_enumerate_zip(xs, ys):
    s = 0
    for i, (x, y) in enumerate(zip(xs, ys)):
        s += i * (x - y)
    return s


@case(([3, 1, 2],))
def over_reversed(xs):
    s = 0
    for x in reversed(xs):
        s = s * 10 + x
    return s


@case(([3, 1, 2],))
def by_index(xs):
    s = 0
    for i in range(len(xs)):
        s += xs[i] * (i + 1)
    return s


@case(([[1, 2], [3, 4], [5, 6]],))
def rows_of_rows(m):
    s = 0
    for row in m:
        for x in row:
            s = s * 2 + x
    return s


@case(([1, 2, 3, 4], 5), ([1, 2, 3, 4], 100))
def two_sum(xs, target):
    n = len(xs)
    for i in range(n):
        for j in range(i + 1, n):
            if xs[i] + xs[j] == target:
                return i, j
    return -1, -1


@case(([5, 3, 8],))
def range_of_len_with_break(xs):
    s = 0
    for i in range(len(xs)):
        if xs[i] > 6:
            break
        s += xs[i]
    return s


@case((5,))
def underscore(n):
    s = 1
    for _ in range(n):
        s *= 2
    return s


@case((5,))
def factorial(n):
    r = 1
    for i in range(2, n + 1):
        r *= i
    return r


@case((6,))
def alternating(n):
    s, sign = 0, 1
    for i in range(n):
        s += sign * i
        sign = -sign
    return s


@case((6,))
def horner(x):
    r = 0
    for coefficient in (3, -2, 5, 1):
        r = r * x + coefficient
    return r


@case((6,))
def over_dict_items(x):
    s = 0
    for key, value in {"a": 1, "b": 2}.items():
        s += value * x if key == "a" else x
    return s


@case((5,))
def over_tuple_of_tensors(x):
    s = 0
    for v in (x, x + 1, x * 2):
        if v > 5:
            s += v
    return s


@case((30,))
def fizz(n):
    a, b, c = 0, 0, 0
    for i in range(1, n):
        if i % 15 == 0:
            c += 1
        elif i % 5 == 0:
            b += 1
        elif i % 3 == 0:
            a += 1
    return a, b, c


@case((20,))
def primes_by_trial(n):
    count = 0
    for i in range(2, n):
        prime = True
        for d in range(2, i):
            if d * d > i:
                break
            if i % d == 0:
                prime = False
                break
        if prime:
            count += 1
    return count


@case((0.5, 10))
def logistic_map(x, n):
    for _ in range(n):
        x = 3.2 * x * (1.0 - x)
    return x
