"""The map in a real browser: drawn, switched, chosen from by mouse and keyboard, and deaf to what data say."""

from pathlib import Path
from typing import Any

import pytest
from tests.browser import OpenedPage, OpenPage
from tests.page.pages import large_city, made_up_layers, map_page, write_map

from runcard.city import City, demo_city, generate_grid
from runcard.outputs.ground import ground_of
from runcard.page.colours import lightness

CITIES = {
    "plain coordinates": lambda: demo_city(),
    "a grid": lambda: generate_grid(side=20, num_stations=13, load=0.1, seed=1),
    "longitude and latitude": lambda: large_city(16, 60),
}
HOSTILE = '"><img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script><!--'


def fills(opened: OpenedPage) -> list[str]:
    """What the areas are filled with."""
    return list(opened.page.eval_on_selector_all(".rc-area", "all => all.map(one => one.getAttribute('fill'))"))


def told(opened: OpenedPage) -> str:
    """What is said of the chosen area."""
    return str(opened.page.inner_text("div.rc-chosen"))


@pytest.fixture
def demo(tmp_path: Path, open_page: OpenPage) -> OpenedPage:
    """The page of the demo town."""
    return open_page(map_page(tmp_path, demo_city()))


@pytest.mark.parametrize("name", CITIES)
def test_every_area_road_and_station_is_drawn_inside_the_map(tmp_path: Path, open_page: OpenPage, name: str) -> None:
    """With either kind of coordinates, without an error, without a request, and filling the height or the width."""
    city: City = CITIES[name]()
    ground = ground_of(city)
    opened = open_page(map_page(tmp_path, city))
    boxes = (
        """all => all.map(one => one.getBoundingClientRect()).map(one => [one.left, one.top, one.right, one.bottom])"""
    )
    areas = opened.page.eval_on_selector_all(".rc-area", boxes)
    ((left, top, right, bottom),) = opened.page.eval_on_selector_all(".rc-stage", boxes)
    assert len(areas) == len(ground["areas"])
    assert opened.page.locator(".rc-dot").count() == len(ground["stations"])
    assert opened.page.locator(".leaflet-roads-pane path").get_attribute("d").count("M") >= 0.9 * len(ground["roads"])
    assert all(left <= box[0] < box[2] <= right and top <= box[1] < box[3] <= bottom for box in areas)
    wide = max(box[2] for box in areas) - min(box[0] for box in areas)
    high = max(box[3] for box in areas) - min(box[1] for box in areas)
    assert wide > 0.75 * (right - left) or high > 0.75 * (bottom - top)
    opened.check()


def test_north_is_up_and_east_is_right(demo: OpenedPage) -> None:
    """Hillside is north of Central, and Eastgate is east of it."""
    place = "one => [one.textContent, one.parentElement.getBoundingClientRect().toJSON()]"
    spots = demo.page.eval_on_selector_all(".rc-name", f"all => Object.fromEntries(all.map({place}))")
    assert spots["Hillside"]["top"] < spots["Central"]["top"]
    assert spots["Eastgate"]["left"] > spots["Central"]["left"]


def test_layers_switch_with_their_legend_and_outlines(demo: OpenedPage) -> None:
    """The second layer has other colours, hatching, its own legend and the outline's meaning."""
    before = fills(demo)
    assert "under 1 %" in demo.page.inner_text(".rc-legend")
    assert "Thick border" not in demo.page.inner_text(".rc-legend")
    demo.page.get_by_text("Who gains, who loses").first.click()
    after = fills(demo)
    assert sum(one != other for one, other in zip(before, after, strict=True)) > 0.9 * len(before)
    assert any(fill.startswith("url(#") for fill in after)
    assert "Thick border" in demo.page.inner_text(".rc-legend")
    hatched = {fill[5:-1] for fill in after if fill.startswith("url(#")}
    assert all(demo.page.locator(f"pattern#{one}").count() == 1 for one in hatched)
    demo.page.evaluate("view.show('miss')")
    assert fills(demo) == before
    assert demo.page.locator("input[value=miss]").is_checked()
    demo.check()


def test_an_area_is_chosen_by_a_click(demo: OpenedPage) -> None:
    """What is known of it is said beside the map, and the page is told; on hover it stands in a label."""
    demo.page.locator(".rc-area").nth(3).hover()
    label = demo.page.inner_text(".rc-label")
    demo.page.locator(".rc-area").nth(3).click()
    (chosen,) = demo.page.evaluate("chosen")
    assert told(demo) == label
    assert label.startswith(f"Area {chosen}\nChance of a miss: ")
    assert demo.page.locator("path.rc-chosen.rc-line").get_attribute("d") not in (None, "M0 0")


def test_an_area_is_chosen_by_the_keyboard(demo: OpenedPage) -> None:
    """Tab goes to the areas, arrows from one to the next that way, Enter chooses, and all have a name for a reader."""
    for _ in range(12):
        demo.page.keyboard.press("Tab")
        if "rc-area" in demo.page.evaluate("document.activeElement.getAttribute('class') || ''"):
            break
    first = demo.page.evaluate("document.activeElement.getAttribute('aria-label')")
    demo.page.keyboard.press("ArrowRight")
    second = demo.page.evaluate("document.activeElement.getAttribute('aria-label')")
    demo.page.keyboard.press("Enter")
    assert first != second
    assert second.startswith(f"Area {demo.page.evaluate('chosen')[0]}. ")
    assert told(demo).startswith(second.partition(".")[0])
    assert demo.page.locator("div.rc-chosen").get_attribute("aria-live") == "polite"
    assert demo.page.locator(".rc-area[tabindex='0']").count() == 1
    demo.page.keyboard.press("Tab")
    assert "Station" in demo.page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "Station" in demo.page.inner_text(".rc-label")
    demo.check()


def test_the_map_zooms_and_comes_back(demo: OpenedPage) -> None:
    """By button, and by the wheel once the map is in use; one button shows the whole city again."""
    zoom = lambda: demo.page.evaluate("view.map.getZoom()")  # noqa: E731
    whole = zoom()
    demo.page.get_by_label("Zoom in").click()
    demo.page.wait_for_function(f"view.map.getZoom() > {whole + 0.5}")
    demo.page.get_by_label("Whole city").click()
    demo.page.wait_for_function(f"Math.abs(view.map.getZoom() - {whole}) < 1e-9")
    demo.page.mouse.move(2, 2)  # leaves the map
    demo.page.mouse.move(400, 300)
    demo.page.mouse.wheel(0, -300)
    demo.page.wait_for_timeout(300)
    assert zoom() == whole
    demo.page.mouse.click(400, 300)
    demo.page.mouse.wheel(0, -300)
    demo.page.wait_for_function(f"view.map.getZoom() > {whole}")
    demo.check()


def test_text_from_data_stays_text(tmp_path: Path, open_page: OpenPage) -> None:
    """Markup in any name, label, line, mark or note is shown as it is, and nothing of it runs."""
    ground = ground_of(demo_city())
    layers = made_up_layers(ground)
    layer: dict[str, Any] = layers[0]
    ground["areas"][0]["name"] = HOSTILE
    ground["stations"][0].update(name=HOSTILE, id=HOSTILE, units=[{"id": HOSTILE, "kind": HOSTILE}])
    layer.update(
        title=HOSTILE, stations={HOSTILE: [HOSTILE]}, outline_label=HOSTILE, outlined=[ground["areas"][0]["id"]]
    )
    layer["legend"][0]["label"] = HOSTILE
    for entry in layer["areas"].values():
        entry.update(lines=[HOSTILE, HOSTILE], mark=HOSTILE[:8])
    opened = open_page(write_map(tmp_path, {"ground": ground, "layers": layers, "note": HOSTILE}))
    opened.page.locator(".rc-area").first.click()
    opened.page.locator(".rc-dot").first.hover()
    assert told(opened) == f"{HOSTILE}\n{HOSTILE}"
    assert HOSTILE in opened.page.inner_text(".rc-label")
    assert HOSTILE in opened.page.inner_text(".rc-note")
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.locator("img").count() == 0
    opened.check()


def test_many_layers_are_a_list_and_none_is_no_error(tmp_path: Path, open_page: OpenPage) -> None:
    """More than four layers are chosen from a labelled list; without any, roads and stations are drawn."""
    ground = ground_of(demo_city())
    layers = [{**layer, "id": f"{layer['id']}{turn}"} for turn in range(3) for layer in made_up_layers(ground)]
    opened = open_page(write_map(tmp_path, {"ground": ground, "layers": layers}))
    before = fills(opened)
    opened.page.get_by_label("Show").select_option("change2")
    assert fills(opened) != before
    opened.check()
    bare = open_page(write_map(tmp_path, {"ground": ground, "layers": []}))
    assert bare.page.locator(".rc-area").count() == len(ground["areas"])
    bare.check()


@pytest.mark.slow
def test_a_large_city_is_drawn_at_once(tmp_path: Path, open_page: OpenPage) -> None:
    """540 areas and 10,000 pieces of road in less than a second, and another layer in half: the best of three."""
    path, drawn_ms = map_page(tmp_path, large_city(72, 540)), []
    for _ in range(3):  # others work on this machine at the same time
        opened = open_page(path)
        drawn_ms.append(opened.page.evaluate("drawnMs"))
    assert min(drawn_ms) < 1000.0
    switch = "() => { const at = performance.now(); view.show('change'); return performance.now() - at; }"
    assert opened.page.evaluate(switch) < 500.0
    opened.check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_beside_the_map_can_be_read_in_light_and_dark(tmp_path: Path, open_page: OpenPage, scheme: str) -> None:
    """The ink and the ground change places."""
    opened = open_page(map_page(tmp_path, demo_city()), color_scheme=scheme)
    found = "one => ['--rc-ink', '--rc-water'].map(name => getComputedStyle(one).getPropertyValue(name).trim())"
    ink, water = map(lightness, opened.page.eval_on_selector(".runcard-map", found))
    assert (ink < 30 and water > 85) if scheme == "light" else (ink > 85 and water < 30)


def test_print_has_the_whole_map_and_no_buttons(demo: OpenedPage) -> None:
    """Before printing the map takes the width of a page; afterwards it is as it was."""
    before = demo.page.locator(".rc-stage").bounding_box()
    demo.page.emulate_media(media="print")
    demo.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    stage = demo.page.locator(".rc-stage").bounding_box()
    assert stage["width"] < 680
    boxes = [one.bounding_box() for one in demo.page.locator(".rc-area").all()]
    assert min(box["x"] for box in boxes) >= stage["x"]
    assert max(box["x"] + box["width"] for box in boxes) <= stage["x"] + stage["width"]
    assert not demo.page.get_by_label("Zoom in").is_visible()
    demo.page.emulate_media(media="screen")
    demo.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert demo.page.locator(".rc-stage").bounding_box() == before
    assert demo.page.pdf()
    demo.check()


def test_what_is_not_there_is_refused(demo: OpenedPage) -> None:
    """An unknown layer or area is an error for the page that asks; none chosen is fine."""
    for call in ("view.show('nothing')", "view.select('nothing')"):
        said = demo.page.evaluate(f"() => {{ try {{ {call}; }} catch (error) {{ return error.message; }} }}")
        assert said.startswith("expected the id of")
    demo.page.evaluate("view.select(null)")
    assert "Choose an area" in told(demo)


def test_a_page_can_add_routes_pins_and_badges_and_take_them_away(demo: OpenedPage) -> None:
    """Roads of units with what they share, incidents on areas, and what units of a station do."""
    ground = ground_of(demo_city())
    one, other = ground["stations"][:2]
    line = [one["x"], one["y"], other["x"], other["y"]]
    demo.page.evaluate("line => view.routes([{line, style: 0}, {line, style: 1}], [line])", line)
    assert demo.page.locator("path.rc-route.rc-line").count() == 2
    assert demo.page.locator("path.rc-shared").count() == 2  # a band and its edge
    box = "one.getBoundingClientRect()"
    centre = f"one => [{box}.left + {box}.width / 2, {box}.top + {box}.height / 2]"
    ends = demo.page.eval_on_selector_all(".rc-dot", f"all => all.slice(0, 2).map({centre})")
    middle = demo.page.eval_on_selector("path.rc-route.rc-line", centre)
    assert middle == pytest.approx([(ends[0][axis] + ends[1][axis]) / 2 for axis in (0, 1)], abs=1.5)
    area = ground["areas"][0]["id"]
    demo.page.evaluate(
        "area => view.pins([{area, text: 'fire, late', state: 'late'}, {area: 'nowhere', text: ''}])", area
    )
    assert demo.page.locator(".rc-incident").all_inner_texts() == ["fire, late"]
    badge = {"text": "1/3", "state": "part", "lines": ["Busy: E01, E02"]}
    demo.page.evaluate("badges => view.badges(badges)", {one["id"]: badge})
    assert demo.page.locator(".rc-is-part .rc-name").inner_text().endswith(" 1/3")
    assert "Busy: E01, E02" in str(demo.page.locator(".rc-pin").first.get_attribute("aria-label"))
    demo.page.evaluate("() => { view.routes([], []); view.pins([]); view.badges({}); }")
    assert demo.page.locator(".rc-route, .rc-shared, .rc-incident, .rc-is-part").count() == 0
    demo.check()


def test_a_page_can_take_a_press_on_a_station_and_draw_another_layer(demo: OpenedPage) -> None:
    """The page is told which station, and a layer that was not there at the start is drawn with its marks."""
    demo.page.evaluate("() => { window.pressed = []; view.onstation = (id) => window.pressed.push(id); }")
    demo.page.locator(".rc-dot").first.click()
    assert demo.page.evaluate("window.pressed") == [ground_of(demo_city())["stations"][0]["id"]]
    area = ground_of(demo_city())["areas"][0]["id"]
    layer = {"id": "new", "title": "", "legend": [{"colour": "#123456", "hatch": "", "label": "here"}],
             "areas": {area: {"class": 0, "lines": ["Here"], "mark": ""}}}  # fmt: skip
    demo.page.evaluate("layer => view.draw(layer)", layer)
    assert fills(demo).count("#123456") == 1
    assert demo.page.locator(".rc-mark").count() == 0
    demo.check()
