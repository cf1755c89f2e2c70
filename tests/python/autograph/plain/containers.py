"""Lists, dicts and sets that change by their methods in branches and loops,
and built-in functions."""

from . import case


@case((3,), (1,))
def taken_off_the_front_in_a_branch(n):
    values = [1, 2, 3]
    if n > 2:
        values.pop(0)
    return values[0], len(values)


@case((3,), (1,))
def deleted_in_a_branch(n):
    values = [3, 1, 2]
    if n > 2:
        del values[0]
    return values[0], len(values)


@case((3,), (1,))
def deleted_in_both_branches(n):
    values, other = [n, n + 1, n + 2], {"a": [1, 2, 3, n]}
    if n > 2:
        del values[0], other["a"][1:]
    else:
        del values[2], other["a"][-2:-1]
    return values[0], values[1], other["a"][-1]


@case((3,), (1,))
def changed_in_both_branches(n):
    values, other = [3, 1, 2], [0]
    same = values
    if n > 2:
        values.sort()
        other.insert(0, n)
    else:
        values.reverse()
        other.extend([n])
    return values, same, other


@case((3,), (1,))
def cleared_in_a_branch(n):
    values = [1, 2, 3]
    if n > 2:
        values.clear()
        values.append(n)
    return len(values), values[-1]


@case((3,), (1,))
def entries_updated_in_a_branch(n):
    found = {"a": 1, "b": 2}
    other = found
    if n > 2:
        found.update(a=n * 2)
    else:
        found.setdefault("b", 7)
        found["b"] += found.pop("a") + n
        found["a"] = 9
    return other["a"], found["b"]


@case((3,), (1,))
def sets_that_branches_leave_equal(n):
    seen = {1}
    if n > 2:
        seen.add(2)
        total = n
    else:
        seen.add(2)
        total = len(seen)
    return total, len(seen)


class Log:
    def __init__(self):
        self.values, self.count = [], 0


@case((3,), (1,))
def appended_to_an_attribute(n):
    log = Log()
    if n > 2:
        log.values.append(n)
    else:
        log.values.append(-n)
    for i in range(n):
        log.values.append(i)
        log.count += 1
    return log.values, log.count


@case((3,), (0,))
def appended_to_an_entry(n):
    found = {"a": [], "b": [n]}
    for i in range(n):
        found["a"].append(i * 2)
        found["b"][0] += i
    return found["a"], found["b"]


@case((3,), (0,))
def lists_added_in_a_loop(n):
    a, b, c = [0], [1], [2]
    for i in range(n):
        a += [i]
        b = b + [i, i]
        c.extend((i, i * 2))
    return a, b, c


@case((3,), (1,))
def entries_of_a_dict_in_a_loop(n):
    totals = {key: 0 for key in ("a", "b")}
    for i in range(n):
        for key in totals:
            totals[key] += i + len(totals)
    return totals["a"], totals["b"]


@case((3,), (7,))
def names_that_a_called_function_assigns(n):
    count, total = 0, 0

    def add(k):
        nonlocal count, total
        if k > 1:
            total += k
        count += 1

    if n > 5:
        add(n)
    for i in range(n):
        add(i)
    return count, total


@case((3.0, -2.0, 1.0), (1.0, 2.0, 0.5))
def sorted_numbers(x, y, z):
    up, down = sorted([x, y, z]), sorted((x, y, z), reverse=True)
    by_key = sorted([x, y, z], key=lambda v: v * v)
    return up, down, by_key[0], sorted([3, 1, 2], key=lambda v: -v)


@case((3.0, -2.0, 1.0), (1.0, 2.0, 4.0))
def extremes_by_key(x, y, z):
    return (
        max([x, y, z], key=lambda v: -v * v),
        min(x, y, z, key=lambda v: v * v * v),
        max(2, 3, key=lambda v: -v),
        min([], default=5),
    )


@case((3,), (4,), (9,))
def members(n):
    found = 0
    if n in (1, 4, 5):
        found += 1
    if n not in [3, 4]:
        found += 10
    if n in range(1, 9, 2):
        found += 100
    if n in range(9, 0, -3):
        found += 1000
    grown = []
    for i in range(n):
        grown.append(i * 2)
    if 6 in grown:
        found += 10000
    return found


@case((3.0, 1.0), (-2.0, 4.0))
def zipped_with_what_is_no_number(x, y):
    functions = [lambda v: v * v, lambda v: v + 1.0]
    named = {name: value for name, value in zip("ab", [x, y])}
    total = 0.0
    for function, name in zip(functions, named):
        total += function(named[name])
    return total, named["b"]


@case(([1.0, -2.0, 3.0],))
def zipped_with_rows(v):
    functions = [lambda x: x * x, lambda x: x + 1.0, lambda x: -x]
    total = 0.0
    for function, x in zip(functions, v):
        total += function(x)
    for name, x in zip(("a", "b"), v):
        if name == "b":
            total += x
    return (
        total,
        {name: x * 2.0 for name, x in zip("xyz", v)}["z"],
        [x * x for _, x in enumerate(v)],
    )


@case(([1.0, -2.0, 3.0],))
def iterators_over_rows(v):
    rows = iter(v)
    first = next(rows)
    return first - next(rows), next(iter([]), 5.0)


@case((3,), (0,))
def lists_in_a_dict_that_grow(n):
    found = {"values": [n], "last": (0, [])}
    if n > 2:
        found.update(last=(n, [n]))
        found["values"].append(n)
    for i in range(n):
        found["values"].append(i)
        found.update(last=(i, found["last"][1]))
    return found["values"], found["last"][0], len(found["last"][1])


@case((3, 1), (0, 2))
def items_of_an_attribute_at_many_indices(n, m):
    log = Log()
    log.values = [n, m, 1, 0]
    if n > 1:
        log.values[m] += n
        log.values[1] = 7
    for i in range(n):
        log.values[i] += log.values[1]
        log.values[0] -= 1
    return log.values
