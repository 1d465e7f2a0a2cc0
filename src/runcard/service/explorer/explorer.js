/* The explorer: asks the service who goes to every area, and draws it with the map of the reports (map.js).
 *
 * What is chosen lives in `chosen`. A change of it is shown at once where that needs no answer (a unit's button), and
 * the map as soon as the answer is there; of several questions on the way only the last one counts.
 * Text from data only ever becomes text: everything is made by `make`, which sets textContent.
 */
"use strict";
(function () {
  const DAY_MINUTES = 1440;
  const NUMBERS = { 1: "one", 2: "two", 3: "three", 4: "four" };
  const chosen = { policy: null, other: null, type: null, period: null, kind: null, show: "first", area: null, routes: null };
  const busy = new Set();
  const byId = (id) => document.getElementById(id);
  let city = null;
  let scene = null;
  let answers = null;
  let view = null;
  let day = null;

  // ---- small tools

  const { make } = runcardMap;
  const CALLS = 1000;
  const perCalls = (missed) => String(Number((CALLS * missed).toPrecision(3)));
  // A standard that is not sure to be met is not met 100 %.
  const percent = (part) => (part < 1 && part >= 0.9995 ? "over 99.9" : (100 * part).toFixed(part >= 0.0995 ? 1 : 2)) + "\u00a0%";
  const minutesWords = (minutes) => (minutes === null || minutes === undefined ? "not known" : `${minutes.toFixed(2)}\u00a0min`);
  const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  function andList(words) {
    return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
  }

  const toPlace = (word, name) => (name.startsWith("near ") ? name : `${word} ${name}`);

  function unitsWords(units) {
    const own = units.filter((one) => one !== "outside");
    const away = units.length - own.length;
    return andList(away ? [...own, `${NUMBERS[away] || away} from outside`] : own);
  }

  function priceWords(price) {
    return price === null || price === undefined ? "" : String(Number((city.price_times * price).toPrecision(2)));
  }

  function clockWords(minutes) {
    const whole = Math.floor(((minutes % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES);
    return `${String(Math.floor(whole / 60)).padStart(2, "0")}:${String(whole % 60).padStart(2, "0")}`;
  }

  // ---- questions to the service; of one kind, the last one counts

  const asking = {};

  async function ask(what, path, body) {
    if (asking[what]) asking[what].abort();
    byId("problem").hidden = true; // here, because what came of another question at the same time must stay
    const control = (asking[what] = new AbortController());
    const headers = { Accept: "application/json" };
    const key = sessionStorage.getItem("runcard-key");
    if (key) headers.Authorization = `Bearer ${key}`;
    if (body) headers["Content-Type"] = "application/json";
    const options = { headers, signal: control.signal };
    if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
    const response = await fetch(path, options);
    const found = await response.json().catch(() => ({}));
    if (control.signal.aborted) throw new DOMException("", "AbortError");
    if (response.status === 401 || response.status === 403) byId("key-form").hidden = false;
    if (!response.ok) throw new Error(typeof found.detail === "string" ? found.detail : `the service answered ${response.status}`);
    return found;
  }

  function report(error) {
    if (error.name === "AbortError") return;
    byId("problem").hidden = false;
    byId("problem").textContent = `Could not be shown: ${error.message}`;
  }

  const guarded = (work) => (...given) => Promise.resolve(work(...given)).catch(report);

  function question() {
    const asked = { busy: [...busy] };
    for (const name of ["policy", "other", "type", "period"]) if (chosen[name]) asked[name] = chosen[name];
    return asked;
  }

  // ---- the map

  function kindShown() {
    return scene.kinds.find((one) => one.kind === chosen.kind) || scene.kinds[0];
  }

  function layerOf(kind) {
    const given = kind.layers.find((one) => one.id.startsWith(`${chosen.show}-`));
    const areas = {};
    kind.areas.forEach((id, place) => (areas[id] = { class: given.classes[place], lines: kind.lines[place], mark: given.marks[place] }));
    return { ...given, areas };
  }

  function badges() {
    const found = {};
    for (const station of city.ground.stations) {
      const out = station.units.filter((unit) => busy.has(unit.id));
      if (!station.units.length) continue;
      const free = station.units.length - out.length;
      const text = station.units.length === 1 ? "" : `${free}/${station.units.length}`;
      found[station.id] = {
        text, state: out.length === 0 ? "" : free === 0 ? "busy" : "part",
        lines: [out.length ? `Busy: ${out.map((unit) => unit.id).join(", ")}` : "All units idle", "Press to change"],
      };
    }
    return found;
  }

  function drawScene() {
    const kind = kindShown();
    const layer = layerOf(kind);
    byId("title").textContent = layer.title;
    view.draw(layer);
    drawNow(kind);
    drawUnits();
    fillKinds();
    document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
  }

  function methodWords() {
    const shown = city.policies.filter((one) => [chosen.policy, chosen.other].includes(one.name) && one.name !== one.method);
    return shown.map((one) => ` ${one.name}: ${one.method}.`).join("");
  }

  function soonerWords(kind) {
    const [own, other] = kind.policies;
    if (other.policy !== "closest-first" || own.minutes === null || other.minutes - own.minutes < 0.005) return "";
    return ` The first ${kind.kind} can be there sooner than with closest-first, which goes by the mean drive of each unit alone: ` +
      "of two units on different roads, one is often early.";
  }

  function drawNow(kind) {
    const table = byId("now");
    const head = table.tHead;
    head.replaceChildren();
    const row = head.insertRow();
    ["", city.missed_words, `first ${kind.kind} there`].forEach((text) => (make("th", "", text, row).scope = "col"));
    const body = table.tBodies[0];
    body.replaceChildren();
    kind.policies.filter((one, place) => place === 0 || one.policy !== kind.policies[0].policy).forEach((one) => {
      const line = body.insertRow();
      make("th", "", one.policy, line).scope = "row";
      make("td", "", perCalls(one.missed), line);
      make("td", "", minutesWords(one.minutes), line);
    });
    const of = chosen.type ? `of the type ${chosen.type} ` : "";
    byId("now-words").textContent =
      `Mean over all incidents ${of}of the city${city.types.length ? "; each standard of a call counts by itself, so that a call with two can miss two" : ""}. ${kind.policies[0].policy} sends other ${kind.kind}s than ` +
      `${kind.policies[1].policy} in ${kind.differs} of ${kind.num_areas} areas. A policy that looks ahead may miss a ` +
      "little more now, because it keeps units for the next calls; what that gains in the long run is in the report." +
      soonerWords(kind) + methodWords();
  }

  // ---- units

  function unitButton(unit, station, parent) {
    const button = make("button", "unit", undefined, parent);
    button.type = "button";
    button.dataset.unit = unit.id;
    make("span", "", unit.id, button);
    make("small", "", "", button);
    button.addEventListener("click", () => toggle(unit.id));
    button.title = `${unit.kind} ${unit.id}, station ${station.name}`;
    return button;
  }

  function addUnits() {
    const kinds = new Map();
    for (const station of city.ground.stations)
      for (const unit of station.units) kinds.set(unit.kind, [...(kinds.get(unit.kind) || []), [unit, station]]);
    for (const [kind, units] of kinds) {
      make("h3", "", `${kind[0].toUpperCase()}${kind.slice(1)}s`, byId("units"));
      const group = make("div", "units", undefined, byId("units"));
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", `${kind}s`);
      units.sort(([one], [other]) => one.id.localeCompare(other.id, "en", { numeric: true }));
      units.forEach(([unit, station]) => unitButton(unit, station, group));
    }
    make("p", "quiet", "", byId("units")).id = "price-words";
  }

  function drawUnits() {
    const prices = (scene && scene.prices) || {};
    document.querySelectorAll("button.unit").forEach((button) => {
      const id = button.dataset.unit;
      const is = busy.has(id);
      const price = priceWords(prices[id]);
      button.setAttribute("aria-pressed", is);
      button.lastChild.textContent = is ? "busy" : price || "idle";
      button.setAttribute("aria-label", `${button.title}: ${is ? "busy" : price ? `idle, sending it costs ${price} later` : "idle"}`);
    });
    const some = Object.keys(prices).length > 0;
    byId("price-words").textContent = some
      ? `Below each idle unit: what sending it now costs later, in ${city.price_words.replace("per 1,000 calls", "per 1,000 times it is sent")}.`
      : "";
    byId("all-idle").disabled = busy.size === 0;
  }

  function toggle(id) {
    if (day) leaveDay();
    if (!busy.delete(id)) busy.add(id);
    say(`${id} is ${busy.has(id) ? "busy" : "idle"}.`);
    return changed();
  }

  function chooseStation(stationId) {
    const station = city.ground.stations.find((one) => one.id === stationId);
    if (station.units.length === 1) return toggle(station.units[0].id);
    const box = make("div", "choose-unit");
    make("strong", "", `Station ${station.name}`, box);
    station.units.forEach((unit) => unitButton(unit, station, box));
    L.popup({ minWidth: 120 }).setLatLng(view.place(station.x, station.y)).setContent(box).openOn(view.map);
    drawUnits();
    const first = box.querySelector("button");
    if (first) first.focus();
  }

  const say = (text) => (byId("status").textContent = text);

  // ---- one area

  function drawAnswers() {
    const list = byId("answers");
    list.replaceChildren();
    byId("area-hint").hidden = answers !== null;
    const area = answers && city.ground.areas.find((one) => one.id === answers.area);
    byId("area-title").textContent = answers ? `Who goes ${toPlace("to", area ? area.name : answers.area)}` : "Who goes";
    if (!answers) return void view.routes([], []);
    const order = [chosen.policy, chosen.other];
    const rank = (one) => (order.includes(one.policy) ? order.indexOf(one.policy) : order.length);
    const sorted = [...answers.policies].sort((one, other) => rank(one) - rank(other));
    if (!sorted.some((one) => one.policy === chosen.routes)) chosen.routes = sorted[0].policy;
    sorted.forEach((one, place) => drawAnswer(one, sorted.slice(0, place), list));
    drawRoutes();
  }

  function drawRoutes() {
    const one = answers.policies.find((each) => each.policy === chosen.routes);
    const kinds = [...new Set(city.ground.stations.flatMap((station) => station.units.map((unit) => unit.kind)))];
    view.routes(one.drives.map((drive) => ({ line: drive.line, style: kinds.indexOf(drive.kind) })), one.shared);
    document.querySelectorAll(".answer").forEach((card) => {
      const is = card.dataset.policy === chosen.routes;
      card.classList.toggle("shown", is);
      const button = card.querySelector("button.roads");
      button.setAttribute("aria-pressed", is);
      button.textContent = is ? "Roads are on the map" : "Show its roads";
    });
  }

  function sameTeams(one, other) {
    const teams = (each) => JSON.stringify(each.kinds.map((kind) => [kind.kind, [...kind.units].sort()]));
    return teams(one) === teams(other);
  }

  function drawAnswer(one, shown, list) {
    const card = make("article", "answer", undefined, list);
    card.dataset.policy = one.policy;
    const head = make("header", "", undefined, card);
    make("h3", "", one.policy, head);
    const button = make("button", "roads", "", head);
    button.type = "button";
    button.addEventListener("click", () => {
      chosen.routes = one.policy;
      drawRoutes();
    });
    const same = shown.find((other) => sameTeams(one, other));
    if (same) {
      one.kinds.forEach((kind) => make("p", "team", unitsWords(kind.units), card));
      return void make("p", "reason", `The same units as with ${same.policy}: the same chances and minutes.`, card);
    }
    one.kinds.forEach((kind) => drawKind(kind, one, card));
    const num = one.shared.length;
    const words = `${num} ${num === 1 ? "stretch" : "stretches"} of road shared by two or more units (yellow band): what delays one may delay the other.`;
    if (num) make("p", "quiet", words, card);
  }

  function minutesOf(option, kind) {
    const last = option.last_minutes !== null && option.units.length > 1 ? `, the last after ${minutesWords(option.last_minutes)}` : "";
    return `first ${kind} there after ${minutesWords(option.first_minutes)} on average${last}`;
  }

  function drawKind(kind, one, card) {
    make("p", "team", unitsWords(kind.units), card);
    const list = make("ul", "", undefined, card);
    kind.standards.forEach((standard) => make("li", "", `${standard.rule}: met ${percent(standard.chance)}`, list));
    make("li", "", minutesOf(kind, kind.kind), list);
    const drives = one.drives.filter((drive) => drive.kind === kind.kind);
    if (drives.length) make("li", "", `turnout and drive: ${drives.map((drive) => `${drive.unit} ${drive.minutes.toFixed(1)} min`).join(", ")}`, list);
    if (kind.price !== null) make("li", "", `price: ${priceWords(kind.price)} ${city.price_words} later`, list);
    make("p", "reason", kind.reason, card);
    if (!kind.alternatives.length) return;
    const more = make("details", "", undefined, card);
    make("summary", "", `What else could go (${kind.kind}s)`, more);
    const others = make("ul", "", undefined, more);
    kind.alternatives.forEach((other) => {
      const price = other.price === null ? "" : `, price ${priceWords(other.price)}`;
      make("li", "", `${unitsWords(other.units)}: ${perCalls(other.p_late)} ${city.missed_words} now${price}; ${minutesOf(other, kind.kind)}`, others);
    });
  }

  async function askRoute() {
    if (chosen.area === null) {
      answers = null;
    } else {
      try {
        answers = await ask("route", "v1/route", { ...question(), area: chosen.area });
      } catch (error) {
        if (error.name === "AbortError") throw error;
        answers = null; // those on the page are about another question
        drawAnswers();
        throw error;
      }
    }
    drawAnswers();
  }

  // ---- what changes

  async function askScene() {
    scene = await ask("scene", "v1/scene", question());
    drawScene();
  }

  function changed() {
    drawUnits();
    view.badges(badges());
    return guarded(async () => void (await Promise.all([askScene(), askRoute()])))();
  }

  function sayTeams() {
    const teams = answers.policies.map((one) => `${one.policy} sends ${unitsWords(one.kinds.flatMap((kind) => kind.units))}`);
    say(`${byId("area-title").textContent}: ${teams.join("; ")}.`);
  }

  function chooseArea(areaId) {
    chosen.area = areaId;
    return guarded(async () => {
      await askRoute();
      if (!answers) return;
      sayTeams();
      // Only where the panel scrolls by itself: on a tablet the map would go away.
      if (window.matchMedia("(min-width: 60.01rem)").matches) byId("area").scrollIntoView({ block: "start" });
    })();
  }

  // ---- choices

  function fillSelect(id, options, value) {
    const select = byId(id);
    select.replaceChildren();
    options.forEach(([of, text]) => (make("option", "", text, select).value = of));
    if (value !== null && value !== undefined) select.value = value;
    select.parentElement.hidden = options.length < 2;
    chosen[id] = options.length ? select.value : null;
  }

  function fillKinds() {
    fillSelect("kind", scene.kinds.map((one) => [one.kind, `${one.kind}s`]), kindShown().kind);
  }

  function fillChoices() {
    const policies = city.policies.map((one) => [one.name, one.name]);
    fillSelect("policy", policies, city.serving);
    const others = city.policies.map((one) => one.name).filter((name) => name !== city.serving);
    fillSelect("other", policies, others.includes("closest-first") ? "closest-first" : others[0]);
    fillSelect("type", city.types.map((one) => [one, one]));
    fillSelect("period", city.periods.map((one) => [one.name, `${one.name}: ${one.hours}`]));
    const missed = city.missed_words.split(" per ")[0];
    byId("missed-label").textContent = missed[0].toUpperCase() + missed.slice(1);
    for (const id of ["policy", "other", "type", "period"])
      byId(id).addEventListener("change", (event) => {
        chosen[id] = event.target.value;
        if (id === "policy") chosen.routes = chosen.policy;
        say(""); // it was about another choice
        changed().then(() => answers && sayTeams());
      });
    byId("kind").addEventListener("change", (event) => {
      chosen.kind = event.target.value;
      drawScene();
    });
    byId("show").addEventListener("change", (event) => {
      chosen.show = event.target.value;
      drawScene();
    });
    byId("as-on-board").addEventListener("click", guarded(takeBoard));
    byId("choices").addEventListener("submit", (event) => event.preventDefault());
    byId("all-idle").addEventListener("click", () => {
      if (day) leaveDay();
      busy.clear();
      say("All units are idle.");
      changed();
    });
  }

  async function takeBoard() {
    const board = await ask("board", "v1/board");
    if (day) leaveDay();
    busy.clear();
    board.units.filter((one) => one.status !== "idle").forEach((one) => busy.add(one.unit));
    say(`As on the status board: ${plural(busy.size, "unit")} not free.`);
    await changed();
  }

  function addFinder() {
    const names = new Map(city.ground.areas.map((area) => [area.name, area.id]));
    for (const name of names.keys()) make("option", "", undefined, byId("areas")).value = name;
    for (const area of city.ground.areas) names.set(area.id, area.id);
    byId("find").addEventListener("change", (event) => {
      const id = names.get(event.target.value.trim());
      if (id !== undefined) view.select(id);
      else if (event.target.value) say(`There is no area ${event.target.value}.`);
    });
  }

  // ---- a day

  function drawDay() {
    const now = day.minutes;
    const open = day.events.filter((one) => one.minutes <= now && one.units.some((unit) => unit.back > now));
    byId("time").value = now;
    byId("time").setAttribute("aria-valuetext", clockWords(now));
    byId("clock").textContent = clockWords(now);
    view.pins(open.map((one) => ({ area: one.area, text: pinWords(one), state: one.late ? "late" : "" })));
    const list = byId("open-incidents");
    list.replaceChildren();
    open.slice(-8).reverse().forEach((one) => make("li", "", incidentWords(one, now), list));
    if (!open.length) make("li", "quiet", "No incident: every unit is idle.", list);
    const away = new Set(open.flatMap((one) => one.units.filter((unit) => unit.back > now).map((unit) => unit.unit)));
    if (away.size === busy.size && [...away].every((id) => busy.has(id))) return;
    busy.clear();
    away.forEach((id) => busy.add(id));
    changed();
  }

  const pinWords = (one) => `${one.type || "incident"}${one.late ? ", late" : ""}`;

  function incidentWords(one, now) {
    const area = city.ground.areas.find((each) => each.id === one.area);
    const names = (are) => one.units.filter(are).map((unit) => unit.unit);
    const left = names((unit) => unit.back <= now);
    const units = unitsWords([...names((unit) => unit.back > now), ...Array(one.outside).fill("outside")]);
    const gone = left.length ? ` (${andList(left)} ${left.length === 1 ? "has" : "have"} left)` : "";
    const there = Object.entries(one.first_minutes).map(([kind, minutes]) => `first ${kind} after ${minutes.toFixed(1)} min`);
    const late = one.late ? "; a standard was missed" : "";
    return `${clockWords(one.minutes)} ${one.type || "incident"} ${toPlace("at", area ? area.name : one.area)}: ${units || "nobody"}${gone}; ${there.join(", ") || "arrival not known"}${late}`;
  }

  function tick(stamp) {
    if (!day || !day.playing) return;
    const seconds = Math.min(0.25, (stamp - day.stamp) / 1000);
    day.stamp = stamp;
    day.minutes = Math.min(DAY_MINUTES, day.minutes + seconds * Number(byId("speed").value));
    drawDay();
    if (day.minutes >= DAY_MINUTES) play(false);
    else requestAnimationFrame(tick);
  }

  function play(is) {
    if (!day) return;
    if (is && day.minutes >= DAY_MINUTES) day.minutes = 0;
    day.playing = is;
    day.stamp = performance.now();
    byId("play").textContent = is ? "⏸ Pause" : "▶ Play";
    byId("play").setAttribute("aria-pressed", is);
    if (is) requestAnimationFrame(tick);
  }

  async function loadDay(address) {
    say("Making the day ready …");
    const found = await ask("day", address);
    day = { ...found, minutes: 0, playing: false, stamp: 0 };
    play(false); // the day before it may have been left while it was played
    byId("player").hidden = byId("leave").hidden = false;
    const means = Object.entries(found.first_minutes).map(([kind, minutes]) => `first ${kind} after ${minutes.toFixed(2)} min on average`);
    const simulated = found.source === "simulated";
    const who = simulated
      ? `simulated with ${found.policy}; a unit is busy while it drives there, works and drives back`
      : "from the log; when units were free again is estimated";
    const met = found.incidents - found.late - found.unknown;
    const what = simulated
      ? `${plural(found.incidents, "incident")}, ${found.late} with a missed standard`
      : `${plural(found.incidents, "recommendation")}, arrivals known for ${found.arrivals_known}: ` +
        `${met} met every standard, ${found.late} missed one, of ${found.unknown} it is not known`;
    byId("day-summary").textContent = `${[what, means.join(", ")].filter(Boolean).join("; ")} (${who}).`;
    say("The day is ready: press play.");
    drawDay();
    byId("play").focus();
  }

  function leaveDay() {
    day = null;
    byId("player").hidden = byId("leave").hidden = true;
    view.pins([]);
  }

  let seed = 0;

  function addDay() {
    byId("log-part").hidden = !city.log;
    const now = new Date();
    byId("log-date").valueAsDate = new Date(Date.UTC(now.getFullYear(), now.getMonth(), now.getDate())); // today here
    const simulated = () => `v1/playback?${new URLSearchParams({ policy: chosen.policy, day: byId("day-of-week").value, seed: ++seed })}`;
    byId("simulate").addEventListener("click", guarded(() => loadDay(simulated())));
    byId("load-log").addEventListener("click", guarded(() => loadDay(`v1/playback?log_date=${byId("log-date").value}`)));
    byId("play").addEventListener("click", () => play(!day.playing));
    byId("leave").addEventListener("click", () => {
      leaveDay();
      busy.clear();
      changed();
    });
    byId("time").addEventListener("input", (event) => {
      day.minutes = Number(event.target.value);
      drawDay();
    });
  }

  // ---- the start

  async function start() {
    // Both at once: the first scene is that of the policy that answers, with every unit idle.
    const [first, found] = await Promise.all([ask("city", "v1/city"), ask("scene", "v1/scene", { busy: [] })]);
    [city, scene] = [first, found];
    document.title = `${city.city}: who goes?`;
    byId("city").textContent = `${city.city}: who goes?`;
    fillChoices();
    addUnits();
    view = window.runcardMap(byId("map"), { ground: city.ground, layers: [] });
    view.onselect = chooseArea;
    view.onstation = chooseStation;
    drawScene();
    view.badges(badges());
    addFinder();
    addDay();
    performance.mark("drawn");
    document.documentElement.dataset.ready = "yes";
    window.explorer = { view, chosen, busy };
  }

  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("runcard-key", byId("key").value);
    byId("key-form").hidden = true;
    guarded(city ? changed : start)();
  });
  guarded(start)();
})();
