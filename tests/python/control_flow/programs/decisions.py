"""Decisions: reinforcement learning, routing to experts, interpreters, parsers, trees, games."""

import numpy as np

import gyre

from . import program

T = [[0.8, 0.2], [0.1, 0.9]]


@program(
    lambda r, g: np.asarray(
        [sum(x * g ** (j - k) for j, x in enumerate(r) if j >= k) for k in range(len(r))]
    ),
    ([1.0, 0.0, 2.0], 0.9),
)
def discounted_returns(rewards, gamma):
    return gyre.scan(lambda total, r: r + gamma * total, rewards, initializer=0.0, reverse=True)


def values_of(rewards, moves):
    v = np.zeros(2)
    for _ in range(40):
        v = (np.asarray(rewards) + 0.8 * np.asarray(moves) @ v).max(0)
    return v


@program(values_of, ([[1.0, 0.0], [0.5, 2.0]], [T, [[0.5, 0.5], [0.5, 0.5]]]))
def value_iteration(rewards, moves):
    def step(k, v):
        return k + 1, gyre.reduce_max(rewards + 0.8 * gyre.linalg.matvec(moves, v), 0)

    return gyre.while_loop(lambda k, v: k < 40, step, (0, gyre.zeros([2])))[1]


def q_reference(states, actions, rewards):
    q = np.zeros((3, 2))
    for t in range(len(states) - 1):
        s, a = states[t], actions[t]
        q[s, a] += 0.5 * (rewards[t] + 0.9 * q[states[t + 1]].max() - q[s, a])
    return q


@program(q_reference, ([0, 1, 2, 0, 1], [0, 1, 1, 0, 1], [0.0, 1.0, 2.0, 0.0, 1.0]))
def q_learning(states, actions, rewards):
    def step(t, q):
        s, a = states[t], actions[t]
        change = 0.5 * (rewards[t] + 0.9 * gyre.reduce_max(q[states[t + 1]]) - q[s, a])
        return t + 1, gyre.tensor_scatter_nd_add(q, gyre.stack([s, a])[None, :], change[None])

    return gyre.while_loop(
        lambda t, q: t < gyre.shape(states)[0] - 1, step, (0, gyre.zeros([3, 2]))
    )[1]


def walk(moves):
    x = y = n = 0
    for m in moves:
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][m]
        if 0 <= x + dx < 3 and 0 <= y + dy < 3:
            x, y = x + dx, y + dy
        n += 1
        if (x, y) == (2, 2):
            break
    return x, y, n


@program(walk, ([0, 0, 0, 1, 1, 2],), ([3, 2, 1],), ([1, 1, 0, 0, 0],))
def grid_world(moves):
    def step(x, y, n):
        dx, dy = gyre.switch_case(
            moves[n], [lambda: (0, 1), lambda: (1, 0), lambda: (0, -1), lambda: (-1, 0)]
        )
        inside = gyre.reduce_all(gyre.stack([x + dx >= 0, x + dx < 3, y + dy >= 0, y + dy < 3]))
        x, y = gyre.cond(inside, lambda: (x + dx, y + dy), lambda: (x, y))
        return x, y, n + 1

    def goes_on(x, y, n):
        return gyre.logical_and(n < gyre.shape(moves)[0], gyre.logical_or(x != 2, y != 2))

    return gyre.while_loop(goes_on, step, (0, 0, 0))


def bandit(payoffs, rounds):
    counts, sums = np.ones(len(payoffs)), np.asarray(payoffs, float)
    for t in range(rounds):
        arm = int(np.argmax(sums / counts + np.sqrt(2 * np.log(t + 3.0) / counts)))
        counts[arm] += 1
        sums[arm] += payoffs[arm]
    return counts


@program(bandit, ([0.2, 0.9, 0.5], 8))
def upper_confidence(payoffs, rounds):
    def step(t, counts, sums):
        bonus = gyre.sqrt(2.0 * gyre.math.log(gyre.cast(t, gyre.float32) + 3.0) / counts)
        arm = gyre.one_hot(gyre.argmax(sums / counts + bonus), 3)
        return t + 1, counts + arm, sums + arm * payoffs

    return gyre.while_loop(lambda t, c, s: t < rounds, step, (0, gyre.ones([3]), payoffs))[1]


EXPERTS = [lambda x: x * 2.0, lambda x: x * x, lambda x: 1.0 - x]


@program(
    lambda xs, ids: np.asarray([EXPERTS[k](x) for x, k in zip(xs, ids)]),
    ([1.0, 2.0, 3.0, 4.0], [0, 2, 1, 1]),
)
def experts_per_token(xs, ids):
    def route(pair):
        x, k = pair
        return gyre.switch_case(k, [lambda e=e: e(x) for e in EXPERTS])

    return gyre.map_fn(route, (xs, ids), fn_output_signature=gyre.float32)


@program(
    lambda xs, ids: np.asarray([EXPERTS[k](x) for x, k in zip(xs, ids)]),
    ([1.0, 2.0, 3.0, 4.0], [0, 2, 1, 1]),
    ([1.0, 2.0], [0, 0]),
)
def experts_per_group(xs, ids):
    def one(k, expert):
        mine = gyre.cast(ids == k, gyre.float32)
        return gyre.cond(
            gyre.reduce_any(ids == k), lambda: expert(xs) * mine, lambda: gyre.zeros_like(xs)
        )

    return gyre.add_n([one(k, expert) for k, expert in enumerate(EXPERTS)])


def capped(ids, room):
    used, out = [0, 0], []
    for k in ids:
        out.append(k if used[k] < room else -1)
        used[k] += used[k] < room
    return np.asarray(out)


@program(capped, ([0, 0, 1, 0, 1, 1], 2), ([1, 1], 0))
def capacity_of_experts(ids, room):
    def step(state, k):
        used, _ = state
        fits = used[k] < room
        return used + gyre.one_hot(k, 2, dtype=gyre.int32) * gyre.cast(
            fits, gyre.int32
        ), gyre.where(fits, k, -1)

    return gyre.scan(step, ids, initializer=(gyre.zeros([2], gyre.int32), 0))[1]


def rpn(code):
    stack = []
    for c in code:
        if c >= 0:
            stack.append(c)
        else:
            b, a = stack.pop(), stack.pop()
            stack.append({-1: a + b, -2: a - b, -3: a * b}[c])
    return stack[-1]


@program(rpn, ([3, 4, -1, 2, -3],), ([9, 5, -2],), ([7],))
def reverse_polish(code):
    def step(i, top, stack):
        c = code[i]

        def operate():
            a, b = stack[top - 2], stack[top - 1]
            value = gyre.switch_case(-c - 1, [lambda: a + b, lambda: a - b, lambda: a * b])
            return top - 1, gyre.tensor_scatter_nd_update(stack, [[top - 2]], [value])

        top, stack = gyre.cond(
            c >= 0, lambda: (top + 1, gyre.tensor_scatter_nd_update(stack, [[top]], [c])), operate
        )
        return i + 1, top, stack

    _, top, stack = gyre.while_loop(
        lambda i, top, stack: i < gyre.shape(code)[0], step, (0, 0, gyre.zeros([8], gyre.int32))
    )
    return stack[top - 1]


def balanced_prefix(v):
    depth = 0
    for k, x in enumerate(v):
        depth += 1 if x else -1
        if depth < 0:
            return False, k
    return depth == 0, len(v)


@program(balanced_prefix, ([1, 1, 0, 0],), ([1, 0, 0, 1],), ([1],))
def balanced(v):
    n = gyre.shape(v)[0]

    def step(k, depth):
        depth = depth + gyre.cond(v[k] > 0, lambda: 1, lambda: -1)
        return gyre.where(depth < 0, k, k + 1), depth

    k, depth = gyre.while_loop(lambda k, depth: gyre.logical_and(k < n, depth >= 0), step, (0, 0))
    return depth == 0, k


def numbers_in(text):
    out, now, inside = [], 0, False
    for c in list(text) + [-1]:
        if c >= 0:
            now, inside = now * 10 + c, True
        elif inside:
            out.append(now)
            now, inside = 0, False
    return np.asarray(out)


@program(numbers_in, ([1, 2, -1, 7, -1, -1, 3, 0],), ([-1, 5],))
def tokens_to_numbers(text):
    text = gyre.concat([text, [-1]], 0)

    def step(i, now, inside, out):
        c = text[i]

        def close():
            grown = gyre.cond(inside, lambda: gyre.concat([out, [now]], 0), lambda: out)
            return 0, False, grown

        now, inside, out = gyre.cond(c >= 0, lambda: (now * 10 + c, True, out), close)
        return i + 1, now, inside, out

    scalar = gyre.TensorShape([])
    return gyre.while_loop(
        lambda i, now, inside, out: i < gyre.shape(text)[0],
        step,
        (0, 0, False, gyre.zeros([0], gyre.int32)),
        shape_invariants=(scalar, scalar, scalar, gyre.TensorShape([None])),
    )[3]


def machine(code, x):
    pc = steps = 0
    while pc < len(code) and steps < 40:
        op, arg = code[pc]
        pc += 1
        if op == 0:
            x += arg
        elif op == 1:
            x *= arg
        elif op == 2 and x < arg:
            pc = 0
        steps += 1
    return x, steps


@program(machine, ([[0, 3], [1, 2], [2, 50]], 1), ([[0, 1]], 5), ([[2, 10], [0, 1]], 20))
def interpreter(code, x):
    def step(pc, x, steps):
        op, arg = code[pc, 0], code[pc, 1]
        x, pc = gyre.switch_case(
            op,
            [
                lambda: (x + arg, pc + 1),
                lambda: (x * arg, pc + 1),
                lambda: (x, gyre.cond(x < arg, lambda: 0, lambda: pc + 1)),
            ],
        )
        return pc, x, steps + 1

    return gyre.while_loop(
        lambda pc, x, steps: gyre.logical_and(pc < gyre.shape(code)[0], steps < 40), step, (0, x, 0)
    )[1:]


def accept(word):
    state = 0
    for c in word:
        state = [[1, 0], [1, 2], [1, 0]][state][c]
    return state == 2


@program(accept, ([0, 1],), ([1, 0, 0, 1],), ([0, 1, 1],))
def finite_automaton(word):
    table = gyre.constant([[1, 0], [1, 2], [1, 0]])
    return gyre.foldl(lambda state, c: table[state, c], word, initializer=0) == 2


def tree(x):
    node = 0
    left, right = [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    while left[node] >= 0:
        node = left[node] if x[[0, 1][node]] < [0.5, 0.2][node] else right[node]
    return [0, 0, 30, 10, 20][node]


@program(tree, ([0.3, 0.1],), ([0.3, 0.9],), ([0.9, 0.1],))
def decision_tree(x):
    left, right = gyre.constant([1, 3, -1, -1, -1]), gyre.constant([2, 4, -1, -1, -1])
    feature, limit = gyre.constant([0, 1, 0, 0, 0]), gyre.constant([0.5, 0.2, 0.0, 0.0, 0.0])
    value = gyre.constant([0, 0, 30, 10, 20])
    leaf = gyre.while_loop(
        lambda k: left[k] >= 0,
        lambda k: gyre.where(x[feature[k]] < limit[k], left[k], right[k]),
        [gyre.constant(0)],
    )[0]
    return value[leaf]


@gyre.function
def subtree(values, node):
    """The sum of a heap below a node."""
    if node >= gyre.shape(values)[0]:
        return gyre.constant(0.0)
    return values[node] + subtree(values, 2 * node + 1) + subtree(values, 2 * node + 2)


@program(
    lambda values, node: sum(values) if node == 0 else values[1] + values[3] + values[4],
    ([1.0, 2.0, 3.0, 4.0, 5.0], 0),
    ([1.0, 2.0, 3.0, 4.0, 5.0], 1),
)
def recursive_tree_sum(values, node):
    return subtree(values, node)


@gyre.function
def minimax(values, node, largest):
    """The value of a game whose leaves are the last four of seven."""
    if node >= 3:
        return values[node]
    a, b = minimax(values, 2 * node + 1, not largest), minimax(values, 2 * node + 2, not largest)
    return gyre.where(largest, gyre.maximum(a, b), gyre.minimum(a, b))


@program(
    lambda v: max(min(v[3:5]), min(v[5:7])), ([0, 0, 0, 3, 5, 2, 9],), ([0, 0, 0, 9, 5, 2, 1],)
)
def game_tree(v):
    return minimax(v, 0, gyre.constant(True))


@gyre.function
def ackermann(m, n):
    """The function that no loop of known length computes."""
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@program(lambda m, n: [n + 1, n + 2, 2 * n + 3][m], (0, 5), (1, 3), (2, 2))
def recursion_in_arguments(m, n):
    return ackermann(m, n)


@gyre.function
def hanoi(n, a, b):
    """How many moves, and a mix of which."""
    if n == 0:
        return 0, 0
    c = 3 - a - b
    first, x = hanoi(n - 1, a, c)
    second, y = hanoi(n - 1, c, b)
    return first + second + 1, x * 2 + a * 10 + b - y


def hanoi_python(n, a, b):
    if n == 0:
        return 0, 0
    c = 3 - a - b
    first, x = hanoi_python(n - 1, a, c)
    second, y = hanoi_python(n - 1, c, b)
    return first + second + 1, x * 2 + a * 10 + b - y


@program(lambda n: hanoi_python(n, 0, 2), (0,), (4,))
def towers(n):
    return hanoi(n, 0, 2)


def generator(seed, n):
    out = []
    for _ in range(n):
        seed = (seed * 1103 + 12345) % 65536
        out.append(seed % 100)
    return np.asarray(out)


@program(generator, (1, 5), (7, 1))
def congruential_generator(seed, n):
    out = gyre.TensorArray(gyre.int32, size=n, element_shape=[])

    def step(i, s, out):
        s = (s * 1103 + 12345) % 65536
        return i + 1, s, out.write(i, s % 100)

    return gyre.while_loop(lambda i, s, out: i < n, step, (0, seed, out))[2].stack()


def checksum_of(v):
    c = 0xFF
    for x in v:
        c ^= x
        for _ in range(8):
            c = (c >> 1) ^ 0x8C if c & 1 else c >> 1
    return c


@program(checksum_of, ([1, 2, 3],), ([255],))
def checksum(v):
    bits = gyre.bitwise

    def byte(c, x):
        return gyre.while_loop(
            lambda k, c: k < 8,
            lambda k, c: (
                k + 1,
                gyre.cond(
                    bits.bitwise_and(c, 1) == 1,
                    lambda: bits.bitwise_xor(bits.right_shift(c, 1), 0x8C),
                    lambda: bits.right_shift(c, 1),
                ),
            ),
            (0, bits.bitwise_xor(c, x)),
        )[1]

    return gyre.foldl(byte, v, initializer=0xFF)


@program(
    lambda p, target: next((k for k in range(10) if 1 - (1 - p) ** k >= target), 10),
    (0.5, 0.9),
    (0.1, 0.99),
)
def tries_until_likely(p, target):
    return gyre.while_loop(
        lambda k, miss: gyre.logical_and(1.0 - miss < target, k < 10),
        lambda k, miss: (k + 1, miss * (1.0 - p)),
        (0, 1.0),
    )[0]


@program(
    lambda xs: (sum(x > 0 for x in xs), sum(x < 0 for x in xs), sum(x == 0 for x in xs)),
    ([1, -2, 0, 4, 0],),
)
def count_by_case(xs):
    def step(counts, x):
        p, n, z = counts
        return gyre.case(
            [(x > 0, lambda: (p + 1, n, z)), (x < 0, lambda: (p, n + 1, z))],
            default=lambda: (p, n, z + 1),
        )

    return gyre.foldl(step, xs, initializer=(0, 0, 0))
