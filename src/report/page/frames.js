// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph of the whole profile: its zoom, its path, and a frame in words.

const flame = new Flame($("canvas"), {
	name: (node) => node ? F.name[N.func[node]] : `all: ${count(shown.running)} ${data.unit} ${thatRan()}`,
	fill: (node) => nodeFills ? nodeFills[node] : fills[N.func[node]],
	pick: (node) => zoomTo(node),
	back: () => flame.zoom && zoomTo(N.parent[flame.zoom]),
	say: (node) => say(node),
	tip: (node) => frameTip(node),
});

function showCrumbs() {
	const path = flame.zoom ? pathTo(N, flame.zoom) : [];
	$("crumbs").replaceChildren();
	path.forEach((node, i) => {
		const button = make("button", "", nameOf(node));
		button.type = "button";
		if (node === flame.zoom)
			button.setAttribute("aria-current", "location");
		button.addEventListener("click", () => zoomTo(node));
		$("crumbs").append(...(i ? [make("span", "", "›")] : []), button);
	});
	$("reset").disabled = !flame.zoom;
}
function showFlame(isAnimated) {
	flame.show(isAnimated);
	showCrumbs();
	showPicked();
}
function zoomTo(node) {
	if (node === flame.zoom)
		node = flame.zoom ? N.parent[node] : 0;
	flame.zoom = flame.selected = node;
	state.zoom = pathId[node];
	saveState(true);
	showFlame(true);
	say(node);
}

// ---- What a frame is, in words ----

function describe(node) {
	const total = shareOf(shown.total[node]), f = N.func[node];
	if (!node)
		return `all, ${count(shown.running)} ${data.unit}`;
	return `${F.name[f]}, ${placeOf(f, N.line[node] || F.line[f])}, total ${percent(total)}, ` +
		(data.counted ? `${count(N.calls[node])} calls, ` : `95 % interval ${range(...shown.ofNode(node))}, `) +
		`self ${percent(shareOf(shown.self[node]))}, ` +
		`${count(shown.total[node])} ${data.unit}, depth ${flame.tree.depth[node]}`;
}
let said = "";
function say(node, isQuiet) {
	said = describe(node);
	tell(said, isQuiet);
	showPicked();
}
// The figures of the frame that was described last, if other words have not come since.
// Quiet, because a live page has new ones each second.
function sayAgain() {
	if (said && $("live").textContent === said)
		say(flame.selected, true);
}
// What can be asked about the selected frame.
function showPicked() {
	$("picked").hidden = !flame.selected;
	$("picked-name").textContent = nameOf(flame.selected);
}
function functionRows(list, f) {
	const v = shown.func;
	const total = data.counted ? `total; ${count(F.calls[f])} calls` : `total; ${range(...shown.ofTotal(f))}`;
	tipRow(list, "function", percent(shareOf(v.total[f])), total);
	tipRow(list, "", percent(shareOf(v.self[f])), data.counted ? "self" : `self; ${range(...shown.ofSelf(f))}`);
}
function tipTitle(f, line) {
	const place = [], file = F.file[f] || "";
	if (file)
		place.push(file + (line ? ":" + line : ""));
	if (F.module[f])
		place.push(F.module[f]);
	if (F.inlined[f])
		place.push("inlined");
	return [make("div", "title", F.name[f]), make("div", "place", place.join(" · "))];
}
function frameTip(node) {
	const f = N.func[node], list = make("dl");
	const title = node ? tipTitle(f, N.line[node] || F.line[f]) : [make("div", "title", `all ${data.unit} ${thatRan()}`)];
	tipRow(list, "here", percent(shareOf(shown.total[node])),
		(data.counted ? "" : range(...shown.ofNode(node)) + ", ") + `${count(shown.total[node])} ${data.unit}`);
	tipRow(list, "self here", percent(shareOf(shown.self[node])), `${count(shown.self[node])} ${data.unit}`);
	if (node && data.counted)
		tipRow(list, "calls here", count(N.calls[node]), "");
	if (node)
		functionRows(list, f);
	return [...title, list];
}
