/* The map of a page: areas coloured by a layer, roads, stations. Plain JavaScript on top of Leaflet, which is L.
 * How a page calls it is in __init__.py. Text from data only ever becomes text: `make` sets textContent.
 */
"use strict";
(function () {
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_BUTTONS = 4; // of more layers one is chosen in a list
  const HATCHES = {
    "/": "M-2 2L2-2M0 8L8 0M6 10L10 6",
    "\\": "M-2 6L2 10M0 0L8 8M6-2L10 2",
    x: "M0 8L8 0M0 0L8 8",
    ".": "M2 2h.01M6 6h.01",
  };
  const OUTLINE = "Thick border: not the answer of closest-first";
  const NOTHING = "nothing to show here";
  let numMaps = 0;

  // ---- small tools

  function make(tag, className, text, parent) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  function makeSvg(tag, attributes, parent) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (parent) parent.append(element);
    return element;
  }

  function linesInto(element, lines) {
    element.replaceChildren();
    lines.forEach((line, place) => make(place ? "div" : "strong", "", line, element));
    return element;
  }

  function luminance(colour) {
    const [red, green, blue] = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16) / 255);
    return 0.3 * red + 0.6 * green + 0.1 * blue;
  }

  // ---- where things are: a city is small, so that degrees of longitude are all equally wide

  function placer(ground) {
    const heights = ground.stations.map((one) => one.y).concat(ground.areas.map((one) => (one.rings[0] || [0, 0])[1]));
    const middle = heights.reduce((sum, one) => sum + one, 0) / Math.max(1, heights.length);
    const stretch = ground.lonlat ? Math.cos((middle * Math.PI) / 180) : 1;
    return (x, y) => [y, x * stretch];
  }

  function ringPlaces(flat, place) {
    const places = [];
    for (let at = 0; at < flat.length; at += 2) places.push(place(flat[at], flat[at + 1]));
    return places;
  }

  function edgeDistance(ring, y, x) {
    // To the nearest side, negative outside.
    let inside = false;
    let least = Infinity;
    for (let i = 0, j = ring.length - 1; i < ring.length; j = i++) {
      const [ay, ax] = ring[i];
      const [by, bx] = ring[j];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
      const length = (bx - ax) ** 2 + (by - ay) ** 2;
      const along = length ? Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length)) : 0;
      least = Math.min(least, (ax + along * (bx - ax) - x) ** 2 + (ay + along * (by - ay) - y) ** 2);
    }
    return (inside ? 1 : -1) * Math.sqrt(least);
  }

  function extent(ring) {
    const [ys, xs] = [ring.map((one) => one[0]), ring.map((one) => one[1])];
    return [Math.min(...ys), Math.max(...ys), Math.min(...xs), Math.max(...xs)];
  }

  function roomiest(rings) {
    // The spot of the largest ring that is farthest from its sides, of a few, and how far that is.
    let [largest, size] = [null, -1];
    for (const ring of rings) {
      const [bottom, top, left, right] = extent(ring);
      if ((top - bottom) * (right - left) > size) [largest, size] = [ring, (top - bottom) * (right - left)];
    }
    const best = { spot: largest ? largest[0] : [0, 0], room: 0 };
    if (!largest) return best;
    const [bottom, top, left, right] = extent(largest);
    for (let row = 0.5; row < 9; row++) {
      for (let column = 0.5; column < 9; column++) {
        const spot = [bottom + ((top - bottom) * row) / 9, left + ((right - left) * column) / 9];
        const room = edgeDistance(largest, ...spot);
        if (room > best.room) Object.assign(best, { spot, room });
      }
    }
    return best;
  }

  // ---- the frame around the map

  function frameOf(element, view) {
    element.classList.add("runcard-map");
    element.replaceChildren();
    const head = make("div", "rc-head", undefined, element);
    const stage = make("div", "rc-stage", undefined, element);
    stage.setAttribute("role", "region");
    stage.setAttribute("aria-label", "Map. Arrow keys move it, plus and minus zoom.");
    const side = make("div", "rc-side", undefined, element);
    const legend = make("div", "rc-legend", undefined, side);
    const chosen = make("div", "rc-chosen", undefined, side);
    chosen.setAttribute("aria-live", "polite");
    if (view.data.note) make("p", "rc-note", view.data.note, side);
    return { head, stage, legend, chosen };
  }

  function addSwitch(view) {
    const { layers } = view.data;
    const head = view.frame.head;
    if (layers.length < 2) {
      if (layers.length) make("div", "rc-title", layers[0].title, head);
    } else if (layers.length <= MOST_BUTTONS) {
      const group = make("fieldset", "rc-switch", undefined, head);
      make("legend", "", "Show", group);
      layers.forEach((layer) => addRadio(view, layer, group));
    } else {
      const label = make("label", "rc-switch", "Show ", head);
      const list = make("select", "", undefined, label);
      layers.forEach((layer) => (make("option", "", layer.title, list).value = layer.id));
      list.addEventListener("change", () => view.show(list.value));
      view.reflect = () => (list.value = view.layer.id);
    }
  }

  function addRadio(view, layer, group) {
    const label = make("label", "", undefined, group);
    const button = make("input", "", undefined, label);
    Object.assign(button, { type: "radio", name: view.prefix, value: layer.id });
    make("span", "", layer.title, label);
    button.addEventListener("change", () => view.show(layer.id));
    const before = view.reflect;
    view.reflect = () => {
      before();
      button.checked = view.layer.id === layer.id;
    };
  }

  // ---- colours and hatching

  function fillOf(view, swatch) {
    if (!swatch.hatch || !HATCHES[swatch.hatch]) return swatch.colour;
    const key = swatch.colour + swatch.hatch;
    if (!view.patterns.has(key)) view.patterns.set(key, addPattern(view, swatch));
    return `url(#${view.patterns.get(key)})`;
  }

  function addPattern(view, swatch) {
    const id = `${view.prefix}-${view.patterns.size}`;
    const size = { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" };
    const pattern = makeSvg("pattern", size, view.defs);
    makeSvg("rect", { width: 8, height: 8, fill: swatch.colour }, pattern);
    const dots = swatch.hatch === ".";
    const ink = luminance(swatch.colour) > 0.45 ? "rgba(0,0,0,.5)" : "rgba(255,255,255,.65)";
    const lines = { stroke: ink, "stroke-width": dots ? 2 : 1.1, "stroke-linecap": "round", fill: "none" };
    makeSvg("path", { d: HATCHES[swatch.hatch], ...lines }, pattern);
    return id;
  }

  function addDefs(view) {
    const hidden = makeSvg("svg", { class: "rc-defs", "aria-hidden": "true" }, view.element);
    view.defs = makeSvg("defs", {}, hidden);
  }

  function drawLegend(view) {
    const { legend } = view.frame;
    legend.replaceChildren();
    const list = make("ul", "", undefined, legend);
    const { layer } = view;
    (layer.legend || []).filter((swatch) => swatch.label).forEach((swatch) => addKey(list, fillOf(view, swatch), swatch.label));
    if (view.data.ground.areas.some((area) => !layer.areas[area.id])) addKey(list, "var(--rc-empty)", NOTHING);
    if ((layer.outlined || []).length) addKey(list, "none", layer.outline_label || OUTLINE, "rc-key-outline");
  }

  function addKey(list, fill, text, className) {
    const row = make("li", "", undefined, list);
    const picture = makeSvg("svg", { width: 30, height: 18, "aria-hidden": "true", class: className || "" }, row);
    makeSvg("rect", { x: 1.5, y: 1.5, width: 27, height: 15, rx: 2 }, picture).style.fill = fill;
    make("span", "", text, row);
  }

  // ---- the ground

  function addPanes(map) {
    [["roads", 410], ["outlines", 420], ["chosen", 430], ["routes", 435], ["marks", 440], ["pins", 610]].forEach(([name, height]) => {
      const pane = map.createPane(name);
      pane.style.zIndex = height;
      pane.style.pointerEvents = "none";
    });
  }

  function addAreas(view, place) {
    const renderer = L.svg({ padding: 0.3 });
    for (const area of view.data.ground.areas) {
      const rings = area.rings.map((ring) => ringPlaces(ring, place));
      const polygon = L.polygon(rings, { renderer, className: "rc-area", smoothFactor: 0, weight: 0.7, fillOpacity: 1 });
      polygon.addTo(view.map);
      view.areas.set(area.id, { id: area.id, name: area.name, rings, polygon, ...roomiest(rings) });
    }
  }

  function addRoads(view, place) {
    const { roads } = view.data.ground;
    const lines = roads.map(([x1, y1, x2, y2]) => [place(x1, y1), place(x2, y2)]);
    const style = { color: "#333", weight: 1, opacity: 0.45 };
    // One path for all is quick. On a canvas they would hide the areas in print, where a canvas is not transparent.
    const renderer = L.svg({ pane: "roads", padding: 0.3 });
    view.roads = L.polyline(lines, { ...style, renderer, pane: "roads", interactive: false, smoothFactor: 0 });
    view.roads.addTo(view.map);
  }

  function styleRoads(view) {
    // Many roads close together would darken the areas below them.
    const crowd = Math.log2(Math.max(1, view.data.ground.roads.length / 500)) / 2;
    const near = view.map.getZoom() - view.map.getMinZoom() - 1 - crowd;
    const clear = Math.max(0, Math.min(1, 1 + near / 3));
    view.roads.setStyle({ opacity: 0.15 + 0.3 * clear, weight: 0.5 + 0.5 * clear });
  }

  function addBorders(view, pane) {
    // A light line under a dark one is seen on every colour.
    const renderer = L.svg({ pane, padding: 0.3 });
    const style = { renderer, pane, interactive: false, fill: false, smoothFactor: 0 };
    const kinds = ["halo", "line"].map((kind) => L.polygon([], { ...style, className: `rc-${pane} rc-${kind}` }));
    kinds.forEach((one) => one.addTo(view.map));
    return (areas) => kinds.forEach((one) => one.setLatLngs(areas.map((area) => area.rings)));
  }

  function addStations(view, place) {
    const shortName = shortNames(view.data.ground.stations);
    for (const station of view.data.ground.stations) {
      const icon = make("div", `rc-station rc-is-${station.state || "there"}`);
      make("span", "rc-dot", undefined, icon);
      const name = make("span", "rc-name", shortName(station) + stateWords(station), icon);
      const at = place(station.x, station.y);
      const marker = L.marker(at, { icon: L.divIcon({ html: icon, className: "rc-pin", iconSize: [0, 0] }) });
      marker.addTo(view.map);
      view.stations.push({ station, marker, name, at, element: marker.getElement() });
    }
  }

  function stateWords(station) {
    const words = station.words || { closed: "closed", new: "new", changed: "units change" }[station.state];
    return words ? `: ${words}` : "";
  }

  function shortNames(stations) {
    // All by name if these are short, else by id, else by their first unit, else cut short.
    const longest = stations.length <= 20 ? 16 : 6;
    const isShort = (nameOf, most) => stations.every((one) => nameOf(one) && nameOf(one).length <= most);
    const byName = (one) => one.name;
    const byId = (one) => one.id;
    const byUnit = (one) => (one.units.length ? one.units[0].id : "");
    const cut = (one) => (one.id.length <= 12 ? one.id : `${one.id.slice(0, 11)}…`);
    return isShort(byName, longest) ? byName : isShort(byId, 8) ? byId : isShort(byUnit, 8) ? byUnit : cut;
  }

  function stationLines(view, station) {
    const counts = new Map();
    station.units.forEach((unit) => counts.set(`${unit.kind} ${unit.id}`, (counts.get(`${unit.kind} ${unit.id}`) || 0) + 1));
    const units = [...counts].map(([name, count]) => (count > 1 ? `${count} × ${name}` : name));
    const badge = view.badges.get(station.id);
    const more = [...((view.layer.stations || {})[station.id] || []), ...((badge && badge.lines) || [])];
    return [`Station ${station.name}${stateWords(station)}`, units.join(", "), ...more].filter(Boolean);
  }

  function areaLines(view, area) {
    const entry = view.layer.areas[area.id];
    return entry ? entry.lines : [area.name, NOTHING];
  }

  // ---- text on the map: names of stations first, then marks, none over another

  function overlaps(box, boxes) {
    return boxes.some((one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1]);
  }

  function isInside(view, [left, top, right, bottom]) {
    const { x, y } = view.map.getSize();
    const [first, last] = [[left, top], [right, bottom]].map((corner) => view.map.layerPointToContainerPoint(corner));
    return first.x >= 0 && first.y >= 0 && last.x <= x && last.y <= y;
  }

  function textWidth(view, text, font) {
    const key = font + text;
    if (!view.widths.has(key)) {
      view.pen.font = font;
      view.widths.set(key, view.pen.measureText(text).width);
    }
    return view.widths.get(key);
  }

  function placeNames(view) {
    const spots = view.stations.map((one) => view.map.latLngToLayerPoint(one.at));
    const boxes = spots.map(({ x, y }) => [x - 6, y - 6, x + 6, y + 6]);
    // Stations that change have room for their names first.
    const inOrder = [...view.stations.keys()].sort((a, b) => !view.stations[a].station.state - !view.stations[b].station.state);
    inOrder.forEach((number) => {
      const one = view.stations[number];
      const wide = textWidth(view, one.name.textContent, "600 12px system-ui, sans-serif") + 8;
      const { x, y } = spots[number];
      const sides = {
        right: [x + 8, y - 8, x + 8 + wide, y + 8],
        left: [x - 8 - wide, y - 8, x - 8, y + 8],
        above: [x - wide / 2, y - 24, x + wide / 2, y - 8],
        below: [x - wide / 2, y + 8, x + wide / 2, y + 24],
      };
      const open = Object.keys(sides).filter((side) => !overlaps(sides[side], boxes));
      const free = open.find((side) => isInside(view, sides[side])) || open[0];
      one.name.className = `rc-name rc-${free || "hidden"}`;
      if (free) boxes.push(sides[free]);
    });
    return boxes;
  }

  function marksInOrder(view, outlined) {
    // What is outlined comes first; then the largest areas.
    const isOutlined = (area) => outlined.has(area.id);
    return [...view.byRoom.filter(isOutlined), ...view.byRoom.filter((area) => !isOutlined(area))];
  }

  function placeMarks(view, boxes) {
    const kept = new Map();
    const scale = view.map.getZoomScale(view.map.getZoom(), 0);
    const placed = [];
    const outlined = new Set(view.layer.outlined || []);
    for (const area of marksInOrder(view, outlined)) {
      const mark = (view.layer.areas[area.id] || {}).mark;
      if (!mark) continue;
      const half = textWidth(view, mark, "600 11px system-ui, sans-serif") / 2 + 1;
      if (area.room * scale < half * 0.6) continue;
      const { x, y } = view.map.latLngToLayerPoint(area.spot);
      const box = [x - half, y - 7, x + half, y + 7];
      // Areas that are close and have the same mark have it together, unless they are outlined.
      const again = !outlined.has(area.id) && placed.some((one) => one.mark === mark && Math.hypot(one.x - x, one.y - y) < 70);
      if (again || overlaps(box, boxes)) continue;
      boxes.push(box);
      placed.push({ mark, x, y });
      kept.set(area.id, markOf(view, area, mark));
    }
    for (const [id, one] of view.marked) if (kept.get(id) !== one) view.marks.removeLayer(one.marker);
    view.marked = kept;
  }

  function markOf(view, area, mark) {
    // The one that is there, if it says the same.
    const known = view.marked.get(area.id);
    if (known && known.mark === mark) return known;
    const icon = L.divIcon({ html: make("span", "", mark), className: "rc-mark", iconSize: [0, 0] });
    return { mark, marker: L.marker(area.spot, { icon, pane: "marks", interactive: false, keyboard: false }).addTo(view.marks) };
  }

  function placeText(view) {
    if (view.layer) placeMarks(view, placeNames(view));
  }

  // ---- what a page adds while it is open

  function showBadges(view, badges) {
    let wider = false;
    view.badges = new Map(Object.entries(badges));
    const shortName = shortNames(view.data.ground.stations);
    for (const one of view.stations) {
      const badge = view.badges.get(one.station.id) || {};
      const name = shortName(one.station) + stateWords(one.station) + (badge.text ? ` ${badge.text}` : "");
      wider = wider || name.length !== one.name.textContent.length;
      one.name.textContent = name;
      one.name.parentElement.className = `rc-station rc-is-${badge.state || one.station.state || "there"}`;
      one.element.setAttribute("aria-label", stationLines(view, one.station).join(". "));
    }
    if (wider) placeText(view);
  }

  function addRoutes(view, place) {
    const renderer = L.svg({ pane: "routes", padding: 0.3 });
    const style = { renderer, pane: "routes", interactive: false, fill: false, smoothFactor: 0 };
    const drawn = L.layerGroup().addTo(view.map);
    return (routes, shared) => {
      drawn.clearLayers();
      const add = (lines, className) => lines.length && L.polyline(lines, { ...style, className }).addTo(drawn);
      const links = shared.map((line) => ringPlaces(line, place));
      add(links, "rc-shared rc-shared-edge");
      add(links, "rc-shared");
      add(routes.map((one) => ringPlaces(one.line, place)), "rc-route rc-halo");
      routes.forEach((one) => add([ringPlaces(one.line, place)], `rc-route rc-line rc-route-${one.style % 3}`));
    };
  }

  function cover(one, other) {
    return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  }

  function addPins(view) {
    const group = L.layerGroup().addTo(view.map);
    let shown = [];
    const draw = (pins) => {
      shown = pins;
      group.clearLayers();
      const taken = [...view.map.getContainer().querySelectorAll(".rc-name")].map((one) => one.getBoundingClientRect());
      const texts = [];
      // Those that are late come first. A text that would cover another one is left out, or a station, if it is not late.
      const known = pins.filter((one) => view.areas.has(one.area)).sort((one, other) => (other.state === "late") - (one.state === "late"));
      for (const pin of known) {
        const text = make("span", "", pin.text);
        const icon = L.divIcon({ html: text, className: `rc-incident rc-${pin.state || "open"}`, iconSize: [0, 0] });
        L.marker(view.areas.get(pin.area).spot, { icon, pane: "pins", interactive: false, keyboard: false }).addTo(group);
        const box = text.getBoundingClientRect();
        if ((pin.state === "late" ? texts : [...texts, ...taken]).some((one) => cover(one, box))) text.remove();
        else texts.push(box);
      }
    };
    view.map.on("zoomend", () => draw(shown));
    return draw;
  }

  // ---- labels, choosing, the keyboard

  function label(view, lines, spot) {
    view.label.setContent(linesInto(make("div", "rc-lines"), lines)).setLatLng(spot).openOn(view.map);
  }

  function listenToArea(view, area) {
    const { polygon } = area;
    const element = polygon.getElement();
    polygon.on("mouseover mousemove", (event) => label(view, areaLines(view, area), event.latlng));
    polygon.on("mouseout", () => view.map.closeTooltip(view.label));
    polygon.on("click", () => view.select(area.id));
    element.setAttribute("role", "button");
    element.addEventListener("focus", () => {
      if (element.matches(":focus-visible")) showFocused(view, areaLines(view, area), area.spot);
    });
    element.addEventListener("blur", () => view.map.closeTooltip(view.label));
    return { element, at: area.spot, choose: () => view.select(area.id) };
  }

  function listenToStation(view, one) {
    const open = () => label(view, stationLines(view, one.station), one.at);
    const choose = () => (view.handle.onstation ? view.handle.onstation(one.station.id) : open());
    one.marker.on("mouseover", open);
    one.marker.on("click", choose);
    one.marker.on("mouseout", () => view.map.closeTooltip(view.label));
    one.element.addEventListener("focus", () => showFocused(view, stationLines(view, one.station), one.at));
    one.element.addEventListener("blur", () => view.map.closeTooltip(view.label));
    return { element: one.element, at: one.at, choose };
  }

  function showFocused(view, lines, spot) {
    view.map.panInside(spot, { padding: [60, 60], animate: false });
    label(view, lines, spot);
  }

  function rove(view, items) {
    // One stop of the tab key for all; arrow keys go to the nearest one that way.
    const directions = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    const stop = (item) => items.forEach((one) => one.element.setAttribute("tabindex", one === item ? "0" : "-1"));
    if (items.length) stop(items[0]);
    for (const item of items) {
      item.element.addEventListener("focus", () => stop(item));
      item.element.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") item.choose();
        else if (directions[event.key]) (nearest(items, item, directions[event.key]) || item).element.focus();
        else if (event.key === "+" || event.key === "=") view.map.zoomIn();
        else if (event.key === "-") view.map.zoomOut();
        else return;
        event.preventDefault();
        event.stopPropagation();
      });
    }
  }

  function nearest(items, from, [north, east]) {
    let [best, least] = [null, Infinity];
    for (const item of items) {
      const [dy, dx] = [item.at[0] - from.at[0], item.at[1] - from.at[1]];
      const ahead = dy * north + dx * east;
      const aside = Math.abs(dy * east - dx * north);
      // Twice as bad to be off the line as to be far; nothing that is more aside than ahead.
      if (ahead > 0 && ahead >= aside && ahead + 2 * aside < least) [best, least] = [item, ahead + 2 * aside];
    }
    return best;
  }

  // ---- the map itself

  function addHome(view) {
    const control = L.control({ position: "topleft" });
    control.onAdd = () => {
      const bar = make("div", "leaflet-bar");
      const button = make("button", "rc-home", "⤢", bar);
      Object.assign(button, { type: "button", title: "Whole city" });
      button.setAttribute("aria-label", "Whole city");
      button.addEventListener("click", () => view.fit());
      L.DomEvent.disableClickPropagation(bar);
      return bar;
    };
    control.addTo(view.map);
  }

  function startMap(view) {
    const map = L.map(view.frame.stage, {
      crs: L.CRS.Simple, attributionControl: false, zoomSnap: 0.25, zoomDelta: 0.75, wheelPxPerZoomLevel: 90,
      scrollWheelZoom: false, minZoom: -40, maxZoom: 40, fadeAnimation: false,
    });
    // The wheel scrolls the page until the map is in use, and again when it is left.
    map.on("focus click", () => map.scrollWheelZoom.enable());
    view.frame.stage.addEventListener("mouseleave", () => map.scrollWheelZoom.disable());
    map.on("zoomanim", () => (view.zooming = true));
    map.on("zoomend", () => (view.zooming = false));
    view.map = map;
    view.label = L.tooltip({ className: "rc-label", direction: "top", offset: [0, -8], opacity: 1 });
    addPanes(map);
    addHome(view);
  }

  const PADDING = 16;

  function fit(view, bounds) {
    const { map } = view;
    if (view.zooming) return void map.once("zoomend", () => fit(view, bounds)); // its end would undo this
    map.invalidateSize({ animate: false });
    const { x: width, y: height } = map.getSize();
    if (Math.min(width, height) <= PADDING) return; // it is hidden: Leaflet would zoom in as far as it can
    map.setMinZoom(-40).setMaxZoom(40); // before it is asked, because it keeps to the limits of the last size
    const zoom = map.getBoundsZoom(bounds, false, L.point(PADDING, PADDING));
    map.setView(bounds.getCenter(), zoom, { animate: false });
    map.setMinZoom(zoom - 1).setMaxZoom(zoom + 7).setMaxBounds(bounds.pad(0.6));
    view.wholeZoom = map.getZoom();
  }

  function boundsOf(ground, place) {
    const bounds = L.latLngBounds([]);
    ground.areas.forEach((area) => area.rings.forEach((ring) => ringPlaces(ring, place).forEach((at) => bounds.extend(at))));
    ground.roads.forEach(([x1, y1, x2, y2]) => bounds.extend(place(x1, y1)).extend(place(x2, y2)));
    ground.stations.forEach((one) => bounds.extend(place(one.x, one.y)));
    return bounds;
  }

  function watchSize(view) {
    let [knownWidth, knownHeight] = [view.frame.stage.clientWidth, view.frame.stage.clientHeight];
    new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = view.frame.stage;
      // Bars of a browser come and go above and below: who has zoomed in stays there.
      const asBefore = view.map.getZoom() === view.wholeZoom;
      if (width !== knownWidth || (height !== knownHeight && asBefore)) view.fit();
      [knownWidth, knownHeight] = [width, height];
    }).observe(view.frame.stage);
    // On paper the map has another size, and no time to notice.
    const onPaper = (is) => () => {
      view.element.classList.toggle("rc-paper", is);
      view.fit();
    };
    window.addEventListener("beforeprint", onPaper(true));
    window.addEventListener("afterprint", onPaper(false));
  }

  // ---- what a page calls

  function show(view, layerId) {
    const layer = view.data.layers.find((one) => one.id === layerId);
    if (!layer) throw new Error(`expected the id of a layer, got ${layerId}`);
    drawLayer(view, layer);
  }

  function drawLayer(view, layer) {
    view.layer = layer;
    for (const area of view.areas.values()) {
      const entry = layer.areas[area.id];
      const swatch = entry && (layer.legend || [])[entry.class];
      const fillColor = swatch ? fillOf(view, swatch) : "var(--rc-empty)";
      const words = areaLines(view, area).join(". ");
      if (fillColor !== area.polygon.options.fillColor) area.polygon.setStyle({ fillColor });
      if (words !== area.words) area.polygon.getElement().setAttribute("aria-label", (area.words = words));
    }
    view.stations.forEach((one) => one.element.setAttribute("aria-label", stationLines(view, one.station).join(". ")));
    view.outline((layer.outlined || []).map((id) => view.areas.get(id)).filter(Boolean));
    drawLegend(view);
    view.reflect();
    tellChosen(view);
    placeText(view);
  }

  function select(view, areaId) {
    if (areaId !== null && !view.areas.has(areaId)) throw new Error(`expected the id of an area, got ${areaId}`);
    view.chosen = areaId;
    view.highlight(areaId === null ? [] : [view.areas.get(areaId)]);
    for (const area of view.areas.values()) area.polygon.getElement().setAttribute("aria-pressed", area.id === areaId);
    tellChosen(view);
    if (areaId !== null) view.map.panInside(view.areas.get(areaId).spot, { animate: false });
    if (view.handle.onselect) view.handle.onselect(areaId);
  }

  function tellChosen(view) {
    const { chosen } = view.frame;
    if (view.chosen === null) linesInto(chosen, []).append(make("p", "rc-hint", "Choose an area to read about it."));
    else linesInto(chosen, areaLines(view, view.areas.get(view.chosen)));
  }

  function draw(view) {
    const { ground } = view.data;
    const place = placer(ground);
    const bounds = boundsOf(ground, place);
    view.fit = () => fit(view, bounds);
    startMap(view);
    view.map.setView(bounds.getCenter(), 0, { animate: false });
    view.fit();
    addDefs(view);
    addAreas(view, place);
    addRoads(view, place);
    view.outline = addBorders(view, "outlines");
    view.highlight = addBorders(view, "chosen");
    view.marks = L.layerGroup().addTo(view.map);
    view.routes = addRoutes(view, place);
    view.pins = addPins(view);
    view.place = place;
    addStations(view, place);
    view.byRoom = [...view.areas.values()].sort((one, other) => other.room - one.room);
    rove(view, [...view.areas.values()].map((area) => listenToArea(view, area)));
    rove(view, view.stations.map((one) => listenToStation(view, one)));
    styleRoads(view);
    view.map.on("zoomend", () => {
      styleRoads(view);
      placeText(view);
    });
    watchSize(view);
  }

  window.runcardMap = function (element, data) {
    const layers = data.layers && data.layers.length ? data.layers : [{ id: "", title: "", legend: [], areas: {} }];
    const view = {
      element, data: { ...data, layers }, prefix: `rc${++numMaps}`, layer: null, chosen: null, reflect: () => {},
      areas: new Map(), stations: [], badges: new Map(), marked: new Map(), widths: new Map(), patterns: new Map(), pen: document.createElement("canvas").getContext("2d"),
    };
    view.show = (layerId) => show(view, layerId);
    view.select = (areaId) => select(view, areaId);
    view.frame = frameOf(element, view);
    addSwitch(view);
    draw(view);
    view.handle = {
      map: view.map, show: view.show, select: view.select, fit: view.fit, onselect: null, onstation: null,
      draw: (layer) => drawLayer(view, layer), badges: (badges) => showBadges(view, badges), routes: view.routes,
      pins: view.pins, place: view.place,
    };
    view.show(layers[0].id);
    return view.handle;
  };
  window.runcardMap.make = make; // for scripts of pages
})();
