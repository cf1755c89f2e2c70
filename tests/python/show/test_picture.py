"""The structure of pictures: boxes in boxes, names, counts, escaping, size."""

import html
import json
import re
import time
import xml.etree.ElementTree as ET

import pytest

import gyre
import shown_programs as programs
from gyre._impl.show import labels, layers, model, place, text

SVG = "{http://www.w3.org/2000/svg}"


def boxes(root, kind):
    return [item for item in root.walk() if item.is_box and item.kind == kind]


def inside(outer, inner):
    """Whether boxes lie in each other, where they are drawn."""
    return any(inner is item for item in outer.walk())


def elements(page):
    """(class, title, element) of all boxes of the SVG, outermost first."""
    found = []
    for group in ET.fromstring(page.svg).iter(SVG + "g"):
        if group.get("class", "").startswith("box"):
            title = group.find(f"{SVG}g/{SVG}text[@class='title']")
            found.append((group.get("class").split()[1], title.text, group))
    return found


def test_loops_and_branches_are_nested_and_named():
    page = gyre.show(programs.branching, *programs.example())
    outer, inner = boxes(page.root, "loop")
    assert inner.title == "for"
    assert [(kind, title) for kind, title, _ in elements(page)] == [
        ("program", "branching"),
        ("loop", "while: i < n"),
        ("branches", "if · > 100"),
        ("branch", "then"),
        ("branch", "else"),
        ("loop", inner.title),
    ]
    then, otherwise = boxes(page.root, "branch")
    assert inside(outer, inner) and inside(otherwise, inner) and not inside(then, inner)


def test_state_of_a_loop_over_rows_has_the_users_names():
    @gyre.function
    def f(rows):
        total = gyre.constant(0.0)
        for row in rows:
            total += row
        return total

    text_form = f.get_concrete_function(gyre.ones([3])).graph.text()
    assert "state_total" in text_form and "state_0" not in text_form


def test_elements_are_nested_as_boxes_are():
    page = gyre.show(programs.gradient, *programs.example())
    parents = {child: group for group in ET.fromstring(page.svg).iter() for child in group}
    by_id = {element.get("id"): element for element in parents}
    for item in page.root.walk():
        for child in item.children:
            above = parents[parents[by_id[f"i{child.id}"]]]
            assert above.get("id") == f"i{item.id}"


def test_ids_are_places_in_the_pages_list():
    for page in (
        gyre.show(programs.gradient, *programs.example()),
        gyre.show(programs.fibonacci, gyre.constant(3)),
    ):
        assert sorted(item.id for item in page.root.walk()) == list(
            range(sum(1 for _ in page.root.walk()))
        )


def test_children_lie_in_their_boxes_and_apart():
    page = gyre.show(programs.gradient, *programs.example())
    for box in page.root.walk():
        for i, a in enumerate(box.children):
            assert 0 <= a.x and a.x + a.width <= box.width and a.y >= place.HEADER
            assert a.y + a.height <= box.height
            for b in box.children[i + 1 :]:
                assert (
                    a.x + a.width <= b.x + 1e-6
                    or b.x + b.width <= a.x + 1e-6
                    or a.y + a.height <= b.y + 1e-6
                    or b.y + b.height <= a.y + 1e-6
                )


def test_edges_lead_down_from_source_to_target():
    page = gyre.show(programs.gradient, *programs.example())
    for box in page.root.walk():
        assert len(box.paths) == len(box.edges)
        for (a, b, _), points in zip(box.edges, box.paths):
            source, target = box.children[a], box.children[b]
            assert points[0][1] == pytest.approx(source.y + source.height)
            assert points[-1][1] == pytest.approx(target.y)
            assert target.x <= points[-1][0] <= target.x + target.width
            assert all(p[1] <= q[1] + 1e-6 for p, q in zip(points, points[1:]))


@pytest.mark.parametrize("iterations", [0, 1, 7, 40])
def test_counts_are_trip_counts(iterations):
    page = gyre.show(programs.branching, gyre.constant([1.0, 2.0]), gyre.constant(iterations))
    outer, inner = boxes(page.root, "loop")
    taken = {branch.title: branch.firings for branch in boxes(page.root, "branch")}
    assert (outer.iterations or {"iterations": 0})["iterations"] == iterations
    assert taken["then"] + taken["else"] == iterations
    if iterations:
        assert outer.lines[0].startswith(f"×{iterations}")
        compare = next(item for item in outer.children if item.title == "· > 100")
        assert compare.firings == iterations and compare.nanos > 0
    if iterations == 7:
        assert inner.iterations["entered"] == taken["else"]
        assert f"×{inner.iterations['iterations']} in {taken['else']} goes" in inner.lines[0]


def test_without_arguments_nothing_runs():
    seen = []

    @gyre.function
    def told(x):
        gyre.py_function(lambda v: seen.append(1) or v, [x], gyre.float32)
        return x

    told(gyre.constant(1.0))
    assert seen == [1]
    page = gyre.show(told)
    assert seen == [1] and page.statistics is None
    assert all(item.firings == 0 for item in page.root.walk())


def test_gradient_says_what_it_is_of():
    page = gyre.show(programs.gradient, *programs.example())
    titles = [loop.title for loop in boxes(page.root, "loop")]
    assert sum(title.startswith("∇ while") for title in titles) == 1
    backward = next(loop for loop in boxes(page.root, "loop") if loop.title.startswith("∇ while"))
    assert backward.is_gradient and backward.gradient_of == "while"
    assert backward.iterations["iterations"] == 7
    data = json.loads(re.search(r'id="program">(.*?)</script>', page.html, re.S)[1])
    loop = next(item for item in data["items"] if item["title"] == backward.title)
    assert data["items"][loop["ofId"]]["title"].startswith("while: i < ")


def test_recursion_ends_at_the_call():
    page = gyre.show(programs.fibonacci, gyre.constant(6))
    again = [item for item in page.root.walk() if item.kind == "again"]
    assert again and all(item.title == "↻ call fibonacci" for item in again)
    by_id = {item.id: item for item in page.root.walk()}
    assert all(by_id[item.again].kind in ("call", "program") for item in again)


def test_case_has_all_branches():
    page = gyre.show(programs.choosing, gyre.constant(1), gyre.constant([1.0, 2.0, 3.0]))
    assert [box.title for box in boxes(page.root, "branch")] == ["case 0", "case 1", "case 2"]
    assert boxes(page.root, "branches")[0].title == "case i"
    assert boxes(page.root, "loop")[0].iterations["iterations"] == 3


def test_concrete_functions_graphs_and_plain_functions():
    x, n = programs.example()
    concrete = programs.branching.get_concrete_function(x, n)
    assert boxes(gyre.show(concrete).root, "loop")[0].iterations is None
    assert boxes(gyre.show(concrete, x, n).root, "loop")[0].iterations["iterations"] == 7
    assert boxes(gyre.show(concrete.graph).root, "loop")
    assert "x + 1" in gyre.show(lambda x: x + 1.0, x).svg
    with pytest.raises(TypeError, match="function or a graph"):
        gyre.show(3)
    with pytest.raises(ValueError, match="not been traced"):
        gyre.show(gyre.function(lambda x: x))


def test_text_is_escaped():
    graph = gyre._gyre.Graph('<b>&"graph"')
    with graph:
        x = graph.placeholder(gyre.string, (), "x")
        gyre.raw_ops.StringJoin(inputs=[x, gyre.constant('</script>&<x y="1">')])
    page = gyre.show(graph)
    ET.fromstring(page.svg)
    assert "<b>" not in page.svg and "</script>&" not in page.html
    assert page.html.count("</script>") == 3
    assert html.escape('<b>&"graph"') in page.html


def test_page_needs_nothing_else():
    told = gyre.show(programs.branching, *programs.example()).html
    assert re.findall(r"(?:src|href)\s*=|url\(|@import|fetch\(|XMLHttpRequest", told) == []
    assert set(re.findall(r"https?://[^\s\"']+", told)) <= {"http://www.w3.org/2000/svg"}


def test_saving(tmp_path):
    page = gyre.show(programs.branching, *programs.example(), path=tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text("utf-8") == page.html
    page.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text("utf-8") == page.svg
    assert page._repr_svg_() == page.svg and page._repr_html_().startswith("<iframe srcdoc=")


def layout_time(root):
    """Seconds that the thread takes for a layout: the best of three."""
    took = []
    for _ in range(3):
        begun = time.thread_time()
        place.layout(root)
        took.append(time.thread_time() - begun)
    return min(took)


def test_thousand_nodes_are_quick():
    page = gyre.show(programs.long, gyre.constant(1.0))
    assert sum(1 for _ in page.root.walk()) > 1000
    assert layout_time(page.root) < 1


def test_wide_programs_are_quick_and_not_too_wide():
    graph = gyre._gyre.Graph("wide")
    with graph:
        x = graph.placeholder(gyre.float32, (2,), "x")
        last = [gyre.sin(x) for _ in range(1000)]
        gyre.add_n(last)
    functions = text.parse(graph.text())
    root = model.Builder(functions).build("wide")
    assert layout_time(root) < 1
    bends = layers.CROWD * (place.BEND + place.COLUMN_GAP)
    assert root.width < layers.WIDEST + bends + 100


def test_large_programs_begin_closed():
    def box(depth):
        @gyre.function(name=f"level_{depth}")
        def level(x):
            for _ in range(4):
                x = (gyre.sin(x) if depth == 0 else inner(x)) + 1.0
            return x

        inner = box(depth - 1) if depth else None
        return level

    page = gyre.show(box(4), gyre.constant(1.0))
    data = json.loads(re.search(r'id="program">(.*?)</script>', page.html, re.S)[1])
    assert len(data["items"]) > 1000
    assert any(item.get("collapsed") for item in data["items"])
    assert "collapsed" not in page.svg.split("</style>")[1]  # the picture cannot be opened


def test_products_name_all_operands():
    function = text.parse("""graph {
  %p = _MatMulAdd(%a, %b, %c) transpose_a=true : float32
}""")[""]
    assert labels.expression(function.nodes["p"], ["a", "b", "c"]) == "_MatMulAdd(aᵀ, b, c)"


def test_cycles_are_drawn():
    root = model.Item(0, "program", "loop", body="")
    root.children = [model.Item(i, "op", str(i)) for i in range(1, 4)]
    root.edges = [(0, 1, "data"), (1, 2, "data"), (2, 0, "data")]
    place.layout(root)
    assert len({child.y for child in root.children}) == 3


def test_text_form_is_read():
    functions = text.parse("""graph {
  stateful
  %x = Placeholder() shape=(2,?) : float32 at "a b.py:1"
  %"odd name" = Const() value=string[2]{"a, b", "}) \\" ]"} : string
  %w = While(%x, %"odd name":1, ^%x) body=@"a body" cond=@c parallel_iterations=32 : (int32, float32) on "/cpu:0"
}

func @"a body"(%i: int32[], j: float32 = %k) -> (i: int32, r: float32) {
  %k = _Arg() index=1 : float32
  return %i, %k
}
""")  # noqa: E501 (a line of this form cannot be broken)
    main, body = functions[""], functions["a body"]
    assert main.nodes["x"].line == "a b.py:1" and main.nodes["x"].attrs == {"shape": "(2,?)"}
    assert main.nodes["odd name"].attrs["value"] == 'string[2]{"a, b", "}) \\" ]"}'
    loop = main.nodes["w"]
    assert loop.inputs == [("x", 0), ("odd name", 1), ("x", -1)]
    assert loop.functions == [("body", "a body"), ("cond", "c")]
    assert (loop.types, loop.device) == ("(int32, float32)", "/cpu:0")
    assert [(a[0], a[2]) for a in body.arguments] == [("i", "i"), ("j", "k")]
    assert body.results == [("i", "int32"), ("r", "float32")] and body.returned == [
        ("i", 0),
        ("k", 0),
    ]
