"""Lists that grow, tuples, dicts, unpacking, slices."""

from . import case


@case((5,), (1,))
def append_in_for(n):
    out = []
    for i in range(n):
        out.append(i * i)
    return out


@case((1.5, 4), (0.5, 0))
def grown_and_assigned_by_item(x, n):
    out = [x]
    for i in range(n):
        x *= 1.5
        out.append(x)
        out[0] = out[0] * out[-1] + x
    return out


@case((1.5, 4), (0.5, 1))
def grown_from_nothing_and_assigned_by_item(x, n):
    out = []
    for i in range(n):
        x *= 1.5
        out.append(x)
        out[0] = out[0] + x
    return out


@case((1.5, 4), (0.5, 1))
def replaced_by_one_of_another_length(x, n):
    out = [x, x + 1.0]
    for i in range(n):
        x *= 1.5
        out[0] = out[0] * 0.5
        if i > 1:
            out = [out[-1], out[0], x]
        else:
            out = [out[0]]
    return out


@case((1.5, 4), (0.5, 1))
def replaced_each_time(x, n):
    out = [x, x + 1.0]
    for i in range(n):
        x *= 1.5
        out = [x]
    return out


@case((1.5, 4), (0.5, 0))
def grown_at_both_ends(x, n):
    out = [x]
    for i in range(n):
        x *= 1.5
        out = [x] + out + [out[0] * x]
    return out


@case((1.5, 6), (0.5, 1), (0.5, 0))
def slices_of_a_list_that_grows(x, n):
    out = [x, x + 1.0]
    for i in range(n):
        x *= 1.5
        out.append(out[-1] * x)
    a, b, c, d, e = out[1:], out[:-2], out[-3:2], out[::-2], out[5:0:-1]
    return [len(a), len(b), len(c), len(d), len(e)], a + b + c + d + e


@case((1.5, 6), (0.5, 1))
def cut_in_a_loop(x, n):
    out = [x]
    for i in range(n):
        x *= 1.5
        out.extend([x, x - 2.0])
        out = out[-3:]
    out.extend(out[: n % 3])
    return out


@case((5,), (1,))
def append_in_while(n):
    out = []
    while n > 0:
        out.append(n)
        n -= 1
    return out


@case((5,), (2,))
def append_to_started_list(n):
    out = [7, 8]
    for i in range(n):
        out.append(i)
    return out


@case((6,), (1,))
def append_sometimes(n):
    out = []
    for i in range(n):
        if i % 2 == 0:
            out.append(i)
    return out


@case((6,), (1,))
def append_in_both_branches(n):
    out = []
    for i in range(n):
        if i % 2 == 0:
            out.append(i)
        else:
            out.append(-i)
    return out


@case((6,), (2,))
def append_with_break(n):
    out = []
    for i in range(n):
        if i == 3:
            break
        out.append(i)
    return out


@case((6,), (2,))
def append_with_continue(n):
    out = []
    for i in range(n):
        if i == 1:
            continue
        out.append(i)
    return out


@case((4,))
def append_twice(n):
    out = []
    for i in range(n):
        out.append(i)
        out.append(i * 10)
    return out


@case((4,))
def append_in_nested_loops(n):
    out = []
    for i in range(n):
        for j in range(i):
            out.append(i * 10 + j)
    return out


@case((4,))
def append_after_loop(n):
    out = []
    for i in range(n):
        out.append(i)
    out.append(100)
    return out


@case((4,))
def length_after_loop(n):
    out = []
    for i in range(n):
        out.append(i)
    return len(out)


@case((4,))
def length_in_loop(n):
    out = [0]
    for i in range(n):
        out.append(len(out) * 2)
    return out


@case((4,))
def read_in_loop(n):
    out = [1, 1]
    for i in range(n):
        out.append(out[i] + out[i + 1])
    return out


@case((4,))
def read_last(n):
    out = [1]
    for i in range(n):
        out.append(out[-1] * 2)
    return out[-1]


@case((4,))
def sum_of_list(n):
    out = []
    for i in range(n):
        out.append(i + 1)
    s = 0
    for v in out:
        s += v
    return s


@case((4,))
def pop_in_loop(n):
    stack = [1, 2, 3]
    for i in range(n):
        stack.append(i)
        stack.pop()
    return stack


@case((4,))
def stack_machine(n):
    stack = []
    for i in range(n):
        stack.append(i)
    s = 0
    while len(stack) > 0:
        top = stack.pop()
        s = s * 10 + top
    return s


@case((4,))
def list_of_floats(n):
    out = []
    for i in range(n):
        out.append(0.5)
    return out


@case((4,))
def two_lists(n):
    a, b = [], []
    for i in range(n):
        a.append(i)
        if i > 1:
            b.append(i)
    return a, b


@case((4,))
def list_of_pairs(n):
    out = []
    for i in range(n):
        out.append((i, i * 2))
    return out


@case((4,), (-4,))
def append_in_if(x):
    out = [1]
    if x > 0:
        out.append(x)
    return out


@case((4,))
def python_list_stays(x):
    out = []
    for k in range(3):
        out.append(x * k)
    return out


@case((4,))
def python_list_is_mutated_in_place(x):
    out = []
    same = out
    out.append(x)
    return len(same) + x


@case((4,))
def list_comprehension_of_list(x):
    values = [x, x + 1]
    values.append(x + 2)
    return [v * 2 for v in values]


@case((4,))
def extend_python(x):
    v = [1]
    v.extend([x, 2])
    return v


@case((4,))
def insert_and_reverse(x):
    v = [1, 2]
    v.insert(0, x)
    v.reverse()
    return v


@case((4,))
def unpack(x):
    a, (b, c) = 1, (x, 3)
    return a + b * c


@case((4,))
def unpack_star(x):
    a, *rest = [x, 2, 3]
    return a * rest[0] + rest[1]


@case((4,), (-4,))
def unpack_in_loop(n):
    s = 0
    for a, b in [(1, 2), (3, 4)]:
        if n > 0:
            s += a * n
        else:
            s += b
    return s


@case((4,))
def tuple_swap_in_loop(n):
    a, b, c = 1, 2, 3
    for _ in range(n):
        a, b, c = b, c, a
    return a, b, c


@case((4,))
def nested_tuple_state(n):
    state = (0, (1, 2))
    for i in range(n):
        state = (state[0] + i, (state[1][1], state[1][0]))
    return state


@case((4,))
def dict_of_lists(x):
    d = {"v": [1, 2]}
    d["v"].append(x)
    return d["v"]


@case((4,))
def dict_keys_in_order(x):
    d = {}
    for k in ("b", "a"):
        d[k] = x
    return [d[k] for k in d]


@case((4,))
def dict_get_and_update(x):
    d = {"a": x}
    d.update(b=2)
    return d.get("c", 5) + d["a"] + d["b"]


@case(([1, 2, 3, 4],))
def slice_of_tensor(v):
    return v[1] + v[-1]


@case(([5, 2, 9, 1],))
def running_maximum(v):
    best = v[0]
    out = []
    for x in v:
        if x > best:
            best = x
        out.append(best)
    return out


@case(([5, 2, 9, 1],))
def prefix_sums(v):
    s = 0
    out = []
    for x in v:
        s += x
        out.append(s)
    return out


@case(([5, 2, 9, 1], 4))
def partition(v, pivot):
    low, high = [], []
    for x in v:
        if x < pivot:
            low.append(x)
        else:
            high.append(x)
    return low, high


@case(([1, 1, 2, 2, 2, 3],))
def run_lengths(v):
    previous = v[0]
    count = 0
    out = []
    for x in v:
        if x == previous:
            count += 1
        else:
            out.append(count)
            previous = x
            count = 1
    out.append(count)
    return out


@case((10,))
def sieve_counts(n):
    count = 0
    for i in range(2, n):
        divisors = 0
        for j in range(1, i + 1):
            if i % j == 0:
                divisors += 1
        if divisors == 2:
            count += 1
    return count


@case((6, 3))
def matrix_fill(n, m):
    out = []
    for i in range(n):
        s = 0
        for j in range(m):
            s += i * j
        out.append(s)
    return out


@case((5,))
def two_phases(n):
    out = []
    for i in range(n):
        out.append(i)
    total = 0
    for i in range(len(out)):
        total += out[i] * i
    return total


@case((5,), (9,))
def binary_digits(n):
    out = []
    while n > 0:
        out.append(n % 2)
        n //= 2
    return out
