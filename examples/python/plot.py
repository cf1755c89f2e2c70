"""A line chart as a PNG file, with nothing but the standard library.

    plot.lines("loss.png", [("training", points)], title="loss", x="seconds", y="nats per character")

Letters are those of a 5 x 7 pixel font of capitals, digits and a few signs.
"""

import math
import struct
import zlib

_WIDTH, _HEIGHT = 960, 540
_LEFT, _RIGHT, _TOP, _BOTTOM = 90, 30, 60, 70
_INK, _GRID, _PAPER = (40, 44, 52), (225, 228, 234), (255, 255, 255)
_COLOURS = ((38, 110, 190), (214, 118, 32), (46, 140, 90), (160, 70, 160))

# Rows of 5 bits from the top, as base-32 digits.
_FONT = {
    "A": "4AHHVHH", "B": "UHHUHHU", "C": "EHGGGHE", "D": "UHHHHHU", "E": "VGGUGGV", "F": "VGGUGGG",
    "G": "EHGNHHF", "H": "HHHVHHH", "I": "E44444E", "J": "72222IC", "K": "HIKOKIH", "L": "GGGGGGV",
    "M": "HRLLHHH", "N": "HPLJHHH", "O": "EHHHHHE", "P": "UHHUGGG", "Q": "EHHHLID", "R": "UHHUKIH",
    "S": "FGGE11U", "T": "V444444", "U": "HHHHHHE", "V": "HHHHHA4", "W": "HHHLLLA", "X": "HHA4AHH",
    "Y": "HHA4444", "Z": "V1248GV", "0": "EHJLPHE", "1": "4C4444E", "2": "EH1248V", "3": "V2421HE",
    "4": "26AIV22", "5": "VGU11HE", "6": "68GUHHE", "7": "V124888", "8": "EHHEHHE", "9": "EHHF12C",
    ".": "00000CC", ",": "0000648", "-": "000V000", "/": "0124G00", "(": "2488842", ")": "8422248",
    ":": "0CC0CC0", "%": "OP248J3", " ": "0000000", "=": "00V0V00",
}


class _Canvas:
    """Pixels, drawn with antialiased lines."""

    def __init__(self):
        self.rows = [bytearray(bytes(_PAPER) * _WIDTH) for _ in range(_HEIGHT)]

    def blend(self, x, y, colour, weight=1.0):
        if 0 <= x < _WIDTH and 0 <= y < _HEIGHT and weight > 0:
            row, at, weight = self.rows[y], 3 * x, min(weight, 1.0)
            for i in range(3):
                row[at + i] = round(row[at + i] + (colour[i] - row[at + i]) * weight)

    def line(self, a, b, colour, width=1.0):
        """Every pixel, by its distance from the segment."""
        (x0, y0), (x1, y1) = a, b
        length = math.hypot(x1 - x0, y1 - y0) or 1e-9
        dx, dy, reach = (x1 - x0) / length, (y1 - y0) / length, width / 2 + 1
        for y in range(math.floor(min(y0, y1) - reach), math.ceil(max(y0, y1) + reach) + 1):
            for x in range(math.floor(min(x0, x1) - reach), math.ceil(max(x0, x1) + reach) + 1):
                along = min(max((x - x0) * dx + (y - y0) * dy, 0.0), length)
                distance = math.hypot(x - x0 - along * dx, y - y0 - along * dy)
                self.blend(x, y, colour, width / 2 + 0.5 - distance)

    def text(self, x, y, text, colour=_INK, scale=2, align=0.0, upright=False):
        """From (x, y), or so that the share `align` of it stands before; `upright`: bottom to top."""
        size = len(text) * 6 * scale
        start = -round(align * size)
        for i, letter in enumerate(text.upper()):
            for row, digit in enumerate(_FONT.get(letter, _FONT[" "])):
                bits = int(digit, 32)
                for column in range(5):
                    if bits >> (4 - column) & 1:
                        self._dot(x, y, start + (6 * i + column) * scale, row * scale, colour, scale, upright)

    def _dot(self, x, y, along, down, colour, scale, upright):
        for i in range(scale):
            for j in range(scale):
                u, v = along + i, down + j
                self.blend(*((x + v, y - u) if upright else (x + u, y + v)), colour)

    def png(self):
        def chunk(kind, data):
            body = kind + data
            return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

        head = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
        data = zlib.compress(b"".join(b"\0" + bytes(row) for row in self.rows), 9)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def _ticks(low, high, about=6):
    """Round numbers from below `low` to above `high`."""
    raw = (high - low) / about or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    return [(first + i) * step for i in range(math.ceil(high / step - 1e-9) - first + 1)]


def lines(path, series, title="", x="", y=""):
    """Draws `series`, a list of (name, [(x, y), …]), into a PNG file."""
    points = [p for _, part in series for p in part]
    if not points:
        raise ValueError("there are no points to draw")
    x_ticks = _ticks(min(0, *(p[0] for p in points)), max(p[0] for p in points))
    y_ticks = _ticks(min(p[1] for p in points), max(p[1] for p in points))
    canvas = _Canvas()
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(point):
        return (_LEFT + (point[0] - x_ticks[0]) / (x_ticks[-1] - x_ticks[0]) * width,
                _TOP + (y_ticks[-1] - point[1]) / (y_ticks[-1] - y_ticks[0]) * height)

    for tick in y_ticks:
        _, at = place((x_ticks[0], tick))
        canvas.line((_LEFT, at), (_WIDTH - _RIGHT, at), _GRID)
        canvas.text(_LEFT - 8, round(at) - 7, f"{tick:.4g}", align=1.0)
    for tick in x_ticks:
        at, _ = place((tick, y_ticks[0]))
        canvas.line((at, _TOP), (at, _HEIGHT - _BOTTOM), _GRID)
        canvas.text(round(at), _HEIGHT - _BOTTOM + 10, f"{tick:.4g}", align=0.5)
    canvas.line((_LEFT, _TOP), (_LEFT, _HEIGHT - _BOTTOM), _INK, 1.5)
    canvas.line((_LEFT, _HEIGHT - _BOTTOM), (_WIDTH - _RIGHT, _HEIGHT - _BOTTOM), _INK, 1.5)
    for (name, part), colour in zip(series, _COLOURS * len(series)):
        placed = [place(p) for p in part]
        for a, b in zip(placed, placed[1:]):
            canvas.line(a, b, colour, 2.5)
    for i, ((name, _), colour) in enumerate(zip(series, _COLOURS * len(series))):
        at = _TOP + 14 + 24 * i
        canvas.line((_WIDTH - 260, at + 6), (_WIDTH - 230, at + 6), colour, 4)
        canvas.text(_WIDTH - 220, at, name)
    canvas.text(_LEFT + width // 2, 20, title, scale=3, align=0.5)
    canvas.text(_LEFT + width // 2, _HEIGHT - 30, x, align=0.5)
    canvas.text(14, _TOP + height // 2, y, align=0.5, upright=True)
    with open(path, "wb") as file:
        file.write(canvas.png())
