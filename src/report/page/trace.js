// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a trace.  Names come from guests and files that nobody vouches for: they
// are only ever set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const F = data.func, CPUS = data.cpus, BINS = data.bins, SHOWN = data.shown;
const canvas = $("canvas"), context = canvas.getContext("2d");
const ROW = 96, GAP = 26, MIN_BINS = 8, FEW_ROWS = 60;
const on = new Array(SHOWN.length).fill(true);
const view = { from: 0, to: BINS, drag: -1, at: -1, sort: "self", descending: true,
	search: "", all: false, theme: "" };

// ---- Small helpers ----

function time(ns) {
	const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
	for (const [size, unit] of units)
		if (ns >= size)
			return (ns / size).toPrecision(4) + "\u202f" + unit;
	return Math.round(ns) + "\u202fns";
}
const nameOf = (k) => SHOWN[k] < 0 ? "all others" : F.name[SHOWN[k]];
const isDark = () => view.theme ? view.theme === "dark" :
	matchMedia("(prefers-color-scheme: dark)").matches;
const HUES = [203, 38, 160, 325, 22, 54, 219, 280];
function colour(k) {
	if (SHOWN[k] < 0)
		return isDark() ? "hsl(210 8% 45%)" : "hsl(210 8% 66%)";
	const turn = Math.floor(k / HUES.length);
	const light = isDark() ? 58 - 12 * turn : 48 + 13 * turn;
	return `hsl(${HUES[k % HUES.length]} 65% ${light}%)`;
}

// ---- Which functions, and their bars ----

function drawChoice() {
	$("choice").replaceChildren(...SHOWN.map((_, k) => {
		const item = make("li"), button = make("button");
		const swatch = make("span", "swatch");
		swatch.style.background = colour(k);
		button.type = "button";
		button.setAttribute("aria-pressed", String(on[k]));
		button.append(swatch, make("span", "", nameOf(k)));
		button.addEventListener("click", () => {
			on[k] = !on[k];
			button.setAttribute("aria-pressed", String(on[k]));
			drawBars();
			drawLines();
		});
		item.append(button);
		return item;
	}));
}
function drawBars() {
	const sums = CPUS.map((c) => c.self.reduce((sum, ns, k) => sum + (on[k] ? ns : 0), 0));
	const most = Math.max(...sums, 1);
	const text = [];
	$("bars").replaceChildren(...CPUS.map((c, i) => {
		const row = make("div", "cpu"), bar = make("div", "bar");
		c.self.forEach((ns, k) => {
			if (!on[k] || !ns)
				return;
			const part = make("div");
			part.style.width = 100 * ns / most + "%";
			part.style.background = colour(k);
			part.addEventListener("mousemove", (e) => tip(e, nameOf(k),
				`${time(ns)} of ${time(data.ns)} on vCPU ${c.vcpu}`));
			part.addEventListener("mouseleave", hideTip);
			bar.append(part);
		});
		row.append(make("span", "", "vCPU " + c.vcpu), bar, make("span", "num", time(sums[i])));
		text.push(`vCPU ${c.vcpu}: ${time(sums[i])}`);
		return row;
	}));
	$("bars").setAttribute("aria-label", "Time in functions: " + text.join(", "));
}

// ---- Timeline ----

const binAt = (x) => view.from + x / canvas.clientWidth * (view.to - view.from);
function drawLines() {
	const width = canvas.clientWidth, height = CPUS.length * (ROW + GAP);
	const scale = window.devicePixelRatio || 1;
	canvas.style.height = height + "px";
	canvas.width = width * scale;
	canvas.height = height * scale;
	context.setTransform(scale, 0, 0, scale, 0, 0);
	const style = getComputedStyle(document.documentElement);
	context.font = "12px system-ui, sans-serif";
	CPUS.forEach((c, i) => drawRow(c, i * (ROW + GAP) + GAP, width, style));
	if (view.drag >= 0 && view.at >= 0) {
		const x = (b) => (b - view.from) / (view.to - view.from) * width;
		context.globalAlpha = 0.25;
		context.fillStyle = style.getPropertyValue("--accent");
		context.fillRect(Math.min(x(view.drag), x(view.at)), 0,
			Math.abs(x(view.at) - x(view.drag)), height);
		context.globalAlpha = 1;
	}
	$("span").textContent = time(view.from * data.binNs) + " to " +
		time(Math.min(view.to * data.binNs, data.ns)) + " of " + time(data.ns);
	$("in").disabled = view.to - view.from <= MIN_BINS;
	$("out").disabled = $("reset").disabled = view.from === 0 && view.to === BINS;
}
function drawRow(c, top, width, style) {
	context.fillStyle = style.getPropertyValue("--muted");
	context.fillText("vCPU " + c.vcpu, 2, top - 8);
	context.fillStyle = style.getPropertyValue("--panel");
	context.fillRect(0, top, width, ROW);
	const n = view.to - view.from, filled = new Float64Array(BINS);
	c.time.forEach((bins, k) => {
		if (!on[k])
			return;
		context.fillStyle = colour(k);
		for (let b = Math.floor(view.from); b < view.to; b++) {
			const share = bins[b] / 1000;
			if (!share)
				continue;
			const x = (b - view.from) / n * width, h = share * ROW;
			context.fillRect(x, top + ROW - filled[b] - h, Math.max(width / n, 1), h);
			filled[b] += h;
		}
	});
}
function zoom(from, to) {
	const n = Math.min(Math.max(to - from, MIN_BINS), BINS);
	const begin = Math.min(Math.max(from, 0), BINS - n);
	view.from = begin;
	view.to = begin + n;
	drawLines();
	$("live").textContent = $("span").textContent;
}
function zoomBy(factor) {
	const mid = (view.from + view.to) / 2, half = (view.to - view.from) / 2 * factor;
	zoom(mid - half, mid + half);
}
function describe(e) {
	const box = canvas.getBoundingClientRect();
	const bin = Math.floor(binAt(e.clientX - box.left));
	const cpu = CPUS[Math.floor((e.clientY - box.top) / (ROW + GAP))];
	if (!cpu || bin < 0 || bin >= BINS)
		return hideTip();
	const parts = cpu.time.map((bins, k) => [bins[bin], k]).filter(([v, k]) => v && on[k]);
	parts.sort((a, b) => b[0] - a[0]);
	tip(e, `vCPU ${cpu.vcpu}, ${time(bin * data.binNs)}`,
		...parts.slice(0, 8).map(([v, k]) => `${(v / 10).toFixed(1)}\u202f%  ${nameOf(k)}`));
}
canvas.addEventListener("pointerdown", (e) => {
	view.drag = binAt(e.offsetX);
	canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener("pointermove", (e) => {
	view.at = binAt(e.offsetX);
	if (view.drag >= 0)
		drawLines();
	describe(e);
});
canvas.addEventListener("pointerup", (e) => {
	const from = view.drag, to = binAt(e.offsetX);
	view.drag = -1;
	if (from >= 0 && Math.abs(to - from) > (view.to - view.from) / 100)
		zoom(Math.min(from, to), Math.max(from, to));
	else
		drawLines();
});
canvas.addEventListener("pointerleave", () => { view.at = -1; hideTip(); });
canvas.addEventListener("keydown", (e) => {
	const n = view.to - view.from;
	const does = { ArrowLeft: () => zoom(view.from - n / 4, view.to - n / 4),
		ArrowRight: () => zoom(view.from + n / 4, view.to + n / 4),
		"+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2),
		Escape: () => zoom(0, BINS), Home: () => zoom(0, n), End: () => zoom(BINS - n, BINS) };
	if (!does[e.key])
		return;
	e.preventDefault();
	does[e.key]();
});

// ---- Tip ----

function tip(e, title, ...lines) {
	const box = $("tip");
	box.replaceChildren(make("div", "title", title), ...lines.map((l) => make("div", "", l)));
	box.hidden = false;
	box.style.left = Math.min(e.clientX + 14, innerWidth - box.offsetWidth - 8) + "px";
	box.style.top = Math.min(e.clientY + 14, innerHeight - box.offsetHeight - 8) + "px";
}
function hideTip() {
	$("tip").hidden = true;
}

// ---- Table ----

const keys = { self: (f) => F.self[f], total: (f) => F.total[f], calls: (f) => F.calls[f],
	mean: (f) => F.mean[f], max: (f) => F.max[f],
	name: (f) => F.name[f] };
function drawTable() {
	const key = keys[view.sort], sign = view.descending ? -1 : 1;
	const search = view.search.toLowerCase();
	const rows = F.name.map((_, f) => f).filter((f) => F.name[f].toLowerCase().includes(search));
	rows.sort((a, b) => {
		const x = key(a), y = key(b);
		return x < y ? -sign : x > y ? sign : a - b;
	});
	const few = view.all ? rows : rows.slice(0, FEW_ROWS);
	$("rows").replaceChildren(...few.map((f) => {
		const row = make("tr");
		for (const ns of [F.self[f], F.total[f]])
			row.append(make("td", "num", time(ns)));
		row.append(make("td", "num", count(F.calls[f])), make("td", "num", time(keys.mean(f))),
			make("td", "num", time(F.max[f])), make("td", "name", F.name[f]));
		return row;
	}));
	$("more").hidden = few.length === rows.length;
	$("more").textContent = "Show all " + count(rows.length);
	$("matched").textContent = search ? count(rows.length) + " functions" : "";
	for (const th of document.querySelectorAll("th[data-sort]"))
		if (th.dataset.sort === view.sort)
			th.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
		else
			th.removeAttribute("aria-sort");
}
for (const th of document.querySelectorAll("th[data-sort]"))
	th.firstElementChild.addEventListener("click", () => {
		const key = th.dataset.sort;
		view.descending = view.sort === key ? !view.descending : key !== "name";
		view.sort = key;
		drawTable();
	});

// ---- The rest ----

function setAll(value) {
	on.fill(value);
	drawAll();
}
function drawAll() {
	drawChoice();
	drawBars();
	drawLines();
}
$("all").addEventListener("click", () => setAll(true));
$("none").addEventListener("click", () => setAll(false));
$("in").addEventListener("click", () => zoomBy(0.5));
$("out").addEventListener("click", () => zoomBy(2));
$("reset").addEventListener("click", () => zoom(0, BINS));
$("more").addEventListener("click", () => { view.all = true; drawTable(); });
$("search").addEventListener("input", (e) => { view.search = e.target.value; drawTable(); });
$("theme").addEventListener("click", () => {
	view.theme = { "": "light", light: "dark", dark: "" }[view.theme];
	if (view.theme)
		document.documentElement.dataset.theme = view.theme;
	else
		delete document.documentElement.dataset.theme;
	$("theme").textContent = "Theme: " + (view.theme || "auto");
	drawAll();
});
addEventListener("resize", drawLines);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
$("title").textContent = data.title;
document.title = data.title + " - uniscope";
$("facts").replaceChildren(...data.facts.map((t) => make("li", "", t)));
$("warnings").replaceChildren(...data.warnings.map((t) => make("li", "", t)));
$("summary").textContent = data.summaryLine;
drawAll();
drawTable();
