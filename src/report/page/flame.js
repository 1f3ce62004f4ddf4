// SPDX-License-Identifier: GPL-2.0-or-later
// The canvas: frames, zoom, search, and a frame in words.

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
		const name = node ? F.name[f] : `all: ${count(S.running)} ${data.unit} that ran`;
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
		return `all, ${count(S.running)} ${data.unit}`;
	return `${F.name[f]}, ${placeOf(f, N.line[node] || F.line[f])}, total ${percent(total)}, ` +
		(data.counted ? `${count(N.calls[node])} calls, ` : `95 % interval ${range(N.low[node], N.high[node])}, `) +
		`self ${percent(shareOf(N.self[node]))}, ` +
		`${count(N.total[node])} ${data.unit}, depth ${depth[node]}`;
}
function say(node) {
	$("live").textContent = describe(node);
}
function tipRow(list, name, value, note) {
	list.append(make("dt", "", name), make("dd", "", value), make("dd", "", note));
}
function fillTip(node) {
	const f = N.func[node], list = make("dl");
	const title = make("div", "title", node ? F.name[f] : `all ${data.unit} that ran`);
	const place = [], file = node ? F.file[f] : "";
	if (file)
		place.push(file + (N.line[node] || F.line[f] ? ":" + (N.line[node] || F.line[f]) : ""));
	if (node && F.module[f])
		place.push(F.module[f]);
	if (node && F.inlined[f])
		place.push("inlined");
	tipRow(list, "here", percent(shareOf(N.total[node])),
		(data.counted ? "" : range(N.low[node], N.high[node]) + ", ") + `${count(N.total[node])} ${data.unit}`);
	tipRow(list, "self here", percent(shareOf(N.self[node])), `${count(N.self[node])} ${data.unit}`);
	if (node && data.counted) {
		tipRow(list, "calls here", count(N.calls[node]), "");
		tipRow(list, "function", percent(shareOf(F.total[f])), `total; ${count(F.calls[f])} calls`);
		tipRow(list, "", percent(shareOf(F.self[f])), "self");
	} else if (node) {
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
