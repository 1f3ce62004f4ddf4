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
	return p.toFixed(p > 0 && p < 0.095 ? 2 : 1) + "\u202f%";
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
const DARK = [[35, 100, 22], [203, 66, 33], [164, 75, 21], [56, 70, 22], [219, 52, 40],
	[22, 80, 30], [327, 34, 38], [45, 14, 31]];
function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h ^ h >>> 15) >>> 0;
}
const isDark = () => state.theme ? state.theme === "dark" :
	matchMedia("(prefers-color-scheme: dark)").matches;
// The same file has the same colour in every recording; its functions differ a little.
function colourOf(path, name) {
	const of = hash(baseName(path)), tone = (of >>> 8) % 3 - 1, shade = hash(name) % 5 - 2;
	const [h, s, l] = (theme.dark ? DARK : LIGHT)[of % LIGHT.length];
	const lightness = l + tone * (theme.dark ? 2 : 5) + shade * (theme.dark ? 1 : 1.5);
	return `hsl(${h + tone * 9 + shade * 2} ${s}% ${lightness}%)`;
}
const homeOf = (f) => F.known[f] ? F.file[f] || F.module[f] || "" : "";
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
	fills = F.name.map((name, f) => homeOf(f) ? colourOf(homeOf(f), name) : theme.grey);
	for (const li of $("colours").querySelectorAll("[data-path]"))
		li.firstChild.style.background = colourOf(li.dataset.path, "");
}
function showColours() {
	const home = new Map();
	for (let f = 0; f < funcCount; f++) {
		if (homeOf(f))
			home.set(homeOf(f), (home.get(homeOf(f)) || 0) + F.self[f]);
	}
	const top = [...home].sort((a, b) => b[1] - a[1]).slice(0, 8);
	for (const [path] of top) {
		const li = make("li");
		li.dataset.path = path;
		li.append(make("span", "swatch"), make("span", "", baseName(path)));
		$("colours").append(li);
	}
	if (home.size > top.length)
		$("colours").append(make("li", "", `and ${home.size - top.length} more`));
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
	const ran = S.running + S.unfocused + S.otherPart, all = ran + S.idle;
	stateOf("running", "running guest code", ran - S.exit - S.ready, all, `${count(ran - S.exit - S.ready)} ${data.unit}`);
	stateOf("exit", "in the VMM for the guest", S.exit, all);
	stateOf("ready", "waiting for the host CPU", S.ready, all);
	stateOf("idle", "idle", S.idle, all, `95 %: ${range(S.idleLow, S.idleHigh)}, not in the graph`);
	$("time").hidden = !all || data.counted;
	$("width-of").textContent = data.counted ? data.unit : "time";
	for (const cell of document.querySelectorAll(".unit"))
		cell.textContent = data.unit[0].toUpperCase() + data.unit.slice(1);
	$("summary").textContent = data.summaryLine;
	if (data.leftOut)
		$("left-out").textContent = `The ${count(data.leftOut)} narrowest frames are left out of this page.`;
}
