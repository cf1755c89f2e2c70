"""match over classes, sequences, mappings, alternatives; with guards."""

import dataclasses

from . import case


@dataclasses.dataclass
class Point:
    x: object
    y: object


@case((0,), (3,), (7,))
def match_class_by_name_and_position(n):
    match Point(n, 2):
        case Point(x=0, y=found):
            result = found
        case Point(3, b) if b > 1:
            result = b * 10
        case Point(a, b):
            result = a + b
    return result


@case((1,), (5,), (2,))
def match_sequence_with_rest(n):
    match [n, 1, 2]:
        case [1, *rest]:
            result = sum(rest)
        case [a, *_, c] if a > 2:
            result = a * c
        case [a, b, c]:
            result = a + b + c
        case _:
            result = -1
    return result


@case((3,), (4,))
def match_mapping(n):
    match {"k": n, "z": 5}:
        case {"k": 3, **rest}:
            result = rest["z"]
        case {"k": found}:
            result = found
    return result


@case((2,), (20,), (-4,))
def match_alternatives_and_guard(n):
    match n:
        case 1 | 2 | 3:
            result = n * 2
        case large if large > 10:
            result = large
        case other:
            result = -other
    return result


@case((3,), (8,))
def match_alternatives_that_bind(n):
    match (n, 7):
        case (3, found) | (found, 7):
            result = found
        case _:
            result = 0
    return result


@case((1,), (4,))
def match_builtin_classes(n):
    match ("a", n):
        case (str(s), value) if len(s) == 1:
            result = value + 1
        case _:
            result = 0
    return result


@case((1,), (-1,))
def match_in_a_loop_that_returns(n):
    for kind, size in [("add", 1), ("skip", 0), ("stop", 5)]:
        match kind, size:
            case "add", by:
                n += by
            case "stop", by if n > by - 4:
                return n
    return -n
