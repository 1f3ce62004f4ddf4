// SPDX-License-Identifier: GPL-2.0-or-later
// What the user does, and the start of it all.

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
