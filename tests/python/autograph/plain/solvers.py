"""Numerical methods on floats: fixed points, roots, integrals, differential equations, series."""

from . import case


@case((2.0,), (7.5,))
def newton_root(x):
    y = x
    for _ in range(6):
        y = 0.5 * (y + x / y)
    return y


@case((2.0, 20), (5.0, 3))
def newton_until(x, tries):
    y = x
    k = 0
    while k < tries:
        change = (y * y - x) / (2.0 * y)
        y = y - change
        k += 1
        if abs(change) < 1e-3:
            break
    return y


@case((1.5,), (0.9,))
def secant_cube(target):
    a, b = 0.5, 1.6
    fa, fb = a * a * a - target, b * b * b - target
    for _ in range(4):
        if abs(fb - fa) < 1e-4:
            break
        a, b = b, b - fb * (b - a) / (fb - fa)
        fa, fb = fb, b * b * b - target
    return b


@case((1.3, 0.4))
def fixed_point(a, b):
    x = 1.0
    n = 0
    while n < 30:
        nxt = a / (1.0 + x) + b
        done = abs(nxt - x) < 1e-3
        x = nxt
        n += 1
        if done:
            break
    return x


@case((0.5, 8), (1.2, 1))
def exp_series(x, terms):
    total, term = 1.0, 1.0
    for k in range(terms):
        term = term * x / float(k + 1)
        total = total + term
    return total


@case((0.3, 6), (-0.9, 5))
def log_series(x, terms):
    s = 0.0
    power = x
    for k in range(1, terms + 1):
        s = s + power / float(k) if k % 2 == 1 else s - power / float(k)
        power = power * x
    return s


@case((0.0, 2.0, 8), (1.0, 3.0, 1))
def trapezoid(a, b, n):
    h = (b - a) / float(n)
    s = 0.5 * (a * a + b * b)
    for i in range(1, n):
        x = a + h * float(i)
        s += x * x
    return s * h


@case((0.0, 1.0, 6), (2.0, 1.0, 4))
def simpson(a, b, n):
    h = (b - a) / float(n)
    s = 0.0
    for i in range(n + 1):
        x = a + h * float(i)
        y = x * x * x + x
        if i == 0 or i == n:
            s += y
        elif i % 2 == 1:
            s += 4.0 * y
        else:
            s += 2.0 * y
    return s * h / 3.0


@case((1.0, 0.5, 10), (2.0, -0.3, 4))
def euler_decay(y, rate, steps):
    for _ in range(steps):
        y = y + 0.1 * (-rate * y)
    return y


@case((1.0, 0.0, 12), (0.3, 0.8, 5))
def oscillator(x, v, steps):
    energy = 0.0
    for _ in range(steps):
        v = v - 0.1 * x
        x = x + 0.1 * v
        energy += x * x + v * v
    return x, v, energy


@case((0.4, 1.1, 5), (2.0, 0.2, 3))
def runge_kutta(y, k, steps):
    def slope(v):
        return k * v * (1.0 - v)

    h = 0.2
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y = y + h * (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
    return y


@case((1.05, 3.0), (2.1, 0.5))
def adaptive_steps(x, end):
    t, h, steps = 0.0, 0.4, 0
    while t < end:
        slope = -x * x
        if abs(slope * h) > 0.2 * abs(x):
            h = h * 0.5
            if h < 0.01:
                return x, steps
            continue
        x = x + h * slope
        t = t + h
        h = h * 1.2
        steps += 1
    return x, steps


@case(([1.0, -2.0, 0.5], 1.5), ([2.0], 3.0))
def horner_list(coefficients, x):
    y = 0.0
    for c in coefficients:
        y = y * x + c
    return y


@case(([1.0, -2.0, 0.5], 1.5))
def polynomial_and_slope(coefficients, x):
    y, dy = 0.0, 0.0
    for c in coefficients:
        y, dy = y * x + c, dy * x + y
    return y, dy


@case((3.0, 2.0), (10.0, 3.0))
def continued_fraction(a, b):
    x = a
    for k in range(5, 0, -1):
        x = float(k) * b / (a + x)
    return x


@case((0.8, 0.6), (0.2, 0.9))
def arithmetic_geometric(a, b):
    for _ in range(5):
        a, b = (a + b) * 0.5, (a * b) ** 0.5
    return a


@case((3.0, 0.1, 15), (-2.0, 0.3, 6))
def gradient_descent(x, rate, steps):
    for _ in range(steps):
        slope = 2.0 * (x - 1.0) + 0.4 * x * x * x
        x = x - rate * slope if abs(slope) < 10.0 else x - rate * slope * 10.0 / abs(slope)
    return x


@case((3.0, 0.1), (-2.0, 0.2))
def momentum(x, rate):
    velocity = 0.0
    for k in range(8):
        velocity = 0.7 * velocity - rate * (2.0 * x)
        x = x + velocity
    return x, velocity


@case((4.0, 1.0), (0.5, 2.0))
def backtracking(x, step):
    value = x * x
    tries = 0
    while tries < 8:
        candidate = x - step * 2.0 * x * 1.5
        if candidate * candidate < value * 0.9:
            x = candidate
            break
        step = step * 0.5
        tries += 1
    return x, step


@case(([4.0, 1.0, 1.0, 3.0], [1.0, 2.0]))
def jacobi(m, b):
    x, y = 0.0, 0.0
    for _ in range(6):
        x, y = (b[0] - m[1] * y) / m[0], (b[1] - m[2] * x) / m[3]
    return x, y


@case(([4.0, 1.0, 1.0, 3.0], [1.0, 2.0]))
def gauss_seidel(m, b):
    x, y = 0.0, 0.0
    n = 0
    while n < 6:
        x = (b[0] - m[1] * y) / m[0]
        y = (b[1] - m[2] * x) / m[3]
        n += 1
    return x, y


@case(([2.0, 1.0, 0.5, 3.0],))
def power_iteration(m):
    x, y = 1.0, 0.5
    largest = 0.0
    for _ in range(6):
        u, v = m[0] * x + m[1] * y, m[2] * x + m[3] * y
        largest = u if abs(u) > abs(v) else v
        x, y = u / largest, v / largest
    return largest


@case((5.0, 0.1), (0.5, 0.1))
def clipped_walk(x, step):
    path = []
    for k in range(5):
        x = min(max(x - step * x * float(k), -1.0), 3.0) + 0.5 * x
        path.append(x)
    return path


@case((2.0, 5), (0.7, 3))
def chebyshev(x, n):
    before, now = 1.0, x
    for _ in range(n):
        before, now = now, 2.0 * x * now - before
    return now


@case((1.2, 4), (0.5, 2))
def nested_sums(x, n):
    total = 0.0
    for i in range(n):
        row = 0.0
        for j in range(i + 1):
            row += x * float(j + 1)
        total += row * row
    return total


@case((10.0, 3.0), (1.0, 3.0))
def float_remainder(x, y):
    quotient = 0
    while x >= y:
        x = x - y
        quotient += 1
    return x, quotient


@case((0.3, 3.2), (0.6, 2.1))
def logistic_until_high(x, r):
    for k in range(10):
        x = r * x * (1.0 - x)
        if x > 0.7:
            return x, k
    return x, -1


@case((1.0, 1.0, 0.5), (2.0, 0.1, 1.5))
def predator_prey(prey, hunters, rate):
    for _ in range(5):
        born = rate * prey * 0.1
        eaten = 0.2 * prey * hunters * 0.1
        prey, hunters = prey + born - eaten, hunters + eaten - 0.05 * hunters
    return prey, hunters


@case(([1.0, 3.0, 2.0], 0.5), ([5.0, 5.0], 0.1))
def heat_on_a_rod(rod, k):
    total = 0.0
    for i in range(len(rod)):
        left = rod[i - 1] if i > 0 else rod[i]
        right = rod[i + 1] if i < len(rod) - 1 else rod[i]
        total += (rod[i] + k * (left - 2.0 * rod[i] + right)) ** 2
    return total
