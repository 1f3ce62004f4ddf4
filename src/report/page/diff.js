// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a difference: two call trees as one, each path with what it had before and
// after, and the table of functions.  Names come from guests and files that nobody vouches
// for: they are only ever set as text, never as markup.

const state = { side: "after", zoom: 0, search: "", sort: "change", descending: true, theme: "", all: false };
const FEW_ROWS = 40, FULL = 0.1; // a difference of so much of all has the full colour
let D = null, R = null, P = null, changes = null;

// ---- Figures ----

const isShare = () => data.unit === "%";
function figure(value, sign) {
	const digits = isShare() ? 1 : data.exact && data.unit !== "times" ? 0 : 3;
	const text = (isShare() ? 100 * value : value).toFixed(digits).replace("-", "−");
	return (sign && value > 0 ? "+" : "") + (digits ? text : count(Math.round(value)).replace("-", "−"));
}
const unit = () => isShare() ? "\u202f%" : "";
const limits = (low, high) => data.exact ? "" : `${figure(low, true)} to ${figure(high, true)}`;

// ---- Colours: how much of all it has more or less; grey: no more than chance ----

function changeColour(diff, all) {
	if (!diff)
		return theme.grey;
	const t = Math.min(1, Math.sqrt(Math.abs(diff) / (all * FULL || 1)));
	const hue = diff > 0 ? 24 : 211;
	return theme.dark ? `hsl(${hue} ${30 + 45 * t}% ${24 + 6 * t}%)` : `hsl(${hue} ${40 + 45 * t}% ${88 - 18 * t}%)`;
}
function themeColours() {
	const css = getComputedStyle(document.documentElement), get = (name) => css.getPropertyValue(name).trim();
	const dark = state.theme ? state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	return { dark, text: dark ? "#f3f6f9" : "#1a1f26", panel: get("--panel"), muted: get("--muted"), accent: get("--accent"),
		mono: get("--mono"), grey: dark ? "#3a434e" : "#d9dee4", root: dark ? "#2a323c" : "#e8ecf0" };
}
let theme = null, fills = [];
function applyTheme() {
	if (state.theme)
		document.documentElement.dataset.theme = state.theme;
	else
		delete document.documentElement.dataset.theme;
	$("theme").textContent = "Theme: " + (state.theme || "auto");
	theme = themeColours();
	if (!data)
		return;
	const all = Math.max(P.before[0], P.after[0]);
	fills = P.name.map((_, i) => changeColour(P.changed[i] ? P.after[i] - P.before[i] : 0, all));
	$("colours").replaceChildren(...[[1, "has more after"], [-1, "has less after"], [0, "no more than chance"]].map(([sign, words]) => {
		const item = make("li"), swatch = make("span", "swatch");
		swatch.style.background = changeColour(sign * all, all);
		item.append(swatch, make("span", "", words));
		return item;
	}));
}

// ---- Flame graph ----

const pathName = (node) => node ? P.name[node] : "all";
const flame = new Flame($("canvas"), {
	name: (node) => node ? P.name[node] : `all, ${state.side}`,
	fill: (node) => fills[node],
	pick: (node) => zoomTo(node),
	back: () => flame.zoom && zoomTo(P.parent[flame.zoom]),
	say: (node) => say(node),
	tip: (node) => pathTip(node),
});
const tellChange = (changed) => changed ? "" : data.exact ? "the same" : "no more than chance";
function say(node) {
	const diff = P.after[node] - P.before[node];
	$("live").textContent = `${pathName(node)}, before ${figure(P.before[node])}${unit()}, after ${figure(P.after[node])}${unit()}, ` +
		`difference ${figure(diff, true)} ${tellChange(P.changed[node])}`;
}
function pathTip(node) {
	const list = make("dl"), diff = P.after[node] - P.before[node];
	tipRow(list, "before", figure(P.before[node]) + unit(), "with callees");
	tipRow(list, "after", figure(P.after[node]) + unit(), "");
	tipRow(list, "difference", figure(diff, true), limits(P.low[node], P.high[node]));
	return [make("div", "title", pathName(node)), make("div", "place", tellChange(P.changed[node])), list];
}
function inSight(node) {
	while (node && !P[state.side][node])
		node = P.parent[node];
	return node;
}
function showSide() {
	for (const side of ["before", "after"])
		$(side).setAttribute("aria-pressed", side === state.side);
	$("width-of").textContent = state.side;
	flame.setTree(layOut({ func: P.name.map((_, i) => i), parent: P.parent, total: P[state.side] }),
		inSight(state.zoom), inSight(flame.selected));
	showFlame(false);
}
function setSide(side) {
	state.side = side;
	saveState(false);
	showSide();
	$("live").textContent = "widths are of " + side;
}
function showFlame(isAnimated) {
	const path = flame.zoom ? pathTo(P, flame.zoom) : [];
	flame.show(isAnimated);
	$("crumbs").replaceChildren(...path.flatMap((node, i) => {
		const button = make("button", "", pathName(node));
		button.type = "button";
		if (node === flame.zoom)
			button.setAttribute("aria-current", "location");
		button.addEventListener("click", () => zoomTo(node));
		return i ? [make("span", "", "›"), button] : [button];
	}));
	$("reset").disabled = !flame.zoom;
}
function zoomTo(node) {
	if (node === flame.zoom)
		node = flame.zoom ? P.parent[node] : 0;
	flame.zoom = flame.selected = state.zoom = node;
	saveState(true);
	showFlame(true);
	say(node);
}

// ---- Table ----

const keys = {
	change: (r) => R.changed[r] * 1e9 + Math.abs(R.after[r] - R.before[r]),
	before: (r) => R.before[r], after: (r) => R.after[r], diff: (r) => R.after[r] - R.before[r],
	name: (r) => R.name[r].toLowerCase(), file: (r) => placeOfRow(r).toLowerCase() || "\uffff",
};
const isText = (key) => key === "name" || key === "file";
const placeOfRow = (r) => R.file[r] ? baseName(R.file[r]) + (R.line[r] ? ":" + R.line[r] : "") : R.module[r] || "";
function rowOf(r) {
	const diff = R.after[r] - R.before[r], row = make("tr", R.changed[r] ? "" : "same"), button = make("button", "", R.name[r]);
	const difference = make("td", "num", figure(diff, true)), name = make("td", "name");
	button.type = "button";
	button.dataset.key = R.name[r];
	button.title = "Show in the flame graph";
	button.addEventListener("click", () => searchFor(R.name[r]));
	name.append(button);
	if (R.changed[r])
		difference.prepend(make("span", "swatch " + (diff > 0 ? "grew" : "shrank")));
	row.append(make("td", "num", R.was[r] ? figure(R.before[r]) + unit() : "–"), make("td", "num", R.is[r] ? figure(R.after[r]) + unit() : "–"),
		difference, make("td", "limits", limits(R.low[r], R.high[r])), name, make("td", "file", placeOfRow(r)));
	return row;
}
function sortedRows() {
	const key = keys[state.sort], is = state.search.trim() ? matcher(state.search.trim()) : () => true;
	const list = Array.from(R.name.keys()).filter((r) => is(R.name[r]) || is(R.file[r] || ""));
	return list.sort((a, b) => {
		const x = key(a), y = key(b), c = x < y ? -1 : x > y ? 1 : 0;
		return (state.descending ? -c : c) || a - b;
	});
}
function showRows() {
	const list = sortedRows(), n = state.all ? list.length : Math.min(FEW_ROWS, list.length);
	replaceRows($("rows"), list.slice(0, n).map(rowOf));
	$("more").hidden = n === list.length;
	$("more").textContent = `Show all ${count(list.length)} functions`;
	$("matched").textContent = state.search.trim() ? `${count(list.length)} function${list.length === 1 ? "" : "s"}` : "";
	for (const th of document.querySelectorAll("th[data-sort]"))
		if (th.dataset.sort === state.sort)
			th.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
		else
			th.removeAttribute("aria-sort");
}
function searchFor(text) {
	$("search").value = state.search = text;
	saveState(false);
	const is = text.trim() ? matcher(text.trim()) : null;
	flame.matches = is && P.name.map((name) => Boolean(name) && is(name));
	flame.redraw();
	showRows();
}

// ---- State and the start ----

function readFragment() {
	const q = new URLSearchParams(location.hash.slice(1)), zoom = Number(q.get("zoom"));
	state.side = q.get("side") === "before" ? "before" : "after";
	state.search = q.get("search") || "";
	state.sort = Object.hasOwn(keys, q.get("sort") || "") ? q.get("sort") : "change";
	state.descending = q.get("order") ? q.get("order") === "down" : !isText(state.sort);
	state.theme = ["light", "dark"].includes(q.get("theme")) ? q.get("theme") : "";
	state.zoom = Number.isInteger(zoom) && zoom > 0 && zoom < P.name.length ? zoom : 0;
}
function saveState(isStep) {
	const q = new URLSearchParams(), none = { zoom: 0, side: "after", search: "", sort: "change", theme: "" };
	for (const key of Object.keys(none))
		if (state[key] !== none[key])
			q.set(key, state[key]);
	if (state.descending === isText(state.sort))
		q.set("order", state.descending ? "down" : "up");
	if ("#" + q !== (location.hash || "#"))
		history[isStep ? "pushState" : "replaceState"](null, "", "#" + q);
}
function applyState() {
	readFragment();
	flame.selected = state.zoom;
	applyTheme();
	showSide();
	searchFor(state.search);
}
function asText() {
	const lines = [data.title, ...(data.filters ? [data.filters] : []), ...data.before.map((t) => "before: " + t), ...data.after.map((t) => "after: " + t)];
	const cells = sortedRows().map((r) => [R.was[r] ? figure(R.before[r]) + unit() : "-", R.is[r] ? figure(R.after[r]) + unit() : "-",
		figure(R.after[r] - R.before[r], true), limits(R.low[r], R.high[r]), tellChange(R.changed[r]) || "changed", R.name[r]]);
	const widths = [0, 1, 2, 3, 4].map((i) => Math.max(...cells.map((row) => row[i].length), 0));
	return [...lines.map((l) => "# " + l), "", ...cells.map((row) => row.map((t, i) => i < 4 ? t.padStart(widths[i]) :
		i === 4 ? t.padEnd(widths[i]) : t).join("  ")), "", data.says].join("\n").replaceAll("\u202f", " ") + "\n";
}
function listen() {
	$("before").addEventListener("click", () => setSide("before"));
	$("after").addEventListener("click", () => setSide("after"));
	$("reset").addEventListener("click", () => flame.zoom && zoomTo(0));
	$("search").addEventListener("input", () => searchFor($("search").value));
	$("search").addEventListener("keydown", (event) => event.key === "Escape" && searchFor(""));
	$("copy").addEventListener("click", () => copyText());
	$("more").addEventListener("click", () => {
		state.all = true;
		showRows();
	});
	$("theme").addEventListener("click", () => {
		state.theme = { "": "light", light: "dark", dark: "" }[state.theme];
		saveState(false);
		applyTheme();
		showFlame(false);
	});
	for (const th of document.querySelectorAll("th[data-sort]"))
		th.firstElementChild.addEventListener("click", () => {
			const key = th.dataset.sort;
			state.descending = state.sort === key ? !state.descending : !isText(key);
			state.sort = key;
			saveState(false);
			showRows();
		});
	document.addEventListener("keydown", (event) => {
		if (event.target.closest("input") || event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key === "/") {
			event.preventDefault();
			$("search").focus();
		} else if (event.key === "s" || event.key === "S") {
			setSide(state.side === "after" ? "before" : "after");
		}
	});
	addEventListener("hashchange", applyState);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		applyTheme();
		showFlame(false);
	});
}
data = JSON.parse($("data").textContent);
R = data.row;
P = data.node;
document.title = data.title + ", before and after – uniscope";
$("title").textContent = data.title + ", before and after";
$("says").textContent = data.says;
$("was").replaceChildren(...data.before.map((t) => make("li", "", t)));
$("is").replaceChildren(...data.after.map((t) => make("li", "", t)));
$("of").textContent = data.of + (data.total ? "; callees are counted in" : "; self, without callees") + (data.filters ? "; " + data.filters : "");
listen();
applyState();
