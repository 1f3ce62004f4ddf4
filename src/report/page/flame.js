// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a profile.  Names come from guests and files that nobody vouches for:
// they are only ever set as text, never as markup.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const F = data.func, N = data.node, S = data.summary;
const nodeCount = N.func.length, funcCount = F.name.length;
const ROW = 21, MAX_HEIGHT = 12000, FEW_ROWS = 40, MIN_WIDTH = 0.6;
const $ = (id) => document.getElementById(id);
const canvas = $("canvas"), context = canvas.getContext("2d");

// ---- Small helpers ----

function make(tag, className, text) {
	const e = document.createElement(tag);
	if (className)
		e.className = className;
	if (text !== undefined)
		e.textContent = text;
	return e;
}
const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
function percent(share) {
	const p = 100 * share;
	return p.toFixed(p === 0 || p >= 9.995 ? 1 : 2) + "\u202f%";
}
const shareOf = (weight) => S.running ? weight / S.running : 0;
const range = (low, high) => (100 * low).toFixed(1) + "–" + (100 * high).toFixed(1) + "\u202f%";
const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);
function placeOf(func, line) {
	const file = F.file[func];
	if (!file)
		return F.module[func] || "";
	return baseName(file) + (line ? ":" + line : "");
}
const nameOf = (node) => node ? F.name[N.func[node]] : "all";

// ---- Layout: each node's place, in units of samples, once ----

const start = new Float64Array(nodeCount), depth = new Uint16Array(nodeCount);
const firstChild = new Int32Array(nodeCount), nextSibling = new Int32Array(nodeCount);
const levels = [[0]]; // nodes of each depth, from left to right
(function layOut() {
	const filled = new Float64Array(nodeCount), last = new Int32Array(nodeCount);
	for (let i = 1; i < nodeCount; i++) {
		const p = N.parent[i];
		start[i] = start[p] + filled[p];
		filled[p] += N.total[i];
		depth[i] = depth[p] + 1;
		(levels[depth[i]] ||= []).push(i);
		if (last[p])
			nextSibling[last[p]] = i;
		else
			firstChild[p] = i;
		last[p] = i;
	}
})();
const endOf = (node) => start[node] + N.total[node];

// ---- State, and the fragment of the address that holds it ----

const state = { zoom: 0, search: "", upward: false, view: "functions", sort: "self",
	descending: true, theme: "", all: false };
let selected = 0, hovered = -1, matches = null;

function readFragment() {
	const q = new URLSearchParams(location.hash.slice(1));
	const zoom = Number(q.get("zoom") || 0);
	state.zoom = Number.isInteger(zoom) && zoom > 0 && zoom < nodeCount ? zoom : 0;
	state.search = q.get("search") || "";
	state.upward = q.get("up") === "1";
	state.view = q.get("view") === "tree" ? "tree" : "functions";
	state.sort = q.get("sort") in keys ? q.get("sort") : "self";
	state.descending = q.get("order") ? q.get("order") === "down" : !isText(state.sort);
	state.theme = ["light", "dark"].includes(q.get("theme")) ? q.get("theme") : "";
}
function fragment() {
	const q = new URLSearchParams();
	if (state.zoom)
		q.set("zoom", state.zoom);
	if (state.search)
		q.set("search", state.search);
	if (state.upward)
		q.set("up", "1");
	if (state.view !== "functions")
		q.set("view", state.view);
	if (state.sort !== "self")
		q.set("sort", state.sort);
	if (state.descending === isText(state.sort))
		q.set("order", state.descending ? "down" : "up");
	if (state.theme)
		q.set("theme", state.theme);
	return "#" + q;
}
// A zoom is a step that the browser's Back undoes; the rest is not.
function saveState(isStep) {
	if (fragment() === (location.hash || "#"))
		return;
	if (isStep)
		history.pushState(null, "", fragment());
	else
		history.replaceState(null, "", fragment());
}

// ---- Colours ----

// Tints of the palette by Okabe and Ito, which colour-blind people can tell apart;
// dark text on light ones, light text on dark ones, at least 4.5 : 1.
const LIGHT = [[38, 87, 69], [202, 78, 77], [160, 46, 66], [54, 80, 72], [219, 66, 78],
	[19, 82, 73], [325, 50, 80], [46, 30, 76]];
const DARK = [[37, 100, 25], [203, 66, 33], [164, 75, 21], [56, 70, 23], [219, 52, 40],
	[22, 80, 31], [327, 34, 38], [45, 14, 31]];
function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h ^ h >>> 15) >>> 0;
}
const isDark = () => state.theme ? state.theme === "dark" :
	matchMedia("(prefers-color-scheme: dark)").matches;
// The same file has the same colour in every recording; its functions differ a little.
function colourOf(hue, dark, shade) {
	const [h, s, l] = (dark ? DARK : LIGHT)[hue];
	return `hsl(${h} ${s}% ${l + shade}%)`;
}
const GREY = -1;
const homeOf = (f) => F.file[f] || F.module[f] || "";
const hue = new Int8Array(funcCount), shade = new Int8Array(funcCount);
for (let f = 0; f < funcCount; f++) {
	hue[f] = F.known[f] && homeOf(f) ? hash(baseName(homeOf(f))) % LIGHT.length : GREY;
	shade[f] = hash(F.name[f]) % 7 - 3;
}
function themeColours() {
	const css = getComputedStyle(document.documentElement);
	const get = (name) => css.getPropertyValue(name).trim();
	const dark = isDark();
	return { dark, text: dark ? "#f3f6f9" : "#1a1f26", back: get("--back"), panel: get("--panel"),
		muted: get("--muted"), line: get("--line"), accent: get("--accent"), mono: get("--mono"),
		grey: dark ? "#3a434e" : "#d9dee4", root: dark ? "#2a323c" : "#e8ecf0" };
}
let theme = null, fills = [];
function applyTheme() {
	if (state.theme)
		document.documentElement.dataset.theme = state.theme;
	else
		delete document.documentElement.dataset.theme;
	$("theme").textContent = "Theme: " + (state.theme || "auto");
	theme = themeColours();
	fills = Array.from(hue, (h, f) =>
		h === GREY ? theme.grey : colourOf(h, theme.dark, shade[f]));
	for (const li of $("colours").querySelectorAll("[data-hue]"))
		li.firstChild.style.background = colourOf(Number(li.dataset.hue), theme.dark, 0);
}
function showColours() {
	const home = new Map();
	for (let f = 0; f < funcCount; f++) {
		if (hue[f] !== GREY)
			home.set(homeOf(f), (home.get(homeOf(f)) || 0) + F.self[f]);
	}
	const top = [...home].sort((a, b) => b[1] - a[1]).slice(0, 8);
	for (const [path] of top) {
		const li = make("li");
		li.dataset.hue = hash(baseName(path)) % LIGHT.length;
		li.append(make("span", "swatch"), make("span", "", baseName(path)));
		$("colours").append(li);
	}
	if (home.size > top.length)
		$("colours").append(make("li", "", `and ${home.size - top.length} more`));
}

// ---- Flame graph ----

let view = { from: 0, to: 0 }, width = 0, rows = 1, frameRequest = 0, charWidth = 7;

// The span that the zoom asks for, and the depth of what can be seen of it.
const target = () => ({ from: start[state.zoom], to: endOf(state.zoom) || 1 });
function visible(level, v) {
	// Levels are sorted by place: the first node that ends after v.from.
	let low = 0, high = level.length;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (endOf(level[mid]) <= v.from)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
function depthOf(v) {
	const least = MIN_WIDTH * (v.to - v.from) / Math.max(1, width);
	let d = 0;
	while (d + 1 < levels.length) {
		const level = levels[d + 1];
		let i = visible(level, v);
		while (i < level.length && start[level[i]] < v.to && N.total[level[i]] < least)
			i++;
		if (i >= level.length || start[level[i]] >= v.to)
			break;
		d++;
	}
	return d;
}
function resize() {
	width = $("flame").clientWidth;
	rows = Math.min(depthOf(target()) + 1, Math.floor(MAX_HEIGHT / ROW));
	const scale = Math.min(devicePixelRatio || 1, 2), height = rows * ROW;
	canvas.style.height = height + "px";
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	context.setTransform(canvas.width / Math.max(1, width), 0, 0, canvas.height / height, 0, 0);
	context.font = "12px " + theme.mono;
	charWidth = context.measureText("MMMMMMMMMM").width / 10;
	context.textBaseline = "middle";
}
const topOf = (d) => (state.upward ? rows - 1 - d : d) * ROW;
function isAncestorOfZoom(node) {
	return depth[node] < depth[state.zoom];
}
function drawFrame(node, x0, x1) {
	const y = topOf(depth[node]), w = x1 - x0, f = N.func[node];
	const isMatch = matches && node && matches[f];
	const faint = matches ? !isMatch : isAncestorOfZoom(node);
	context.globalAlpha = faint && !matches ? 0.55 : 1;
	context.fillStyle = !node ? theme.root : matches && !isMatch ? theme.panel : fills[f];
	context.fillRect(x0, y, Math.max(w - 1, 0.5), ROW - 1);
	if (isMatch) {
		context.fillStyle = theme.accent;
		context.fillRect(x0, y + ROW - 4, Math.max(w - 1, 0.5), 3);
	}
	context.globalAlpha = 1;
	const room = Math.floor((w - 9) / charWidth);
	if (room >= 2) {
		const name = node ? F.name[f] : `all: ${count(S.running)} samples that ran`;
		const text = name.length > room ? name.slice(0, room - 1) + "…" : name;
		context.fillStyle = matches && !isMatch ? theme.muted : theme.text;
		context.fillText(text, x0 + 5, y + ROW / 2);
	}
	if (node === hovered || (node === selected && document.activeElement === canvas)) {
		context.strokeStyle = node === hovered ? theme.text : theme.accent;
		context.lineWidth = node === hovered ? 1 : 2.5;
		context.strokeRect(x0 + 1, y + 1, Math.max(w - 3, 1), ROW - 3);
	}
}
function draw() {
	frameRequest = 0;
	context.clearRect(0, 0, width, rows * ROW);
	const scale = width / (view.to - view.from);
	for (let d = 0; d < levels.length && d < rows; d++) {
		const level = levels[d];
		for (let i = visible(level, view); i < level.length; i++) {
			const node = level[i];
			if (start[node] >= view.to)
				break;
			if (N.total[node] * scale < MIN_WIDTH)
				continue;
			const x0 = Math.max(0, (start[node] - view.from) * scale);
			drawFrame(node, x0, Math.min(width, (endOf(node) - view.from) * scale));
		}
	}
}
function redraw() {
	frameRequest ||= requestAnimationFrame(draw);
}
function animate(from, to, began) {
	const t = Math.min(1, (performance.now() - began) / 160), ease = 1 - (1 - t) ** 3;
	view = { from: from.from + (to.from - from.from) * ease, to: from.to + (to.to - from.to) * ease };
	draw();
	if (t < 1 && to.from === target().from && to.to === target().to)
		requestAnimationFrame(() => animate(from, to, began));
}
function show(isAnimated) {
	resize();
	const to = target();
	if (isAnimated && !matchMedia("(prefers-reduced-motion: reduce)").matches)
		animate(view, to, performance.now());
	else
		view = to;
	redraw();
	showCrumbs();
}
function pathTo(node) {
	const path = [node];
	while (node) {
		node = N.parent[node];
		path.push(node);
	}
	return path.reverse();
}
function showCrumbs() {
	const path = state.zoom ? pathTo(state.zoom) : [];
	$("crumbs").replaceChildren();
	path.forEach((node, i) => {
		const button = make("button", "", nameOf(node));
		button.type = "button";
		if (node === state.zoom)
			button.setAttribute("aria-current", "location");
		button.addEventListener("click", () => zoomTo(node));
		$("crumbs").append(...(i ? [make("span", "", "›")] : []), button);
	});
	$("reset").disabled = !state.zoom;
}
function zoomTo(node) {
	if (node === state.zoom)
		node = state.zoom ? N.parent[node] : 0;
	state.zoom = node;
	selected = node;
	saveState(true);
	show(true);
	say(node);
}
function nodeAt(event) {
	const box = canvas.getBoundingClientRect();
	const d0 = Math.floor((event.clientY - box.top) / ROW);
	const level = levels[state.upward ? rows - 1 - d0 : d0];
	if (!level || d0 < 0 || d0 >= rows)
		return -1;
	const at = view.from + (event.clientX - box.left) / width * (view.to - view.from);
	const i = visible(level, { from: at });
	return i < level.length && start[level[i]] <= at ? level[i] : -1;
}

// ---- What a frame is, in words ----

function describe(node) {
	const total = shareOf(N.total[node]), f = N.func[node];
	if (!node)
		return `all, ${count(S.running)} samples`;
	return `${F.name[f]}, ${placeOf(f, N.line[node] || F.line[f])}, total ${percent(total)}, ` +
		`95 % interval ${range(N.low[node], N.high[node])}, self ${percent(shareOf(N.self[node]))}, ` +
		`${count(N.total[node])} samples, depth ${depth[node]}`;
}
function say(node) {
	$("live").textContent = describe(node);
}
function tipRow(list, name, value, note) {
	list.append(make("dt", "", name), make("dd", "", value), make("dd", "", note));
}
function fillTip(node) {
	const f = N.func[node], list = make("dl");
	const title = make("div", "title", node ? F.name[f] : "all samples that ran");
	const place = [], file = node ? F.file[f] : "";
	if (file)
		place.push(file + (N.line[node] || F.line[f] ? ":" + (N.line[node] || F.line[f]) : ""));
	if (node && F.module[f])
		place.push(F.module[f]);
	if (node && F.inlined[f])
		place.push("inlined");
	tipRow(list, "here", percent(shareOf(N.total[node])),
		`${range(N.low[node], N.high[node])}, ${count(N.total[node])} samples`);
	tipRow(list, "self here", percent(shareOf(N.self[node])), `${count(N.self[node])} samples`);
	if (node) {
		tipRow(list, "function", percent(shareOf(F.total[f])), `total; ${range(F.tl[f], F.th[f])}`);
		tipRow(list, "", percent(shareOf(F.self[f])), `self; ${range(F.sl[f], F.sh[f])}`);
	}
	$("tip").replaceChildren(title, make("div", "place", place.join(" · ")), list);
}
function showTip(node, x, y) {
	const tip = $("tip");
	fillTip(node);
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	const left = Math.max(12, Math.min(x + 14, innerWidth - box.width - 12));
	const top = y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18;
	tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(8, top))}px)`;
}
function hideTip() {
	$("tip").hidden = true;
}
function tipAtSelected() {
	const box = canvas.getBoundingClientRect(), scale = width / (view.to - view.from);
	const x = Math.max(0, (start[selected] - view.from) * scale);
	const y = box.top + topOf(depth[selected]);
	if (y >= -ROW && y < innerHeight)
		showTip(selected, box.left + x, y);
}

// ---- Search ----

function matcher(text) {
	const regex = text.match(/^\/(.+)\/$/);
	if (regex) {
		try {
			const r = new RegExp(regex[1], "i");
			return (s) => r.test(s);
		} catch {
			return () => false;
		}
	}
	const low = text.toLowerCase();
	return (s) => s.toLowerCase().includes(low);
}
function search() {
	const text = state.search.trim();
	matches = null;
	$("matched").textContent = "";
	if (text) {
		const is = matcher(text);
		matches = F.name.map((name, f) => is(name) || is(F.file[f] || ""));
		// A match inside a match is the same time: count the outermost only.
		const inside = new Uint8Array(nodeCount);
		let weight = 0;
		for (let i = 1; i < nodeCount; i++) {
			inside[i] = inside[N.parent[i]];
			if (!inside[i] && matches[N.func[i]]) {
				inside[i] = 1;
				weight += N.total[i];
			}
		}
		const n = matches.filter(Boolean).length;
		$("matched").textContent = `${percent(shareOf(weight))} matched, ${count(n)} function${n === 1 ? "" : "s"}`;
	}
	redraw();
	showRows();
}
function searchFor(text) {
	$("search").value = state.search = text;
	saveState(false);
	search();
}

// ---- Table of functions ----

const keys = {
	self: (f) => F.self[f], total: (f) => F.total[f],
	samples: (f) => byTotal() ? F.total[f] : F.self[f],
	interval: (f) => byTotal() ? F.th[f] - F.tl[f] : F.sh[f] - F.sl[f],
	name: (f) => F.name[f].toLowerCase(), file: (f) => placeOf(f, 0).toLowerCase() || "\uffff",
};
const isText = (key) => key === "name" || key === "file";
const byTotal = () => state.sort === "total";
function compare(a, b) {
	const key = keys[state.sort], x = key(a), y = key(b);
	const c = x < y ? -1 : x > y ? 1 : 0;
	return (state.descending ? -c : c) || F.self[b] - F.self[a] || F.total[b] - F.total[a] || a - b;
}
function rangeCell(low, high, share, most) {
	const cell = make("td", "interval"), box = make("div", "range"), track = make("div", "track");
	const fill = make("div", "fill"), whisker = make("div", "whisker");
	const place = (x) => (100 * x / (most || 1)).toFixed(2) + "%";
	fill.style.width = place(share);
	whisker.style.left = place(low);
	whisker.style.width = place(high - low);
	track.append(fill, whisker);
	track.setAttribute("aria-hidden", "true");
	box.append(make("span", "", range(low, high)), track);
	cell.append(box);
	return cell;
}
function functionRow(f, most) {
	const row = make("tr"), name = make("td", "name"), button = make("button", "", F.name[f]);
	const low = byTotal() ? F.tl[f] : F.sl[f], high = byTotal() ? F.th[f] : F.sh[f];
	const weight = byTotal() ? F.total[f] : F.self[f];
	button.type = "button";
	button.title = "Show in the flame graph";
	button.addEventListener("click", () => {
		searchFor(F.name[f]);
		$("flame").scrollIntoView({ block: "center" });
	});
	name.append(button);
	if (F.inlined[f])
		name.append(make("span", "tag", "inlined"));
	row.append(make("td", "num", percent(shareOf(F.self[f]))),
		make("td", "num", percent(shareOf(F.total[f]))),
		make("td", "num samples", count(weight)), rangeCell(low, high, shareOf(weight), most),
		name, make("td", "file", placeOf(f, F.line[f])));
	return row;
}
function showRows() {
	let list = Array.from(F.name.keys());
	if (matches)
		list = list.filter((f) => matches[f]);
	list.sort(compare);
	const n = state.all ? list.length : Math.min(FEW_ROWS, list.length);
	const highs = byTotal() ? F.th : F.sh;
	const most = list.reduce((m, f) => Math.max(m, highs[f]), 0);
	$("rows").replaceChildren(...list.slice(0, n).map((f) => functionRow(f, most)));
	$("more").hidden = n === list.length;
	$("more").textContent = `Show all ${count(list.length)} functions`;
	$("interval-of").textContent = byTotal() ? "95 % of total" : "95 % of self";
	for (const th of document.querySelectorAll("th[data-sort]")) {
		if (th.dataset.sort === state.sort)
			th.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
		else
			th.removeAttribute("aria-sort");
	}
}
function sortBy(key) {
	state.descending = state.sort === key ? !state.descending : !isText(key);
	state.sort = key;
	saveState(false);
	showRows();
}

// ---- Call tree: rows are made when their parent opens ----

const rowOf = new Map();
function branchRow(node, place, size) {
	const row = make("tr"), f = N.func[node], name = make("td", "name");
	const twist = make("span", "twist", firstChild[node] ? "▸" : "");
	row.tabIndex = -1;
	row.setAttribute("role", "row");
	row.setAttribute("aria-level", depth[node]);
	row.setAttribute("aria-posinset", place);
	row.setAttribute("aria-setsize", size);
	if (firstChild[node])
		row.setAttribute("aria-expanded", "false");
	twist.setAttribute("aria-hidden", "true");
	twist.addEventListener("click", () => toggle(node));
	name.style.paddingLeft = 10 + (depth[node] - 1) * 14 + "px";
	name.append(twist, make("span", "", F.name[f]));
	row.append(make("td", "num", percent(shareOf(N.total[node]))),
		make("td", "num", percent(shareOf(N.self[node]))),
		make("td", "num", count(N.total[node])), name,
		make("td", "file", placeOf(f, N.line[node] || F.line[f])));
	for (const cell of row.children)
		cell.setAttribute("role", "gridcell");
	row.dataset.node = node;
	rowOf.set(node, row);
	return row;
}
function childrenOf(node) {
	const list = [];
	for (let c = firstChild[node]; c; c = nextSibling[c])
		list.push(c);
	return list;
}
function openBranch(node) {
	const row = rowOf.get(node), list = childrenOf(node);
	if (node && (!row || row.getAttribute("aria-expanded") !== "false"))
		return;
	const made = list.map((c, i) => branchRow(c, i + 1, list.length));
	if (node) {
		row.setAttribute("aria-expanded", "true");
		row.querySelector(".twist").textContent = "▾";
		row.after(...made);
	} else {
		$("branches").replaceChildren(...made);
	}
}
function closeBranch(node) {
	const row = rowOf.get(node);
	row.setAttribute("aria-expanded", "false");
	row.querySelector(".twist").textContent = "▸";
	while (row.nextSibling && depth[row.nextSibling.dataset.node] > depth[node]) {
		rowOf.delete(Number(row.nextSibling.dataset.node));
		row.nextSibling.remove();
	}
}
function toggle(node) {
	const expanded = rowOf.get(node).getAttribute("aria-expanded");
	if (expanded === "false")
		openBranch(node);
	else if (expanded === "true")
		closeBranch(node);
}
// Open what is hot, so that the first look says something.
function openHotPath() {
	openBranch(0);
	let node = firstChild[0];
	while (node && depth[node] < 24 && N.total[node] > 0.1 * S.running) {
		openBranch(node);
		node = firstChild[node];
	}
	if ($("branches").firstChild)
		$("branches").firstChild.tabIndex = 0;
}
function focusRow(row) {
	if (!row)
		return;
	for (const r of $("branches").querySelectorAll("[tabindex='0']"))
		r.tabIndex = -1;
	row.tabIndex = 0;
	row.focus();
}
function treeKey(event) {
	const row = event.target.closest("tr"), node = Number(row.dataset.node);
	const isOpen = row.getAttribute("aria-expanded") === "true";
	const go = {
		ArrowDown: () => focusRow(row.nextSibling), ArrowUp: () => focusRow(row.previousSibling),
		Home: () => focusRow($("branches").firstChild), End: () => focusRow($("branches").lastChild),
		ArrowRight: () => isOpen ? focusRow(row.nextSibling) : openBranch(node),
		ArrowLeft: () => isOpen ? closeBranch(node) : focusRow(rowOf.get(N.parent[node])),
		Enter: () => zoomTo(node),
	}[event.key];
	if (!go || event.altKey || event.ctrlKey || event.metaKey)
		return;
	event.preventDefault();
	go();
}
function showView() {
	for (const view of ["functions", "tree"]) {
		const isOn = state.view === view, tab = $("tab-" + view);
		tab.setAttribute("aria-selected", isOn);
		tab.tabIndex = isOn ? 0 : -1;
		$(view).hidden = !isOn;
	}
	if (state.view === "tree" && !rowOf.size)
		openHotPath();
}
function pickView(view) {
	state.view = view;
	saveState(false);
	showView();
	$("tab-" + view).focus();
}

// ---- Header ----

function stateOf(className, name, weight, all, note) {
	if (!weight)
		return;
	const part = make("div", className), item = make("li"), swatch = make("span", "swatch " + className);
	part.style.flexGrow = weight;
	$("states").append(part);
	item.append(swatch, make("span", "", name), make("b", "", percent(weight / all)));
	if (note)
		item.append(make("span", "muted", note));
	$("legend").append(item);
}
function showHeader() {
	document.title = data.title + " – uniscope";
	$("title").textContent = data.title;
	for (const text of data.facts)
		$("facts").append(make("li", "", text));
	for (const text of data.warnings)
		$("warnings").append(make("li", "", text));
	$("warnings").hidden = !data.warnings.length;
	const ran = S.running + S.unfocused, all = ran + S.idle;
	stateOf("running", "running guest code", ran - S.exit - S.ready, all, `${count(ran - S.exit - S.ready)} samples`);
	stateOf("exit", "in the VMM for the guest", S.exit, all);
	stateOf("ready", "waiting for the host CPU", S.ready, all);
	stateOf("idle", "idle", S.idle, all, `95 %: ${range(S.idleLow, S.idleHigh)}, not in the graph`);
	$("time").hidden = !all;
	$("summary").textContent = data.summaryLine;
	if (data.leftOut)
		$("left-out").textContent = `The ${count(data.leftOut)} narrowest frames are left out of this page.`;
}

// ---- Events ----

function step(node, direction) {
	const level = levels[depth[node]], v = target();
	for (let i = level.indexOf(node) + direction; i >= 0 && i < level.length; i += direction) {
		if (endOf(level[i]) <= v.from || start[level[i]] >= v.to)
			return node;
		if (N.total[level[i]] * width / (v.to - v.from) >= MIN_WIDTH)
			return level[i];
	}
	return node;
}
function childInView(node) {
	// Above the zoom there is one way down: towards it.
	if (depth[node] < depth[state.zoom])
		return pathTo(state.zoom)[depth[node] + 1];
	return firstChild[node] || node;
}
function flameKey(event) {
	const outer = () => N.parent[selected] || 0, inner = () => childInView(selected);
	const go = { ArrowLeft: () => step(selected, -1), ArrowRight: () => step(selected, 1),
		ArrowUp: state.upward ? inner : outer, ArrowDown: state.upward ? outer : inner,
		Home: () => 0 }[event.key];
	if (event.altKey || event.ctrlKey || event.metaKey)
		return;
	if (go) {
		selected = go();
		say(selected);
		redraw();
		tipAtSelected();
	} else if (event.key === "Enter" || event.key === " ") {
		hideTip();
		zoomTo(selected);
	} else if (event.key === "Escape" || event.key === "Backspace") {
		hideTip();
		if (state.zoom)
			zoomTo(N.parent[state.zoom]);
	} else {
		return;
	}
	event.preventDefault();
}
function listenToFlame() {
	canvas.addEventListener("mousemove", (event) => {
		const node = nodeAt(event);
		if (node !== hovered)
			redraw();
		hovered = node;
		if (node < 0)
			hideTip();
		else
			showTip(node, event.clientX, event.clientY);
	});
	canvas.addEventListener("mouseleave", () => {
		hovered = -1;
		hideTip();
		redraw();
	});
	canvas.addEventListener("click", (event) => {
		const node = nodeAt(event);
		hideTip();
		if (node >= 0)
			zoomTo(node);
	});
	canvas.addEventListener("keydown", flameKey);
	canvas.addEventListener("focus", redraw);
	canvas.addEventListener("blur", () => {
		hideTip();
		redraw();
	});
	new ResizeObserver(() => $("flame").clientWidth !== width && show(false)).observe($("flame"));
}
function setDirection(upward) {
	state.upward = upward;
	$("icicle").setAttribute("aria-pressed", !upward);
	$("upward").setAttribute("aria-pressed", upward);
	saveState(false);
	show(false);
}
function listenToTools() {
	$("search").addEventListener("input", () => searchFor($("search").value));
	$("search").addEventListener("keydown", (event) => event.key === "Escape" && searchFor(""));
	$("icicle").addEventListener("click", () => setDirection(false));
	$("upward").addEventListener("click", () => setDirection(true));
	$("reset").addEventListener("click", () => state.zoom && zoomTo(0));
	$("theme").addEventListener("click", () => {
		state.theme = { "": "light", light: "dark", dark: "" }[state.theme];
		saveState(false);
		applyTheme();
		show(false);
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && event.target !== $("search")) {
			event.preventDefault();
			$("search").focus();
		}
	});
}
function listenToTables() {
	for (const th of document.querySelectorAll("th[data-sort]"))
		th.firstElementChild.addEventListener("click", () => sortBy(th.dataset.sort));
	$("more").addEventListener("click", () => {
		state.all = true;
		showRows();
	});
	$("branches").addEventListener("keydown", treeKey);
	$("branches").addEventListener("click", (event) => focusRow(event.target.closest("tr")));
	$("branches").addEventListener("dblclick", (event) =>
		zoomTo(Number(event.target.closest("tr").dataset.node)));
	for (const view of ["functions", "tree"]) {
		$("tab-" + view).addEventListener("click", () => pickView(view));
		$("tab-" + view).addEventListener("keydown", (event) => {
			if (event.key === "ArrowLeft" || event.key === "ArrowRight")
				pickView(view === "tree" ? "functions" : "tree");
		});
	}
}
function applyState() {
	readFragment();
	selected = state.zoom;
	$("search").value = state.search;
	$("icicle").setAttribute("aria-pressed", !state.upward);
	$("upward").setAttribute("aria-pressed", state.upward);
	applyTheme();
	show(false);
	search();
	showView();
}

showHeader();
showColours();
listenToFlame();
listenToTools();
listenToTables();
addEventListener("hashchange", applyState);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
	applyTheme();
	show(false);
});
applyState();
