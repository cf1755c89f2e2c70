// The page of a program: boxes open and close, the picture zooms, the panel tells.
"use strict";

const program = JSON.parse(document.getElementById("program").textContent);
const items = program.items;  // by id
const svg = document.querySelector("svg.gyre"), all = document.getElementById("all");
const panel = document.getElementById("told"), search = document.getElementById("search");
const element = id => document.getElementById("i" + id);
const make = (tag, text, className) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};

items.forEach((item, id) => (item.children || []).forEach(child => { items[child].parent = id; }));

// ---- Boxes

function draw(box) {
  const group = element(box.id), header = group.querySelector(":scope > .header");
  group.classList.toggle("collapsed", box.collapsed);
  header.setAttribute("aria-expanded", String(!box.collapsed));
  header.querySelector(".fold").setAttribute("d", box.collapsed ? "M11 10L15 14L11 18" : "M9 12L13 16L17 12");
  group.querySelector(":scope > .inside").style.display = box.collapsed ? "none" : "";
  const frame = group.querySelector(":scope > .frame");
  frame.setAttribute("width", box.width);
  frame.setAttribute("height", box.height);
  header.querySelector("rect").setAttribute("width", box.width - 1.4);
  const badge = header.querySelector(".badge");
  if (badge) badge.setAttribute("x", box.width - 10);
  if (box.collapsed) return;
  for (const child of box.children)
    element(child).setAttribute("transform", `translate(${items[child].x.toFixed(1)} ${items[child].y.toFixed(1)})`);
  box.paths.forEach((points, at) => document.getElementById(`e${box.id}-${at}`).setAttribute("d", pathOf(points)));
  if (box.kind === "loop") {
    group.querySelector(":scope > .inside > .back").setAttribute("d", loopPath(box));
    group.querySelector(":scope > .inside > .tip").setAttribute(
      "transform", `translate(${box.width - 24} ${program.constants.header + 10}) rotate(180)`);
  }
}

// Sizes of a box, and of those inside it where `deep`.
function measure(box, deep) {
  for (const child of box.children) {
    const item = items[child];
    if (!item.children) [item.width, item.height] = ownSize(item);
    else if (deep) measure(item, true);
  }
  if (box.collapsed) [box.width, box.height] = ownSize(box);
  else place(box);
  if (box.collapsed || deep) draw(box);
}

function setCollapsed(box, collapsed) {
  if (box.collapsed === collapsed) return;
  const before = element(box.id).getBoundingClientRect();
  box.collapsed = collapsed;
  for (let at = box; at; at = items[at.parent]) {
    measure(at, false);
    draw(at);
  }
  const after = element(box.id).getBoundingClientRect();  // its corner stays under the pointer
  moveBy(before.left - after.left, before.top - after.top);
}

function setAll(collapsed) {
  for (const item of items) if (item.children && item.parent !== undefined) item.collapsed = collapsed;
  measure(items[0], true);
  fit();
}

function reveal(item) {
  const closed = [];
  for (let at = items[item.parent]; at; at = items[at.parent]) if (at.collapsed) closed.push(at);
  closed.reverse().forEach(box => setCollapsed(box, false));
}

// ---- Zoom: the picture's scale and corner

const view = {scale: 1, x: 0, y: 0};

function show() {
  all.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
  document.getElementById("zoom").textContent = Math.round(view.scale * 100) + " %";
}

function moveBy(x, y) {
  view.x += x;
  view.y += y;
  show();
}

function zoomAt(factor, x, y) {
  const scale = Math.min(8, Math.max(0.02, view.scale * factor)), by = scale / view.scale;
  view.x = x - (x - view.x) * by;
  view.y = y - (y - view.y) * by;
  view.scale = scale;
  show();
}

function fit() {
  const {width, height} = svg.getBoundingClientRect();
  view.scale = Math.min(1.4, (width - 24) / items[0].width, (height - 24) / items[0].height);
  view.scale = Math.max(view.scale, Math.min(1, (width - 24) / items[0].width), 0.25);
  view.x = Math.max(12, (width - items[0].width * view.scale) / 2);
  view.y = 12;
  show();
}

function centre(item) {
  const at = element(item.id).getBoundingClientRect(), frame = svg.getBoundingClientRect();
  if (view.scale < 0.6) {
    zoomAt(0.9 / view.scale, at.left - frame.left, at.top - frame.top);
    return centre(item);
  }
  moveBy(frame.left + frame.width / 2 - at.left - Math.min(at.width, frame.width) / 2,
         frame.top + frame.height / 2 - at.top - Math.min(at.height, frame.height * 0.8) / 2);
}

// ---- What is pointed at

let pinned = null;

function around(item) {
  const near = [item.id], edges = [], box = items[item.parent];
  if (box) box.edges.forEach(([a, b], at) => {
    const from = box.children[a], to = box.children[b];
    if (from !== item.id && to !== item.id) return;
    near.push(from === item.id ? to : from);
    edges.push(`e${box.id}-${at}`);
  });
  return {near, edges};
}

function mark(item) {
  document.querySelectorAll(".near, .lit, .chosen").forEach(e => e.classList.remove("near", "lit", "chosen"));
  if (!item) return;
  const {near, edges} = around(item);
  near.forEach(id => element(id).classList.add("near"));
  edges.forEach(id => document.getElementById(id).classList.add("lit"));
  element(item.id).classList.add("chosen");
}

function row(table, name, value, jump) {
  if (value === undefined || value === "" || value === null) return;
  const line = table.insertRow();
  line.append(make("th", name));
  const cell = make("td");
  if (jump) {
    const link = make("button", value, "link");
    link.onclick = () => go(jump);
    cell.append(link);
  } else cell.textContent = value;
  line.append(cell);
}

function tell(item) {
  panel.replaceChildren();
  if (!item) {
    panel.append(make("p", "Point at something to see what it is. Click a header to close or open a box.", "hint"));
    return;
  }
  panel.append(make("h3", item.title));
  const table = make("table");
  row(table, "op", item.op);
  row(table, "name", item.name);
  row(table, "gives", item.types);
  row(table, "ran", item.ran);
  row(table, "where", item.line);
  row(table, "gradient of", item.of, item.ofId === undefined ? undefined : items[item.ofId]);
  row(table, "call of", item.again === undefined ? undefined : items[item.again].title, items[item.again]);
  row(table, "in", item.function && "@" + item.function);
  row(table, "device", item.device);
  for (const [name, value] of Object.entries(item.attrs || {})) row(table, name, value);
  for (const text of item.constants || []) row(table, "constant", text);
  panel.append(table);
  if (item.line) lightLine(item.line);
}

function go(item) {
  reveal(item);
  pinned = item;
  mark(item);
  tell(item);
  centre(item);
}

function itemAt(target) {
  const group = target.closest && target.closest("#all .item, #all .box");
  return group ? items[Number(group.id.slice(1))] : null;
}

svg.addEventListener("pointerover", event => {
  if (pinned || dragged) return;
  const item = itemAt(event.target);
  if (item && item.parent === undefined) return;
  mark(item);
  if (item) tell(item);
});

// ---- Pointer, wheel, keys

let dragged = null;
const pointers = new Map();

svg.addEventListener("wheel", event => {
  event.preventDefault();
  const frame = svg.getBoundingClientRect();
  zoomAt(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - frame.left, event.clientY - frame.top);
}, {passive: false});

svg.addEventListener("pointerdown", event => {
  pointers.set(event.pointerId, [event.clientX, event.clientY]);
  dragged = {moved: 0};
});
window.addEventListener("pointermove", event => {
  const last = pointers.get(event.pointerId);
  if (!last) return;
  const now = [event.clientX, event.clientY];
  if (pointers.size === 2) {  // two fingers: zoom about the one that rests
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const far = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
    const frame = svg.getBoundingClientRect();
    zoomAt(far(now) / far(last), other[0] - frame.left, other[1] - frame.top);
  } else moveBy(now[0] - last[0], now[1] - last[1]);
  dragged.moved += Math.abs(now[0] - last[0]) + Math.abs(now[1] - last[1]);
  pointers.set(event.pointerId, now);
});
window.addEventListener("pointerup", event => {
  if (!pointers.delete(event.pointerId)) return;
  const wasClick = dragged && dragged.moved < 4;
  if (!pointers.size) dragged = null;
  if (!wasClick || !svg.contains(event.target)) return;
  const item = itemAt(event.target);
  const header = event.target.closest(".header");
  if (header && item && item.parent !== undefined) setCollapsed(item, !item.collapsed);
  pinned = item && item.parent !== undefined && pinned !== item ? item : null;
  mark(pinned || item);
  tell(pinned || item);
});
window.addEventListener("pointercancel", event => { pointers.delete(event.pointerId); dragged = null; });

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const header = event.target.closest && event.target.closest(".header");
  if (header && (event.key === "Enter" || event.key === " ")) {
    const box = itemAt(header);
    if (box.parent !== undefined) setCollapsed(box, !box.collapsed);
    event.preventDefault();
    return;
  }
  if (event.target === search) {
    if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { search.value = ""; find(); search.blur(); }
    return;
  }
  const frame = svg.getBoundingClientRect(), step = 80;
  const keys = {
    "/": () => search.focus(), "0": fit, "f": fit, "e": () => setAll(false), "c": () => setAll(true),
    "+": () => zoomAt(1.25, frame.width / 2, frame.height / 2), "=": () => zoomAt(1.25, frame.width / 2, frame.height / 2),
    "-": () => zoomAt(0.8, frame.width / 2, frame.height / 2),
    "ArrowLeft": () => moveBy(step, 0), "ArrowRight": () => moveBy(-step, 0),
    "ArrowUp": () => moveBy(0, step), "ArrowDown": () => moveBy(0, -step),
    "Escape": () => { pinned = null; mark(null); tell(null); },
  };
  if (!keys[event.key]) return;
  keys[event.key]();
  event.preventDefault();
});

// ---- Search

let found = [], current = -1;

function find() {
  const wanted = search.value.trim().toLowerCase();
  found = wanted ? items.filter(item => item.parent !== undefined && item.text.includes(wanted)) : [];
  current = -1;
  svg.classList.toggle("searching", Boolean(wanted));
  document.querySelectorAll(".found").forEach(e => e.classList.remove("found"));
  found.forEach(item => element(item.id).classList.add("found"));
  document.getElementById("hits").textContent = wanted ? `${found.length} found` : "";
}

function next(by) {
  if (!found.length) return;
  current = (current + by + found.length) % found.length;
  document.getElementById("hits").textContent = `${current + 1} of ${found.length}`;
  go(found[current]);
}

search.addEventListener("input", find);

// ---- Lists and source

for (const item of items) {
  item.text = [item.title, item.op, item.name, item.line, item.function, ...item.lines].join(" ").toLowerCase();
  if (item.children) item.collapsed = Boolean(item.collapsed);
}

function list(id, chosen, note) {
  const place = document.getElementById(id);
  place.parentElement.hidden = !chosen.length;
  for (const item of chosen) {
    const entry = make("button", undefined, "entry " + item.kind + (item.gradient ? " gradient" : ""));
    entry.append(make("span", item.title), make("span", note(item), "note"));
    entry.onclick = () => go(item);
    place.append(entry);
  }
}

list("loops", items.filter(item => item.kind === "loop"), item => item.lines[0] || "");
list("hottest", items.filter(item => !item.children && item.nanos).sort((a, b) => b.nanos - a.nanos).slice(0, 12),
     item => item.ran);

function lightLine(line) {
  document.querySelectorAll("#source .now").forEach(e => e.classList.remove("now"));
  const shown = document.getElementById("line-" + line);
  if (!shown) return;
  shown.classList.add("now");
  const box = document.getElementById("source");
  box.scrollTop = shown.offsetTop - box.offsetTop - box.clientHeight / 3;
}

function source() {
  const place = document.getElementById("source"), cost = new Map(), users = new Map();
  for (const item of items) {
    if (!item.line || item.children) continue;
    cost.set(item.line, (cost.get(item.line) || 0) + (item.nanos || 0));
    users.set(item.line, [...(users.get(item.line) || []), item]);
  }
  const most = Math.max(1, ...cost.values());
  place.parentElement.hidden = !program.source.length;
  for (const {file, first, lines} of program.source) {
    place.append(make("div", file, "file"));
    lines.forEach((text, i) => {
      const key = `${file}:${first + i}`, line = make("div", undefined, "code");
      line.id = "line-" + key;
      line.append(make("span", String(first + i), "number"), make("span", text));
      line.style.setProperty("--share", Math.sqrt((cost.get(key) || 0) / most).toFixed(3));
      if (users.has(key)) {
        line.classList.add("used");
        line.onclick = () => { search.value = key; find(); next(1); };
      }
      place.append(line);
    });
  }
}

source();
document.getElementById("fit").onclick = fit;
document.getElementById("open").onclick = () => setAll(false);
document.getElementById("close").onclick = () => setAll(true);
document.getElementById("in").onclick = () => zoomAt(1.25, svg.clientWidth / 2, svg.clientHeight / 2);
document.getElementById("out").onclick = () => zoomAt(0.8, svg.clientWidth / 2, svg.clientHeight / 2);
svg.removeAttribute("viewBox");
svg.setAttribute("role", "group");
svg.setAttribute("width", "100%");
svg.setAttribute("height", "100%");
measure(items[0], true);
fit();
tell(null);
