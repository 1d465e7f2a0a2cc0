"""The explorer in a real browser: every main path by mouse, keyboard and touch, in light and dark."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import uvicorn
from tests.browser import OpenedPage, OpenSite
from tests.departments import grid_department

from runcard.plan.file import save
from runcard.plan.plan import solve
from runcard.service.app import make_app
from runcard.service.keys import add_key
from runcard.service.settings import ServiceSettings

HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
SHOTS = os.environ.get("RUNCARD_SCREENSHOTS")
"""A folder for pictures to look at; none are kept if it is not set."""
ROADS = ".leaflet-routes-pane path.rc-line"
INSIDE = """all => {
    const stage = document.querySelector(".rc-stage").getBoundingClientRect();
    const boxes = all.map(one => one.getBoundingClientRect());
    return boxes.every(box => box.left >= stage.left && box.right <= stage.right
        && box.top >= stage.top && box.bottom <= stage.bottom);
}"""
FRAMES = """async () => {
    for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
}"""
DRAWN = "document.documentElement.dataset.drawn"


@contextmanager
def served(settings: ServiceSettings) -> Iterator[str]:
    """The address of a service that runs in a thread."""
    app = make_app(settings)
    app.state.scenes.warm_up()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def site(policy_folder: Path) -> Iterator[str]:
    """A service with two policies of a small department."""
    with served(ServiceSettings(files=(policy_folder / "optimal.policy", policy_folder / "cards.policy"))) as address:
        yield address


def ready(opened: OpenedPage) -> OpenedPage:
    """The page once it is drawn."""
    opened.page.wait_for_selector("html[data-ready]")
    return opened


@pytest.fixture
def opened(site: str, open_site: OpenSite) -> Iterator[OpenedPage]:
    """The page of the small department, drawn; in the end there was no error, and no request elsewhere."""
    found = ready(open_site(site))
    yield found
    found.check()


def shot(opened: OpenedPage, name: str) -> None:
    """Keep a picture to look at, if that is wanted."""
    if SHOTS:
        opened.page.screenshot(path=Path(SHOTS) / f"{name}.png")


def wait_until(opened: OpenedPage, condition: str) -> None:
    """Wait for a condition; playwright's own way is forbidden by the headers of the page."""
    opened.page.evaluate(
        f"""async () => {{
            const end = performance.now() + 30000;
            while (!({condition})) {{
                if (performance.now() > end) throw new Error("it did not come");
                await new Promise(requestAnimationFrame);
            }}
        }}"""
    )


@contextmanager
def drawn_anew(opened: OpenedPage) -> Iterator[None]:
    """Do something that draws the map anew, and wait for that."""
    before = opened.page.evaluate(DRAWN)
    yield
    opened.page.wait_for_selector(f"html:not([data-drawn='{before}'])")


def press_unit(opened: OpenedPage, unit: str) -> None:
    """Press the button of a unit, and wait for the map."""
    with drawn_anew(opened):
        opened.page.click(f"#units [data-unit={unit}]")


def marks(opened: OpenedPage) -> set[str]:
    """The units that stand on areas."""
    return set(opened.page.eval_on_selector_all(".rc-mark", "all => all.map(one => one.textContent)"))


def choose_area(opened: OpenedPage, name: str) -> None:
    """Find an area by its name."""
    opened.page.fill("#find", name)
    opened.page.press("#find", "Tab")
    opened.page.wait_for_selector(".answer")


def test_the_first_page_shows_the_city(opened: OpenedPage) -> None:
    """Areas, stations, units and the mean of both policies, without an error or a request elsewhere."""
    assert opened.page.locator(".rc-area").count() == 16
    assert opened.page.locator(".rc-dot").count() == 4
    assert opened.page.locator("#units .unit").count() == 6
    assert opened.page.inner_text("#title") == "First due engine"
    rows = opened.page.locator("#now tbody tr")
    assert [rows.nth(place).locator("th").inner_text() for place in range(2)] == ["optimal", "closest-first"]
    assert "missed standards" in opened.page.inner_text("#now thead")
    assert "min" in rows.nth(0).inner_text()  # the late fraction and the response time stand side by side
    shot(opened, "first-page")


def test_a_busy_unit_leaves_the_map(opened: OpenedPage) -> None:
    """Pressed busy, a unit stands on no area; pressed again, the map is as before."""
    before = marks(opened)
    assert "E01" in before
    press_unit(opened, "E01")
    assert "E01" not in marks(opened)
    assert opened.page.get_attribute("#units [data-unit=E01]", "aria-pressed") == "true"
    assert opened.page.inner_text("#status") == "E01 is busy."
    assert opened.page.locator(".rc-is-part, .rc-is-busy").count() == 1
    press_unit(opened, "E01")
    assert marks(opened) == before
    press_unit(opened, "E02")
    with drawn_anew(opened):
        opened.page.evaluate("document.getElementById('all-idle').click()")
    assert marks(opened) == before


def test_the_board_can_be_taken_over(opened: OpenedPage) -> None:
    """Units that the status board has as busy or out of service are busy on the page."""
    for unit, status in (("E04", "busy"), ("T01", "out_of_service")):
        told = f"""fetch("v1/units/{unit}", {{method: "PUT", headers: {{"Content-Type": "application/json"}},
            body: JSON.stringify({{status: "{status}"}})}}).then(one => one.status)"""
        assert opened.page.evaluate(told) == 200
    opened.page.click("#as-on-board")
    opened.page.wait_for_selector("#units [data-unit=T01][aria-pressed=true]")
    pressed = "all => all.map(one => one.dataset.unit)"
    assert opened.page.eval_on_selector_all("#units [aria-pressed=true]", pressed) == ["E04", "T01"]


def test_a_station_on_the_map_changes_its_units(opened: OpenedPage) -> None:
    """One with a single unit at once, one with several through a choice of units; by mouse and by keyboard."""
    stations = {one: len(units) for one, units in _stations(opened).items()}
    single = next(one for one, number in stations.items() if number == 1)
    several = next(one for one, number in stations.items() if number == 2)
    places = list(stations)
    opened.page.locator(".rc-dot").nth(places.index(single)).click()
    opened.page.wait_for_selector("#units [aria-pressed=true]")
    opened.page.locator(".rc-pin").nth(places.index(several)).focus()
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector(".choose-unit .unit:focus")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector(".choose-unit [aria-pressed=true]")
    assert opened.page.locator("#units [aria-pressed=true]").count() == 2
    shot(opened, "station")


def _stations(opened: OpenedPage) -> dict[str, list[str]]:
    """The units of each station, in the order of the map."""
    script = "fetch('v1/city').then(one => one.json()).then(one => one.ground.stations.map(s => [s.id, s.units]))"
    return dict(opened.page.evaluate(script))


def test_an_area_says_who_goes_under_each_policy_on_which_roads(opened: OpenedPage) -> None:
    """A card for each policy, roads on the map with what they share, and a reason."""
    opened.page.locator(".rc-area").nth(9).click()
    opened.page.wait_for_selector(".answer")
    assert opened.page.eval_on_selector_all(".answer h3", "all => all.map(one => one.textContent)") == [
        "optimal", "closest-first", "cards",
    ]  # fmt: skip
    assert opened.page.locator(ROADS).count() == 3  # two engines and a ladder
    assert opened.page.locator(".answer .reason").count() >= 3
    assert "met" in opened.page.inner_text(".answer >> nth=0")
    opened.page.click(".answer >> nth=1 >> text=Show its roads")
    assert opened.page.get_attribute(".answer.shown", "data-policy") == "closest-first"
    shot(opened, "area")


def test_the_choices_change_the_map(opened: OpenedPage) -> None:
    """Another layer, type, kind and policy each draw another map with its own title and legend."""
    opened.page.click("#missed-label")
    assert opened.page.inner_text("#title").startswith("Missed standards (weighted) per 1,000 calls (engine)")
    assert "and more" in opened.page.inner_text(".rc-legend")
    opened.page.click("text=Where they differ")
    assert opened.page.inner_text("#title") == "Where optimal differs from closest-first"
    assert opened.page.locator(".rc-area[fill^='url(#']").count() > 0  # hatched, for print in black and white
    shot(opened, "differs")
    opened.page.select_option("#kind", "ladder")
    opened.page.click("text=First due")
    assert opened.page.inner_text("#title") == "First due ladder"
    assert {one[0] for one in marks(opened)} == {"T"}
    with drawn_anew(opened):
        opened.page.select_option("#type", "medical")
    assert opened.page.is_hidden("#kind")  # only engines go
    with drawn_anew(opened):
        opened.page.select_option("#policy", "closest-first")
    assert "in 0 of 16 areas" in opened.page.inner_text("#now-words")


def test_another_choice_leaves_nothing_that_was_said_of_the_last_one(site: str, open_site: OpenSite) -> None:
    """The sentence about who goes is that of the chosen type; an area without an answer shows none, and says why."""
    opened = ready(open_site(site))
    page = opened.page
    page.locator(".rc-area").nth(9).click()
    wait_until(opened, "document.getElementById('status').textContent.includes('T0')")
    page.select_option("#type", "medical")
    wait_until(opened, "/sends E0\\d;/.test(document.getElementById('status').textContent)")
    assert "T0" not in page.inner_text("#status")  # no ladder goes
    refusal = '{"detail": "area: expected another one"}'
    page.route("**/v1/route", lambda route: route.fulfill(status=422, body=refusal, content_type="application/json"))
    with drawn_anew(opened):
        page.select_option("#type", "fire")
    page.wait_for_selector("#problem:not([hidden])")
    assert "expected another one" in page.inner_text("#problem")
    assert (page.locator(".answer").count(), page.locator(ROADS).count()) == (0, 0)


def test_everything_can_be_done_by_keyboard(opened: OpenedPage) -> None:
    """One stop of the tab key reaches the areas, arrows move between them, enter chooses; controls have names."""
    page = opened.page
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.className.baseVal || document.activeElement.id"))
        if "rc-area" in str(reached[-1]):
            break
    assert "policy" in reached
    assert "rc-area" in str(reached[-1])
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") != first
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer")
    unnamed = """all => all.filter(one => one.offsetParent && !one.labels?.length && !one.getAttribute('aria-label')
        && !one.textContent.trim()).map(one => one.outerHTML)"""
    assert page.eval_on_selector_all("button, select, input, [role=button]", unnamed) == []
    headings = page.eval_on_selector_all("h1, h2, h3", "all => all.map(one => Number(one.tagName[1]))")
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_a_simulated_day_plays(opened: OpenedPage) -> None:
    """The slider goes through the day, busy units follow it, play and pause work, and a press on a unit ends it."""
    page = opened.page
    page.click("#simulate")
    page.wait_for_selector("#player:not([hidden])")
    assert "incident" in page.inner_text("#day-summary")
    seen = set()
    for minute in range(0, 1440, 60):
        page.evaluate(
            f"time => {{ time.value = {minute}; time.dispatchEvent(new Event('input')); }}",
            page.query_selector("#time"),
        )
        seen.add((page.locator("#units [aria-pressed=true]").count(), page.locator(".rc-incident").count()))
        assert page.inner_text("#clock") == f"{minute // 60:02}:00"
    assert len(seen) > 1
    shot(opened, "day")
    page.select_option("#speed", "30")
    page.evaluate("time => { time.value = 0; time.dispatchEvent(new Event('input')); }", page.query_selector("#time"))
    page.click("#play")
    wait_until(opened, "document.getElementById('clock').textContent > '00:05'")
    page.click("#play")
    stopped = page.inner_text("#clock")
    page.evaluate(FRAMES)
    assert page.inner_text("#clock") == stopped
    page.click("#leave")
    assert page.is_hidden("#player")
    page.wait_for_selector("#all-idle[disabled]")


def test_a_day_that_is_left_while_it_plays_does_not_play_the_next_one(opened: OpenedPage) -> None:
    """The button says what a press does: play."""
    for _ in range(2):
        opened.page.click("#simulate")
        opened.page.wait_for_selector("#player:not([hidden])")
        assert opened.page.inner_text("#play").endswith("Play")
        assert opened.page.get_attribute("#play", "aria-pressed") == "false"
        opened.page.click("#play")
        opened.page.click("#units [data-unit=E01]")
        opened.page.wait_for_selector("#player", state="hidden")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_day_of_the_log_is_at_first_today(site: str, open_site: OpenSite, zone: str) -> None:
    """By the clock of who looks, and not by that of Greenwich, where one of these has another date at any hour."""
    opened = ready(open_site(site, timezone_id=zone))
    assert opened.page.input_value("#log-date") == datetime.now(ZoneInfo(zone)).date().isoformat()


def test_a_logged_day_plays(opened: OpenedPage) -> None:
    """What was asked of the service today stands in its log, and can be looked at."""
    asking = """fetch("v1/decisions", {method: "POST", headers: {"Content-Type": "application/json"},
        body: JSON.stringify({area: "n5", type: "fire", busy: []})}).then(one => one.status)"""
    status = opened.page.evaluate(asking)
    assert status in (200, 201)
    opened.page.fill("#log-date", datetime.now(UTC).astimezone().date().isoformat())
    opened.page.click("#load-log")
    opened.page.wait_for_selector("#player:not([hidden])")
    summary = opened.page.inner_text("#day-summary")
    assert summary.startswith("1 recommendation, arrivals known for 0: 0 met every standard")
    assert "estimated" in opened.page.inner_text("#day-summary")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_tablet_has_room_for_fingers(site: str, open_site: OpenSite, scheme: str) -> None:
    """At 768 pixels nothing sticks out, buttons are at least 32 pixels high, and a turn keeps the city inside."""
    options = {"viewport": {"width": 768, "height": 1024}, "color_scheme": scheme, "has_touch": True}
    opened = ready(open_site(site, **options))
    page = opened.page
    choose_area(opened, "n5")
    assert page.evaluate("document.documentElement.scrollWidth") <= 768
    heights = page.eval_on_selector_all(
        "#choices select, #units button, #day button",
        "all => all.filter(one => one.offsetParent).map(one => one.offsetHeight)",
    )
    assert min(heights) >= 32
    page.locator("#units [data-unit=E03]").tap()
    page.wait_for_selector("#units [data-unit=E03][aria-pressed=true]")
    for width, height in ((1024, 768), (768, 1024), (768, 700)):
        page.set_viewport_size({"width": width, "height": height})
        wait_until(opened, f"({INSIDE})([...document.querySelectorAll('.rc-area')])")
    page.evaluate("scrollTo(0, 0)")
    shot(opened, f"tablet-{scheme}")
    opened.check()


def test_a_map_that_was_hidden_or_small_shows_the_whole_city_again(opened: OpenedPage) -> None:
    """Without a size there is nothing to fit, and a size far from the last one is fitted in one step."""
    zoom = "window.explorer.view.map.getZoom()"
    before = opened.page.evaluate(zoom)
    for shown in ("none", ""):
        opened.page.evaluate(f"document.querySelector('main').style.display = '{shown}'")
        opened.page.evaluate(FRAMES)
    assert opened.page.evaluate(zoom) == before
    opened.page.evaluate("document.querySelector('.rc-stage').style.width = '120px'")
    wait_until(opened, f"{zoom} < {before} - 1")
    opened.page.evaluate("document.querySelector('.rc-stage').style.width = ''")
    wait_until(opened, f"{zoom} === {before}")


def test_a_refusal_is_said_and_a_key_can_be_given(policy_folder: Path, tmp_path: Path, open_site: OpenSite) -> None:
    """Without a key the page asks for one; with a wrong one it says so; with the right one it is drawn."""
    keys = tmp_path / "keys.json"
    token = add_key(keys, "planner", "read")
    with served(ServiceSettings(files=(policy_folder / "optimal.policy",), keys=keys)) as address:
        opened = open_site(address)
        opened.page.wait_for_selector("#key-form:not([hidden])")
        opened.page.fill("#key", "wrong")
        opened.page.press("#key", "Enter")
        opened.page.wait_for_selector("#problem:not([hidden])")
        opened.page.wait_for_selector("#key-form:not([hidden])")
        opened.page.fill("#key", token)
        opened.page.press("#key", "Enter")
        ready(opened)
        assert opened.page.is_hidden("#problem")
        assert opened.requests == []


def test_text_of_a_city_stays_text(tmp_path: Path, open_site: OpenSite) -> None:
    """Names of areas and stations that look like a script are shown, and do nothing."""
    city = grid_department(side=3, engines=3, ladders=1)
    nodes = tuple(replace(node, name=f"{HOSTILE}{place}") for place, node in enumerate(city.nodes))
    stations = tuple(replace(one, name=HOSTILE, trucks=0) for one in city.stations)
    path = tmp_path / "hostile.policy"
    save(solve(replace(city, nodes=nodes, stations=stations, name=HOSTILE)), path)
    with served(ServiceSettings(files=(path,))) as address:
        opened = ready(open_site(address))
        choose_area(opened, f"{HOSTILE}4")
        assert opened.page.inner_text("#area-title") == f"Who goes to {HOSTILE}4"
        assert opened.page.evaluate("window.hacked") is None
        assert opened.page.locator("main img").count() == 0
        opened.check()
