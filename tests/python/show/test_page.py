"""The page in a real browser."""

import re

import pytest

import browser
import gyre
import shown_programs as programs

pytestmark = pytest.mark.skipif(
    browser.find() is None, reason="no chromium is installed (./dev setup installs Debian's)"
)

COUNT = "document.querySelectorAll({!r}).length"
SCALE = (
    "Number(/scale\\(([\\d.]+)\\)/"
    ".exec(document.getElementById('all').getAttribute('transform'))[1])"
)
CORNER = "(r => [r.x, r.y])(document.querySelector('.box.loop').getBoundingClientRect())"
TRANSFORMS = (
    "[...document.querySelectorAll('#all g[transform]')].map(e => e.getAttribute('transform'))"
)
PATHS = "[...document.querySelectorAll('path.edge')].map(e => e.getAttribute('d'))"
SHOWN = (
    "[...document.querySelectorAll('#all .item, #all .box')].filter(e => e.getClientRects().length "
    "&& e.getBoundingClientRect().width).length"
)
HIT = "document.elementFromPoint({x}, {y}).closest('.item, .box').id"


def page_of(tmp_path, fn, *args):
    shown = gyre.show(fn, *args)
    path = tmp_path / "page.html"
    shown.save(path)
    return shown, path


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A program and its open page."""
    program, path = page_of(
        tmp_path_factory.mktemp("page"), programs.branching, *programs.example()
    )
    with browser.opened(path) as page:
        yield program, page
        assert page.problems == []
        assert [url for url in page.requests if not url.startswith("file:")] == []


@pytest.fixture
def page(shown):
    """The page as it was when it was opened."""
    _, page = shown
    page.key("Escape")
    page.click("#open")
    return page


def box_id(page, kind, at=0):
    return page.value(f"document.querySelectorAll('.box.{kind}')[{at}].id")


def test_everything_is_drawn(shown, page):
    program, _ = shown
    assert page.value(SHOWN) == sum(1 for _ in program.root.walk())
    assert page.value("document.querySelector('h1').textContent") == "branching"


def test_script_lays_out_as_python_does(shown, page):
    """After everything was closed and opened, all is where it was."""
    program, _ = shown
    page.click("#close")
    page.click("#open")
    by_script = page.value(TRANSFORMS)
    from_python = [f"translate({i.x:.1f} {i.y:.1f})" for i in program.root.walk()][1:]

    def numbers(texts):
        return sorted(
            tuple(map(float, text[10:-1].split()))
            for text in texts
            if "scale" not in text and "rotate" not in text
        )

    for a, b in zip(numbers(by_script), sorted([(0.0, 0.0), *numbers(from_python)]), strict=True):
        assert a == pytest.approx(b, abs=0.11)
    assert len(page.value(PATHS)) == sum(len(item.edges) for item in program.root.walk())


@pytest.mark.parametrize(
    "fn, arguments",
    [
        (programs.gradient, programs.example()),
        (programs.fibonacci, [gyre.constant(4)]),
        (programs.long, [gyre.constant(1.0)]),
    ],
    ids=["gradient", "recursion", "long"],
)
def test_script_draws_edges_as_python_does(tmp_path, fn, arguments):
    program, path = page_of(tmp_path, fn, *arguments)
    drawn = dict(re.findall(r'<path id="(e[\d-]+)" [^>]*? d="([^"]+)"', program.svg))
    with browser.opened(path) as page:
        page.click("#open")
        by_script = page.value(
            "Object.fromEntries([...document.querySelectorAll('path.edge')].map("
            "e => [e.id, e.getAttribute('d')]))"
        )
    assert by_script.keys() == drawn.keys() and drawn

    def parts(d):
        return re.sub(r"[-\d. ]+", "", d), [float(x) for x in re.findall(r"-?[\d.]+", d)]

    for name, d in drawn.items():
        letters, numbers = parts(d)
        assert parts(by_script[name])[0] == letters
        assert parts(by_script[name])[1] == pytest.approx(numbers, abs=0.11)


def test_large_programs_begin_closed(tmp_path):
    def level(depth):
        @gyre.function(name=f"level_{depth}")
        def run(x):
            for _ in range(4):
                x = (gyre.sin(x) if depth == 0 else inner(x)) + 1.0
            return x

        inner = level(depth - 1) if depth else None
        return run

    program, path = page_of(tmp_path, level(4), gyre.constant(1.0))
    with browser.opened(path) as page:
        assert page.value(SHOWN) < 800
        assert page.value(COUNT.format(".collapsed")) > 3
        page.click("#open")
        assert page.value(SHOWN) == sum(1 for _ in program.root.walk()) > 1000
        assert page.problems == []


def test_click_closes_and_opens(page):
    loop = box_id(page, "loop")
    before, whole = (
        page.value(SHOWN),
        page.value("document.querySelector('.program > .frame').getAttribute('height')"),
    )
    page.click(f"#{loop} > .header")
    assert page.value(f"document.getElementById('{loop}').classList.contains('collapsed')")
    assert (
        page.value(f"document.querySelector('#{loop} > .header').getAttribute('aria-expanded')")
        == "false"
    )
    assert page.value(SHOWN) < before
    closed = page.value("document.querySelector('.program > .frame').getAttribute('height')")
    assert float(closed) < float(whole) / 2
    page.click(f"#{loop} > .header")
    assert page.value(SHOWN) == before
    assert page.value("document.querySelector('.program > .frame').getAttribute('height')") == whole


def test_header_stays_under_the_pointer(page):
    inner = box_id(page, "branches")
    before = page.middle(f"#{inner} > .header .fold")
    page.click(f"#{inner} > .header")
    after = page.middle(f"#{inner} > .header .fold")
    assert after["x"] == pytest.approx(before["x"], abs=3)
    assert after["y"] == pytest.approx(before["y"], abs=3)


def test_nothing_overlaps_when_boxes_are_closed(page):
    for kind in ("branch", "branches"):
        page.click(f"#{box_id(page, kind)} > .header")
        assert (
            page.value("""(() => {
          const bad = [];
          for (const inside of document.querySelectorAll('.inside')) {
            const boxes = [...inside.children]
              .filter(e => e.matches('.item, .box') && e.getClientRects().length)
              .map(e => [e.id, e.querySelector(':scope > rect').getBoundingClientRect()]);
            boxes.forEach(([i, a], at) => boxes.slice(at + 1).forEach(([j, b]) => {
              if (a.width && b.width && a.left < b.right - 1 && b.left < a.right - 1 &&
                  a.top < b.bottom - 1 && b.top < a.bottom - 1) bad.push([i, j]);
            }));
          }
          return bad; })()""")
            == []
        )


def test_wheel_zooms_about_the_pointer(page):
    page.click("#fit")
    before, corner = page.value(SCALE), page.value(CORNER)
    page.wheel(*corner, -400)
    assert page.value(SCALE) > before * 1.5
    assert page.value(CORNER) == pytest.approx(corner, abs=1.5)
    page.wheel(*corner, 400)
    assert page.value(SCALE) == pytest.approx(before, rel=1e-3)


def test_buttons_and_keys_zoom(page):
    page.click("#fit")
    before = page.value(SCALE)
    page.click("#in")
    assert page.value(SCALE) == pytest.approx(before * 1.25)
    page.key("-")
    assert page.value(SCALE) == pytest.approx(before)
    page.key("0")
    assert page.value(SCALE) == pytest.approx(before)


def test_drag_and_arrows_move(page):
    page.click("#fit")
    x, y = page.value(CORNER)
    page.drag((20, 600), (120, -80))
    assert page.value(CORNER) == pytest.approx([x + 120, y - 80], abs=1)
    page.key("ArrowDown")
    assert page.value(CORNER) == pytest.approx([x + 120, y - 160], abs=1)
    # a drag closes nothing
    assert page.value(SHOWN.replace("#all .box", "#all .box.collapsed")) > 0
    assert page.value(COUNT.format(".collapsed")) == 0


def test_pointing_tells(page):
    node = page.value("items.find(i => i.op === 'Sum').id")
    page.move(f"#i{node}")
    told = page.value("document.getElementById('told').textContent")
    assert "Sum" in told and "shown_programs.py:12" in told and "×7" in told
    assert page.value(COUNT.format(".edge.lit")) == 2
    assert (
        page.value("document.querySelector('#source .now').textContent")
        .strip()
        .endswith("> 100.0:")
    )


def test_search_finds_and_opens(page):
    page.click("#close")
    page.key("/")
    page.type("maximum")
    assert page.value("document.getElementById('hits').textContent") == "1 found"
    page.key("Enter")
    found = page.value("items.find(i => i.op === 'Maximum').id")
    assert page.value(f"document.getElementById('i{found}').getBoundingClientRect().width") > 10
    at = page.middle(f"#i{found} > rect")
    assert page.value(HIT.format(**at)) == f"i{found}"
    page.key("Escape")
    assert page.value(COUNT.format(".found")) == 0


def test_lists_lead_to_loops(page):
    page.click("#close")
    assert page.value(COUNT.format("#loops .entry")) == 2
    assert "×7" in page.value("document.querySelector('#loops .entry').textContent")
    page.click("#loops .entry:nth-child(2)")
    loop = box_id(page, "loop", 1)
    assert page.value(f"document.getElementById('{loop}').classList.contains('chosen')")
    assert page.value(f"document.getElementById('{loop}').getBoundingClientRect().width") > 10


def test_keyboard_opens_boxes(page):
    loop = box_id(page, "loop")
    page.value(f"document.querySelector('#{loop} > .header').focus()")
    page.key("Enter")
    assert page.value(f"document.getElementById('{loop}').classList.contains('collapsed')")
    page.key("Enter")
    assert not page.value(f"document.getElementById('{loop}').classList.contains('collapsed')")


def test_dark(tmp_path):
    _, path = page_of(tmp_path, programs.branching, *programs.example())
    with browser.opened(path, dark=True) as page:
        colour = page.value("getComputedStyle(document.body).backgroundColor")
        assert sum(map(int, colour[4:-1].split(","))) < 150
        ink = page.value("getComputedStyle(document.querySelector('.item text')).fill")
        assert sum(map(int, ink[4:-1].split(","))) > 500


def test_thousand_nodes_open_quickly(tmp_path):
    _, path = page_of(tmp_path, programs.long, gyre.constant(1.0))
    with browser.opened(path) as page:
        took = page.value(
            "(() => { const t = performance.now(); measure(items[0], true); "
            "return performance.now() - t; })()"
        )
        assert took < 1000
        assert page.problems == []


def test_hostile_names_stay_text(tmp_path):
    graph = gyre._gyre.Graph("</script><script>alert(1)</script>")
    with graph:
        x = graph.placeholder(gyre.float32, (2,), "x")
        gyre.identity(x, name="y")
    path = tmp_path / "page.html"
    gyre.show(graph).save(path)
    with browser.opened(path) as page:
        assert page.problems == []
        assert page.value(COUNT.format("script")) == 3
        assert page.value(COUNT.format("#all .item")) == 2
