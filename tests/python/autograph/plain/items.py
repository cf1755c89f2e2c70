"""Items of lists at indices that a loop changes, and other names of a list."""

from . import case


@case((3,), (0,))
def items_assigned(n):
    table = [0, 0, 0]
    for i in range(n):
        table[i] = i + 1
    return table


@case((2, 1.5), (3, -0.5))
def items_changed(n, x):
    table = [1.0, 2.0, 3.0]
    for i in range(n):
        table[i] += x
        table[i] = table[i] * x
    return table


@case((4,), (1,))
def items_assigned_sometimes(n):
    table = [0, 0, 0, 0]
    i = 0
    while i < n:
        if i % 2 == 0:
            table[i] = i * 10 + 1
        i += 1
    return table


@case((4,), (2,))
def items_from_the_end(n):
    table = [0, 0, 0, 0]
    for i in range(n):
        table[-1 - i] = i
    return table, table[-n]


@case((4,), (1,))
def items_next_to_each_other(n):
    table = [1, 0, 0, 0]
    for i in range(n - 1):
        table[i + 1] = table[i] * 2
    return table


@case((5,), (0,))
def items_read_in_an_inner_loop(n):
    table = [0] * 5
    total = 0
    for i in range(n):
        table[i] = i * i
        for j in range(i):
            total += table[j]
    return total, table


@case((4,), (2,))
def sort_by_exchange(n):
    table = [3, 1, 2, 0]
    for i in range(n):
        for j in range(n - 1 - i):
            if table[j] > table[j + 1]:
                table[j], table[j + 1] = table[j + 1], table[j]
    return table


@case((10,), (3,))
def fibonacci_by_table(n):
    table = [0] * 11
    table[1] = 1
    i = 2
    while i <= n:
        table[i] = table[i - 1] + table[i - 2]
        i += 1
    return table[n]


@case((3,), (1,))
def items_of_a_dict_in_a_branch(n):
    found = {"a": 0, "b": 1}
    for key in ["a", "b"]:
        if n > 2:
            found[key] = found[key] + n
    return found["a"], found["b"]


@case((3,), (1,))
def other_name_of_a_list(n):
    first = [1, 2]
    second = first
    if n > 2:
        first.append(n)
    else:
        first.append(-n)
    return len(second), second[2]


@case((3,), (1,))
def list_replaced_in_branches(n):
    first = [1, 2]
    second = first
    if n > 2:
        first = [n, 3]
    else:
        first = [4, n]
    return first, second


@case((3,), (1,))
def lists_whose_items_were_assigned(n):
    table = [1, 2, 3]
    for i in range(n):
        table[i] = i * 2
    a, b, c = table
    return (
        [v + 1 for v in table],
        len(table),
        table[1:],
        list(table),
        max(table),
        sum(table),
        a - b * c,
    )


@case((3,), (1,))
def list_that_grows_after_items_were_assigned(n):
    table = [1, 2, 3]
    for i in range(n):
        table[i] = i * 2
    for i in range(n):
        table.append(i)
    return table, len(table)
