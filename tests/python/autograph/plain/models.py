"""What models do, in plain Python on floats: recurrences, attention, search, returns, routing,
losses."""

from . import case


def squash(x):
    return x / (1.0 + abs(x))


def relu(x):
    if x > 0.0:
        return x
    return 0.0 * x


@case(([0.5, -1.0, 2.0], 0.7, 0.3), ([1.0], 0.1, 0.9))
def simple_rnn(xs, w, u):
    h = 0.0
    for x in xs:
        h = squash(w * x + u * h)
    return h


@case(([0.5, -1.0, 2.0], 0.7))
def rnn_outputs(xs, w):
    h = 0.0
    out = []
    for x in xs:
        h = squash(w * x + h)
        out.append(h)
    return out


@case(([0.5, -1.0, 2.0, 4.0], 2, 0.7), ([0.5, -1.0, 2.0, 4.0], 4, 0.7))
def rnn_of_length(xs, length, w):
    h = 0.0
    for t in range(len(xs)):
        if t >= length:
            break
        h = squash(w * xs[t] + 0.5 * h)
    return h


@case(([0.5, -1.0, 2.0], 0.7, 1.3), ([1.0, 1.0], 0.2, 0.4))
def gated_recurrence(xs, wz, wh):
    h = 0.0
    for x in xs:
        z = 0.5 + 0.5 * squash(wz * x + h)
        candidate = squash(wh * x + (1.0 - z) * h)
        h = z * h + (1.0 - z) * candidate
    return h


@case(([0.5, -1.0, 2.0], 0.7, 1.3))
def lstm_like(xs, wf, wi):
    h, c = 0.0, 0.0
    for x in xs:
        f = 0.5 + 0.5 * squash(wf * x + h)
        i = 0.5 + 0.5 * squash(wi * x - h)
        c = f * c + i * squash(x + h)
        h = squash(c)
    return h, c


@case(([0.5, -1.0, 2.0], 0.7))
def both_directions(xs, w):
    forward, backward = 0.0, 0.0
    for x in xs:
        forward = squash(w * x + forward)
    for k in range(len(xs) - 1, -1, -1):
        backward = squash(w * xs[k] + backward)
    return forward * backward


@case(([0.5, -1.0, 2.0], 0.7))
def two_layers(xs, w):
    h1, h2 = 0.0, 0.0
    for x in xs:
        h1 = squash(w * x + h1)
        h2 = relu(h1 * w + 0.5 * h2)
    return h1, h2


@case(([1.0, 2.0, 3.0], [0.1, 0.2, 0.3], 0.5))
def soft_attention(values, keys, query):
    total, weighted = 0.0, 0.0
    for v, k in zip(values, keys):
        score = 1.0 / (1.0 + (k - query) ** 2)
        total += score
        weighted += score * v
    return weighted / total


@case(([3.0, 1.0, 2.0],), ([1.0, 5.0],))
def stable_normalisation(xs):
    top = xs[0]
    for x in xs:
        if x > top:
            top = x
    total = 0.0
    for x in xs:
        total += 1.0 / (1.0 + top - x)
    out = []
    for x in xs:
        out.append(1.0 / ((1.0 + top - x) * total))
    return out


@case(([1.0, 0.0, 2.0, 1.0], 0.9), ([5.0], 0.5))
def discounted_return(rewards, gamma):
    total = 0.0
    for k in range(len(rewards) - 1, -1, -1):
        total = rewards[k] + gamma * total
    return total


@case(([1.0, 0.0, 2.0, 1.0], [0.5, 0.4, 0.3, 0.2], 0.9))
def generalised_advantages(rewards, values, gamma):
    advantage = 0.0
    out = []
    for k in range(len(rewards) - 1, -1, -1):
        following = values[k + 1] if k + 1 < len(values) else 0.0
        delta = rewards[k] + gamma * following - values[k]
        advantage = delta + gamma * 0.95 * advantage
        out.append(advantage)
    return out


@case(([0.1, 0.9, 0.3], 0.2), ([0.1, 0.2, 0.15], 0.5))
def greedy_or_first(scores, threshold):
    best, at = scores[0], 0
    for k, score in enumerate(scores):
        if score > best:
            best, at = score, k
    if best - scores[0] < threshold:
        return scores[0], 0
    return best, at


@case(([1.0, -2.0, 3.0], 0.5), ([0.2, 0.1], 1.0))
def huber(errors, delta):
    loss = 0.0
    for e in errors:
        if abs(e) <= delta:
            loss += 0.5 * e * e
        else:
            loss += delta * (abs(e) - 0.5 * delta)
    return loss / float(len(errors))


@case((0.7, 0.2, 0.9), (0.1, 0.2, 0.9), (-0.5, 0.3, 0.4))
def route_to_expert(x, a, b):
    if x > 0.5:
        return a * x * x
    elif x > 0.0:
        return b * x + a
    else:
        return (a + b) * x


@case(([0.7, -0.2, 0.3], 0.4, 1.4))
def mixture_of_experts(xs, a, b):
    first, second, used = 0.0, 0.0, 0
    for x in xs:
        if x * a > 0.1:
            first += a * x
            used += 1
        else:
            second += b * x * x
    return first + second, used


@case(([0.7, 0.2, 0.3], 0.6))
def halting(xs, threshold):
    p, out, n = 0.0, 0.0, 0
    for x in xs:
        n += 1
        if p + x >= threshold:
            out += (1.0 - p) * x
            break
        p += x
        out += x * x
    return out, n


@case(([[0.5, 0.2], [0.1, 0.9]], [1.0, 2.0]))
def dense_layer(w, x):
    out = []
    for row in w:
        s = 0.0
        for a, b in zip(row, x):
            s += a * b
        out.append(relu(s))
    return out


@case(([[0.5, 0.2], [0.1, 0.9]], 3))
def markov_chain(m, steps):
    a, b = 1.0, 0.0
    for _ in range(steps):
        a, b = a * m[0][0] + b * m[1][0], a * m[0][1] + b * m[1][1]
    return a, b


@case(([0.2, 0.5, 0.9], [0.6, 0.7]))
def viterbi_two_states(emissions, stay):
    calm, wild = 0.5, 0.5
    for e in emissions:
        calm, wild = (
            max(calm * stay[0], wild * (1.0 - stay[1])) * (1.0 - e),
            max(wild * stay[1], calm * (1.0 - stay[0])) * e,
        )
    return calm, wild


@case(([0.2, 0.5, 0.9], [0.6, 0.7]))
def forward_algorithm(emissions, stay):
    calm, wild = 0.5, 0.5
    for e in emissions:
        calm, wild = (
            (calm * stay[0] + wild * (1.0 - stay[1])) * (1.0 - e),
            (wild * stay[1] + calm * (1.0 - stay[0])) * e,
        )
    return calm + wild


@case(([0.9, 0.4, 0.7, 0.1], 2), ([0.9, 0.4, 0.7, 0.1], 3))
def beam_of_two(scores, depth):
    first, second = 1.0, 0.0
    for k in range(depth):
        a, b = first * scores[k], second * scores[k]
        c = first * (1.0 - scores[k])
        first = max(a, c)
        second = max(b, min(a, c))
    return first, second


@case(([1.0, 2.0, 4.0], 0.5))
def exponential_average(xs, rate):
    average, weight = 0.0, 0.0
    for x in xs:
        average = rate * average + (1.0 - rate) * x
        weight = rate * weight + (1.0 - rate)
    return average / weight


@case(([1.0, 2.0, 4.0, 3.0],))
def total_variation(xs):
    s = 0.0
    for k in range(1, len(xs)):
        change = xs[k] - xs[k - 1]
        s += change if change > 0.0 else -change
    return s


@case((0.8, 3), (0.3, 1))
def residual_blocks(x, depth):
    for k in range(depth):
        y = squash(x * 1.5)
        x = x + (y if k % 2 == 0 else relu(y - 0.1))
    return x


@case((2.0, 0.5), (0.1, 0.5))
def clipped_ratio(ratio, advantage):
    clipped = min(max(ratio, 0.8), 1.2)
    return min(ratio * advantage, clipped * advantage)


@case(([2.0, -1.0, 0.5],))
def margin_loss(scores):
    loss = 0.0
    for k in range(len(scores)):
        if k == 1:
            continue
        margin = 1.0 + scores[k] - scores[1]
        if margin > 0.0:
            loss += margin
    return loss


@case(([1.0, 2.0, 3.0, 4.0], 2.2), ([1.0, 2.0, 3.0, 4.0], 9.0))
def linear_interpolation(table, x):
    k = 0
    while k < len(table) - 2 and float(k + 1) < x:
        k += 1
    part = x - float(k)
    return table[k] * (1.0 - part) + table[k + 1] * part


@case(([1.0, -2.0, 3.0],))
def sum_by_halves(v):
    def total(values):
        if len(values) == 1:
            return values[0] * values[0]
        middle = len(values) // 2
        return total(values[:middle]) + 0.5 * total(values[middle:])

    return total(v)


@case((0.6, 0.3), (0.2, 0.9))
def decision_tree(x, y):
    if x < 0.5:
        if y < 0.5:
            return 1.0 + x * y
        return 2.0 * x
    if x + y < 1.0:
        return x - y
    return x * x * y
