"""The page in a real browser."""

import json

import numpy as np
import pytest

from manyview.experiments.index_page import IndexPage
from manyview.present.table import Table
from manyview.report import plotly_script, render
from manyview.report.subject import Subject

from .conftest import EVIL

# Two frames: what a page does on an event is done, and drawn.
SETTLE = (
    "new Promise((done) => requestAnimationFrame("
    "() => requestAnimationFrame(() => setTimeout(done, 20))))"
)
SCROLL = """
(async () => {
  for (let y = 0; y < document.documentElement.scrollHeight; y += 300) {
    scrollTo({ top: y, behavior: "instant" });
    await new Promise((done) => requestAnimationFrame(done));
  }
  scrollTo({ top: 0, behavior: "instant" });
})()
"""
MAP = "document.getElementById('chart-map')"
DRAWN = f"{MAP}?._fullLayout && {MAP}.querySelector('canvas')"


def show(browser, path, width=1280, height=900):
    """Open the page with every chart drawn."""
    browser.open(path, width, height)
    browser.wait_for(DRAWN)
    browser.run(SCROLL)
    browser.run(SETTLE)


def colour_of_body(browser):
    return browser.run("getComputedStyle(document.body).backgroundColor")


def shown_clusters(browser, table):
    return browser.run(
        f"[...document.querySelectorAll('#{table} tbody tr:not([hidden])')]"
        ".map((row) => Number(row.dataset.cluster))"
    )


def column(browser, table, index):
    return browser.run(
        f"[...document.querySelectorAll('#{table} tbody tr')]"
        f".map((row) => row.cells[{index}].textContent)"
    )


def test_loads_without_complaints_or_requests(browser, evil_page) -> None:
    show(browser, evil_page)
    for value in ("label", "certainty", "0"):
        browser.run(
            "{ const menu = document.getElementById('colour');"
            f" menu.value = '{value}'; menu.dispatchEvent(new Event('change')); }}"
        )
        browser.run(SETTLE)
    browser.run("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    # A software renderer remarks on its own speed; that is no fault of the page.
    complaints = [c for c in browser.complaints() if "GPU stall" not in c]
    assert complaints == []
    assert browser.requests() == []
    drawn = browser.run("document.querySelectorAll('.chart .main-svg').length > 6")
    assert drawn


def test_no_button_sends_the_data_away(browser, evil_page) -> None:
    show(browser, evil_page)
    titles = browser.run(
        "[...document.querySelectorAll('.modebar-btn')]"
        ".map((b) => b.dataset.title ?? b.getAttribute('aria-label'))"
    )
    assert titles and not [t for t in titles if "cloud" in t.lower() or "Share" in t]
    assert browser.run(f"{MAP}._context.plotlyServerURL") == ""


def test_names_are_shown_as_text(browser, evil_page) -> None:
    show(browser, evil_page)
    text = browser.run("document.body.innerText")
    assert f"{EVIL} row" in text and "b & <b>" in text
    options = browser.run(
        "[...document.querySelectorAll('#colour option')].map((o) => o.textContent)"
    )
    assert f"{EVIL}0" in options
    hover = browser.run(f"{MAP}.data[1].text[0]")
    assert hover.startswith("<b>&lt;script&gt;alert(1)&lt;/script&gt; row")
    charts = browser.run(
        "[...document.querySelectorAll('svg text')].map((t) => t.textContent)"
    )
    assert any(label.startswith("<script>alert") for label in charts)
    # Ours alone: theme, page, data, plotly, report.
    assert browser.run("document.scripts.length") == 5


@pytest.mark.parametrize(
    "click",
    [
        "document.querySelector('.chip[data-pick=\"1\"]').click()",
        "document.querySelector('#table-rows .pick[data-pick=\"1\"]').click()",
        "document.getElementById('chart-sizes')"
        ".emit('plotly_click', { points: [{ customdata: 1, data: {} }] })",
        "document.getElementById('chart-classes')"
        ".emit('plotly_click', { points: [{ x: 1, data: { type: 'heatmap' } }] })",
    ],
)
def test_a_cluster_clicked_anywhere_filters_everything(
    click, browser, evil_page, evil_model
) -> None:
    show(browser, evil_page)
    browser.run(click)
    browser.run(SETTLE)
    size = int((evil_model.labels_ == 1).sum())
    assert browser.run(f"{MAP}.data[1].x.length") == size
    assert set(browser.run(f"{MAP}.data[1].customdata")) == {1}
    views = browser.run("document.getElementById('chart-views').data")
    assert {c for trace in views[1::2] for c in trace["customdata"]} == {1}
    for table in ("table-clusters", "table-rows", "table-features"):
        assert set(shown_clusters(browser, table)) == {1}
    state = browser.run("document.getElementById('filter-state').textContent")
    assert state.startswith(f"Cluster 1: {size} rows")
    browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    browser.run(SETTLE)
    assert browser.run(f"{MAP}.data[1].x.length") == 150
    assert set(shown_clusters(browser, "table-clusters")) == {0, 1, 2}


def test_a_click_on_a_point_chooses_its_cluster(browser, evil_page) -> None:
    show(browser, evil_page)
    place = browser.run(
        f"(() => {{ const el = {MAP}; el.scrollIntoView({{behavior: 'instant'}});"
        " const { xaxis, yaxis, _size } = el._fullLayout; const t = el.data[1];"
        " const box = el.getBoundingClientRect(); return {"
        " x: box.left + _size.l + xaxis.l2p(t.x[7]),"
        " y: box.top + _size.t + yaxis.l2p(t.y[7]), own: t.customdata[7] }; })()"
    )
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        more = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        browser.mouse(kind, place["x"], place["y"], **more)
        browser.run(SETTLE)
    chosen = browser.run(
        "document.querySelector('.chip[aria-pressed=true]').dataset.pick"
    )
    assert chosen != "all"
    # Another point may cover this one; the page must agree with itself.
    assert set(browser.run(f"{MAP}.data[1].customdata")) == {int(chosen)}


def test_tables_sort_both_ways_by_keyboard(browser, evil_page, evil_model) -> None:
    show(browser, evil_page)
    browser.run("document.querySelectorAll('#table-clusters .sort')[1].focus()")
    sizes = [str(n) for n in sorted(np.bincount(evil_model.labels_), reverse=True)]
    for expected, way in ((sizes, "descending"), (sizes[::-1], "ascending")):
        for kind in ("keyDown", "keyUp"):
            browser.call(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter",
                windowsVirtualKeyCode=13, text="\r" if kind == "keyDown" else "",
            )  # fmt: skip
        assert column(browser, "table-clusters", 1) == expected
        head = "document.querySelectorAll('#table-clusters th')[1]"
        assert browser.run(f"{head}.getAttribute('aria-sort')") == way


def test_sorting_knows_numbers_from_words(browser, tmp_path) -> None:
    table = Table("t", "Numbers", ["n"])
    for cell in ("0.9", "12.5 s", "−3", "0.10"):
        table.add(cell)
    index = IndexPage(tmp_path, "Numbers", "Intro")
    index.add("Numbers", "Lead", [table])
    browser.open(index.path)
    browser.run("document.querySelector('.sort').click()")
    assert column(browser, "table-t", 0) == ["−3", "0.10", "0.9", "12.5 s"]


def test_the_theme_switch_turns_page_and_charts(browser, evil_page) -> None:
    show(browser, evil_page)
    ink = f"{MAP}._fullLayout.font.color"
    before = colour_of_body(browser), browser.run(ink)
    browser.run("document.getElementById('theme').click()")
    browser.run(SETTLE)
    after = colour_of_body(browser), browser.run(ink)
    assert before[0] != after[0] and before[1] != after[1]
    browser.run("document.getElementById('theme').click()")
    browser.run(SETTLE)
    assert (colour_of_body(browser), browser.run(ink)) == before


def test_keys_move_the_map_and_the_wheel_waits_for_a_click(browser, evil_page) -> None:
    show(browser, evil_page)
    reach = f"{MAP}._fullLayout.xaxis.range"
    start = browser.run(reach)
    box = browser.run(f"(({{ x, y }}) => ({{ x, y }}))({MAP}.getBoundingClientRect())")
    browser.mouse("mouseWheel", box["x"] + 50, box["y"] + 50, deltaX=0, deltaY=-120)
    browser.run(SETTLE)
    assert browser.run(reach) == start
    browser.run("scrollTo({ top: 0, behavior: 'instant' })")
    for key, check in (("+", "narrower"), ("ArrowRight", "right"), ("0", "start")):
        before = browser.run(reach)
        browser.run(
            f"{MAP}.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))"
        )
        browser.run(SETTLE)
        now = browser.run(reach)
        if check == "narrower":
            assert now[1] - now[0] == pytest.approx(0.8 * (before[1] - before[0]))
        elif check == "right":
            assert now[0] > before[0] and now[1] > before[1]
        else:
            assert now == pytest.approx(start)


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(width, browser, evil_page) -> None:
    show(browser, evil_page, width, 844)
    browser.run("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    assert browser.run("document.documentElement.scrollWidth") == width
    # Only what scrolls by itself may hold anything wider than the window.
    outside = browser.run(
        "[...document.querySelectorAll('main *, header *')].filter((el) => {"
        " const box = el.getBoundingClientRect();"
        " return box.width && box.right > innerWidth + 0.5 &&"
        " !el.closest('.wide, .chips, svg'); }).map((el) => el.outerHTML.slice(0, 99))"
    )
    assert outside == []


def test_the_page_of_an_experiment_fits_a_phone(browser, tmp_path) -> None:
    table = Table("wide", "A caption " * 12, [f"column {i}" for i in range(14)])
    for i in range(3):
        table.add(*(f"{i}.{j} ± 0.001" for j in range(14)))
    index = IndexPage(tmp_path, "Results: data", "Intro")
    index.add("Results", "Lead", [table])
    browser.open(index.path, 390, 844)
    assert browser.complaints() == [] and browser.requests() == []
    assert browser.run("document.documentElement.scrollWidth") == 390
    caption = "document.querySelector('.caption').getBoundingClientRect()"
    assert browser.run(f"{caption}.right") <= 390
    browser.run("document.querySelectorAll('.sort')[1].click()")
    first = "document.querySelector('tbody tr').cells[1].textContent"
    assert browser.run(first) == "2.1 ± 0.001"


def test_print_is_light_and_whole(browser, evil_page) -> None:
    show(browser, evil_page)
    browser.run("setTheme('dark')")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run(SETTLE)
    try:
        assert colour_of_body(browser) == "rgb(255, 255, 255)"
        assert browser.run("document.querySelector('.filter').offsetHeight") == 0
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert colour_of_body(browser) != "rgb(255, 255, 255)"


@pytest.mark.slow
def test_fifty_thousand_points(browser, tmp_path, capsys) -> None:
    """Every point is drawn, pans and zooms; paint and frame times are printed."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 20, 60_000)
    embedding = rng.normal(size=(60_000, 2)) + 8 * rng.normal(size=(20, 2))[labels]
    subject = Subject(
        source="60,000 made rows", method="none", labels=labels, embedding=embedding,
        views=None, known=labels % 7, row_names=None, certainty=rng.random(60_000),
        influence=None, objective=(), reads_order=None, settings={}, versions={},
        timings={},
    )  # fmt: skip
    path = tmp_path / "large.html"
    path.write_text(render(subject, plotly_script(), layout="pca"), encoding="utf-8")
    browser.open(path)
    browser.wait_for(f"{DRAWN} && {MAP}.data?.[1]?.x.length")
    drawn = browser.run("performance.now()")
    assert browser.run(f"{MAP}.data[1].x.length") == 50_000
    assert "50,000 of 60,000 rows" in browser.run("document.body.innerText")
    paint = browser.run(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    start = browser.run(f"{MAP}._fullLayout.xaxis.range")
    pan = frames_during(browser, drag)
    moved = browser.run(f"{MAP}._fullLayout.xaxis.range")
    zoom = frames_during(browser, turn_wheel)
    zoomed = browser.run(f"{MAP}._fullLayout.xaxis.range")
    assert moved != start
    assert zoomed[1] - zoomed[0] < moved[1] - moved[0]
    spent = {"first_paint_ms": round(paint), "map_drawn_ms": round(drawn)}
    for name, frames in (("pan", pan), ("zoom", zoom)):
        spent[f"{name}_median_frame_ms"] = round(float(np.median(frames)), 1)
        spent[f"{name}_slowest_frame_ms"] = round(max(frames), 1)
    with capsys.disabled():
        print(f"\n50,000 points: {json.dumps(spent)}")
    assert [c for c in browser.complaints() if "GPU stall" not in c] == []


def frames_during(browser, act) -> list[float]:
    """Milliseconds between frames while the mouse acts on the middle of the map."""
    place = browser.run(
        f"(() => {{ {MAP}.scrollIntoView({{behavior: 'instant'}});"
        f" const b = {MAP}.getBoundingClientRect();"
        " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
    )
    browser.run(
        "window.frames_ = []; window.going_ = true; { let last = performance.now();"
        " const tick = (now) => { frames_.push(now - last); last = now;"
        " if (going_) requestAnimationFrame(tick); }; requestAnimationFrame(tick); }"
    )
    act(browser, *place)
    browser.run(SETTLE)
    return list(browser.run("going_ = false, frames_"))


def drag(browser, x: float, y: float) -> None:
    browser.mouse("mouseMoved", x, y)
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    for step in range(1, 6):
        browser.mouse("mouseMoved", x + 36 * step, y, buttons=1)
    browser.mouse("mouseReleased", x + 180, y, button="left", clickCount=1)


def turn_wheel(browser, x: float, y: float) -> None:
    browser.run(f"{MAP}.focus()")
    for _ in range(8):
        browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-110)
