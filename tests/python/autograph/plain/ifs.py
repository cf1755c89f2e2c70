"""if, conditional expressions, and, or, not, chained comparisons, match."""

from . import case


@case((3,), (-3,), (0,))
def if_only(x):
    if x < 0:
        x = -x
    return x


@case((3,), (-3,))
def if_else(x):
    if x > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@case((-1,), (0,), (1,), (5,))
def if_elif_else(x):
    if x < 0:
        y = 1
    elif x == 0:
        y = 2
    elif x == 1:
        y = 3
    else:
        y = 4
    return y


@case((1, 2), (2, 1), (-1, -2), (-2, -1))
def nested_ifs(x, y):
    if x > 0:
        if y > x:
            z = y
        else:
            z = x
    else:
        if y > x:
            z = -x
        else:
            z = -y
    return z


@case((1,), (-1,))
def early_return(x):
    if x > 0:
        return 10
    return 20


@case((1,), (0,), (-1,))
def returns_in_all_branches(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    else:
        return 0


@case((5,), (15,), (25,))
def return_chain(x):
    if x > 20:
        return x - 20
    if x > 10:
        return x - 10
    return x


@case((1, 1), (1, 0), (0, 1), (0, 0))
def return_in_nested_if(x, y):
    if x > 100:
        pass
    if x > 0:
        if y > 0:
            return 11
        return 10
    if y > 0:
        return 1
    return 0


@case((3,), (-3,))
def two_names(x):
    a, b = 1, 2
    if x > 0:
        a = x
    else:
        b = x
    return a, b


@case((3,), (-3,))
def swap_in_branch(x):
    a, b = 1, x
    if x > 0:
        a, b = b, a
    return a - b


@case((3,), (-3,))
def int_or_float(x):
    y = 0.5
    if x > 0:
        y = 2
    return y


@case((3,), (-3,))
def conditional_expression(x):
    return x if x > 0 else -x


@case((1,), (5,), (11,))
def nested_conditional_expression(x):
    return 0 if x < 2 else 1 if x < 10 else 2


@case((1, 2), (2, 1))
def conditional_tuple(x, y):
    a, b = (x, y) if x < y else (y, x)
    return a * 10 + b


@case((5,), (-5,), (50,))
def and_test(x):
    if x > 0 and x < 10:
        return 1
    return 0


@case((5,), (-5,), (50,))
def or_test(x):
    if x < 0 or x > 10:
        return 1
    return 0


@case((5,), (-5,))
def not_test(x):
    if not x > 0:
        return 1
    return 0


@case((1, 1), (1, -1), (-1, 1), (-1, -1))
def mixed_logic(x, y):
    if (x > 0 and not y > 0) or (y > 0 and not x > 0):
        return 1
    return 0


@case((1, 1, 1), (1, 1, -1), (-1, 1, 1))
def three_ands(x, y, z):
    return 1 if x > 0 and y > 0 and z > 0 else 0


@case((5, 0), (5, 2))
def lazy_and(x, y):
    if y != 0 and x // y > 1:
        return 1
    return 0


@case((5, 0), (5, 2))
def lazy_or(x, y):
    if y == 0 or x // y > 1:
        return 1
    return 0


@case((5,), (1,), (10,), (-1,))
def chained_comparison(x):
    if 1 <= x < 10:
        return 1
    return 0


@case((1, 2, 3), (1, 3, 2), (3, 2, 1))
def three_way_chain(x, y, z):
    return 1 if x < y < z else (2 if x > y > z else 3)


@case((2,), (3,))
def chain_of_equalities(x):
    y = 2
    return 1 if x == y == 2 else 0


@case((3,), (4,))
def augmented_in_branch(x):
    y = x
    if x % 2 == 0:
        y *= 10
        y += 1
    else:
        y -= 7
    return y


@case((3,), (-4,))
def several_returns_of_tuples(x):
    if x > 0:
        return x, 1
    return -x, 2


@case((3,), (-4,))
def returns_dict(x):
    if x > 0:
        return {"a": x, "b": 1}
    return {"a": -x, "b": 2}


@case((3,), (-4,))
def dict_in_branches(x):
    d = {"a": 0, "b": 5}
    if x > 0:
        d = {"a": x, "b": d["b"] + 1}
    return d["a"] + d["b"]


@case((3,), (-4,))
def dict_item_in_branch(x):
    d = {"a": 0}
    if x > 0:
        d["a"] = x
    return d["a"]


@case((3,), (-4,))
def list_item_in_branch(x):
    v = [1, 2, 3]
    if x > 0:
        v[1] = x
    return v[0] + v[1] + v[2]


@case((3,), (-4,))
def pass_in_branch(x):
    if x > 0:
        pass
    else:
        x = 0
    return x


@case((3,), (-4,))
def unused_name_in_branch(x):
    if x > 0:
        temporary = x * 2
        x = temporary + 1
    return x


@case((3,), (-4,))
def same_name_different_use(x):
    if x > 0:
        t = x * 2
        y = t
    else:
        t = x * 3
        y = t
    return y


@case((3,), (-4,))
def condition_is_a_name(x):
    positive = x > 0
    if positive:
        return 1
    return 2


@case((3,), (-4,))
def condition_of_python_value(x):
    flag = True
    if flag:
        x = x + 1
    if not flag:
        x = x + 100
    return x


@case((0,), (1,), (2,), (7,))
def match_values(x):
    match x:
        case 0:
            return 10
        case 1 | 2:
            return 20
        case _:
            return 30


@case((0,), (5,), (50,))
def match_guard(x):
    match x:
        case 0:
            y = 1
        case _ if x > 10:
            y = 2
        case _:
            y = 3
    return y


@case((0,), (4,))
def match_capture(x):
    match x:
        case 0:
            y = 100
        case other:
            y = other + 1
    return y


@case((2,), (-2,))
def walrus(x):
    if (y := x * 2) > 0:
        return y
    return -y


@case((2,), (-2,))
def min_max_abs(x):
    return min(x, 1) + max(x, -1) * 10 + abs(x) * 100


@case((2.5,), (-2.5,))
def casts(x):
    return int(x), float(int(x)) * 0.5


@case((1, 2), (3, 2))
def bool_result(x, y):
    return x < y


@case((1, 2), (3, 2))
def bool_arithmetic(x, y):
    less = x < y
    greater = x > y
    return (less and not greater, less or greater)


@case((4,), (5,))
def shadowed_builtin(x):
    max = 3
    if x > 4:
        max = x
    return max


@case((4,), (-5,))
def return_none_of_call(x):
    def set_sign(v):
        if v > 0:
            return 1
        return -1

    return set_sign(x) * 2


@case((1,), (-1,))
def deep(x):
    if x > 0:
        if x > 1:
            if x > 2:
                y = 3
            else:
                y = 2
        else:
            y = 1
    else:
        y = 0
    return y


@case((1,), (-1,))
def undefined_where_not_used(x):
    if x > 0:
        y = 5
        x = x + y
    return x


@case((1,), (-1,))
def defined_before_and_after(x):
    y = 1
    if x > 0:
        y = y + 1
    y = y + 10
    if x < 0:
        y = y + 100
    return y


@case((1,), (-1,))
def ternary_in_call(x):
    return abs(x if x > 0 else x * 3)


@case((7, 3), (3, 7), (5, 5))
def compare_all(x, y):
    r = 0
    if x < y:
        r += 1
    if x <= y:
        r += 10
    if x == y:
        r += 100
    if x != y:
        r += 1000
    if x >= y:
        r += 10000
    if x > y:
        r += 100000
    return r


@case((2,), (-2,))
def walrus_before_and(x):
    if (y := x * 2) > 0 and y < 10:
        return y
    return x


@case((3,), (0,))
def walrus_in_while(n):
    total = 0
    while (left := n - total) > 0:
        total += 1
    return total, left


@case((3,), (0,))
def truth_of_numbers(n):
    first = n or 7
    second = n and 5
    if n:
        first += 1
    return first, second, not n, 1 if n else 2


@case((7,), (1,))
def truth_of_numbers_in_while(n):
    a, b = n * 6, n * 4
    while b:
        a, b = b, a % b
    return a
