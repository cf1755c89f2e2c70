"""Whole algorithms in plain Python: nests of all statements."""

from . import case


@case(([3, 1, 2],), ([1],), ([5, 4, 3, 2, 1],))
def inversions(v):
    n = len(v)
    count = 0
    for i in range(n):
        for j in range(i + 1, n):
            if v[i] > v[j]:
                count += 1
    return count


@case(([1, 3, 5, 7, 9], 7), ([1, 3, 5, 7, 9], 4))
def binary_search(v, x):
    low, high = 0, len(v) - 1
    while low <= high:
        middle = (low + high) // 2
        if v[middle] == x:
            return middle
        elif v[middle] < x:
            low = middle + 1
        else:
            high = middle - 1
    return -1


@case(([2, -3, 4, -1, 2, 1, -5, 4],), ([-1, -2],))
def maximum_subarray(v):
    best = v[0]
    here = v[0]
    for i in range(1, len(v)):
        here = here + v[i] if here > 0 else v[i]
        best = here if here > best else best
    return best


@case(([1, 2, 1, 1, 3, 1],), ([2, 2],))
def majority(v):
    candidate, count = v[0], 0
    for x in v:
        if count == 0:
            candidate = x
        if x == candidate:
            count += 1
        else:
            count -= 1
    return candidate


@case((2, 10, 7), (3, 0, 5))
def power_modulo(base, exponent, modulus):
    r = 1
    base = base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            r = r * base % modulus
        base = base * base % modulus
        exponent //= 2
    return r


@case((240, 46), (7, 3))
def extended_gcd(a, b):
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b != 0:
        q = a // b
        a, b = b, a % b
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


@case((10,), (1,))
def pascal_row_sum(n):
    row = [1]
    total = 0
    for i in range(n):
        value = 1
        for j in range(i):
            value = value * (i - j) // (j + 1)
            total += value
    return total, row[0]


@case((100,), (10,))
def perfect_numbers(n):
    found = 0
    for i in range(2, n):
        s = 0
        for d in range(1, i):
            if i % d == 0:
                s += d
            if s > i:
                break
        if s == i:
            found += 1
    return found


@case((121,), (123,))
def palindrome(n):
    m, r = n, 0
    while m > 0:
        r = r * 10 + m % 10
        m //= 10
    return r == n


@case((4,), (6,))
def hanoi_moves(n):
    moves = 0
    for _ in range(n):
        moves = 2 * moves + 1
    return moves


@case((0.5,), (2.0,))
def exponential_series(x):
    term, s, k = 1.0, 1.0, 1
    while abs(term) > 1e-6 and k < 50:
        term = term * x / float(k)
        s += term
        k += 1
    return s


@case((0.0, 4.0), (0.0, 3.0))
def bisection(low, high):
    for _ in range(25):
        middle = (low + high) * 0.5
        if middle * middle > 2.0:
            high = middle
        else:
            low = middle
    return (low + high) * 0.5


@case(([1.0, 2.0, 3.0, 4.0],))
def mean_and_variance(v):
    n = 0
    mean, m2 = 0.0, 0.0
    for x in v:
        n += 1
        delta = x - mean
        mean += delta / float(n)
        m2 += delta * (x - mean)
    return mean, m2 / float(n)


@case(([3, 1, 2],), ([4, 4],))
def two_largest(v):
    first, second = -1000, -1000
    for x in v:
        if x > first:
            first, second = x, first
        elif x > second:
            second = x
    return first, second


@case(([0, 1, 0, 3, 12],))
def count_zeros_and_rest(v):
    zeros = 0
    rest = []
    for x in v:
        if x == 0:
            zeros += 1
            continue
        rest.append(x)
    return zeros, rest


@case(([1, 2, 3, 4, 5, 6],))
def evens_then_odds(v):
    out = []
    for x in v:
        if x % 2 == 0:
            out.append(x)
    for x in v:
        if x % 2 == 1:
            out.append(x)
    return out


@case(([1, 1, 0, 1, 1, 1],), ([0, 0],))
def longest_run_of_ones(v):
    best = run = 0
    for x in v:
        run = run + 1 if x == 1 else 0
        best = max(best, run)
    return best


@case(([7, 1, 5, 3, 6, 4],), ([7, 6, 4],))
def best_trade(v):
    lowest, profit = v[0], 0
    for price in v:
        lowest = min(lowest, price)
        profit = max(profit, price - lowest)
    return profit


@case((5,), (8,))
def climbing_stairs(n):
    ways = [1, 1]
    for i in range(2, n + 1):
        ways.append(ways[-1] + ways[-2])
    return ways[-1]


@case((11,), (3,))
def coin_change_greedy(amount):
    count = 0
    for coin in (5, 2, 1):
        while amount >= coin:
            amount -= coin
            count += 1
    return count


@case((12,), (7,))
def prime_factors(n):
    out = []
    d = 2
    while n > 1:
        while n % d == 0:
            out.append(d)
            n //= d
        d += 1
    return out


@case(([1, 0, 1, 1],))
def bits_to_number(v):
    r = 0
    for bit in v:
        r = r * 2 + bit
    return r


@case((1000, 5, 3))
def compound(principal, rate, years):
    for year in range(years):
        interest = principal * rate // 100
        if interest < 1:
            break
        principal += interest
    return principal


@case(([[1, 2], [3, 4]],), ([[5, 0], [0, 5]],))
def trace_of_matrix(m):
    s = 0
    for i, row in enumerate(m):
        s += row[i]
    return s


@case(([[1, 2, 3], [4, 5, 6]], 5), ([[1, 2, 3], [4, 5, 6]], 9))
def find_in_matrix(m, x):
    for i, row in enumerate(m):
        for j, y in enumerate(row):
            if y == x:
                return i, j
    return -1, -1


@case(([1, 4, 6], [2, 3, 9]))
def merge_count(a, b):
    i = j = 0
    out = []
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    while i < len(a):
        out.append(a[i])
        i += 1
    while j < len(b):
        out.append(b[j])
        j += 1
    return out


@case((3, 4), (0, 2))
def ackermann_style(m, n):
    steps = 0
    while True:
        steps += 1
        if m == 0:
            break
        if n == 0:
            m, n = m - 1, 1
            continue
        n -= 1
        if steps > 50:
            return -1
    return steps + n


@case((20,), (7,))
def state_machine(n):
    state, visits = 0, 0
    for i in range(n):
        if state == 0:
            state = 1 if i % 3 == 0 else 2
        elif state == 1:
            state = 2
        else:
            state = 0
            visits += 1
    return state, visits


@case((5, 3), (3, 5))
def nested_everything(n, m):
    total = 0
    i = 0
    while i < n:
        for j in range(m):
            if j == i:
                continue
            if j > i + 1:
                break
            k = j
            while k > 0:
                total += k if k % 2 == 1 else -k
                k -= 1
        else:
            total += 100
        i += 1
        if total > 200:
            return total, i
    return total, -1


@case((9,), (2,))
def guarded_division(n):
    s = 0
    for i in range(n):
        if i != 3 and 12 // (i - 3) > 0:
            s += 12 // (i - 3)
    return s


@case((30,), (3,))
def sum_until(n):
    s = 0
    for i in range(n):
        if (t := s + i) > 40:
            break
        s = t
    return s


@case(([4, 2, 7],))
def argmin_argmax(v):
    low = high = 0
    for i in range(len(v)):
        if v[i] < v[low]:
            low = i
        if v[i] > v[high]:
            high = i
    return low, high


@case(([1, 2, 3], [1, 2, 3]), ([1, 2, 3], [1, 5, 3]))
def sequences_equal(a, b):
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x != y:
            return False
    return True


@case(([1, 2, 2, 3],), ([3, 1],))
def is_sorted(v):
    for i in range(1, len(v)):
        if v[i - 1] > v[i]:
            return False
    return True


@case((5,), (6,))
def triangle_or_square(n):
    total = 0
    for i in range(n):
        if n % 2 == 0:
            total += n
        else:
            total += i + 1
    return total
