// SPDX-License-Identifier: GPL-2.0-or-later
// Tools and tabs, what a new profile does to the page, and the start of it all.

const VIEWS = ["functions", "tree", "sandwich", "code", "heatmap"];

function showView() {
	if (data && ((state.view === "heatmap" && !T) || (state.view === "code" && !data.code?.length)))
		state.view = "functions";
	for (const view of VIEWS) {
		const isOn = state.view === view, tab = $("tab-" + view);
		tab.setAttribute("aria-selected", isOn);
		tab.tabIndex = isOn ? 0 : -1;
		$(view).hidden = !isOn;
	}
	$("tab-heatmap").hidden = !T;
	$("tab-code").hidden = $("to-code").hidden = !data?.code?.length;
	if (!data)
		return;
	if (state.view === "tree" && !rowOf.size)
		openHotPath();
	if (state.view === "sandwich")
		showSandwich();
	if (state.view === "code")
		showCode();
	if (state.view === "heatmap")
		drawHeat();
}
function pickView(view) {
	state.view = view;
	saveState(false);
	showView();
	$("tab-" + view).focus();
}
function listenToTabs() {
	VIEWS.forEach((view, i) => {
		$("tab-" + view).addEventListener("click", () => pickView(view));
		$("tab-" + view).addEventListener("keydown", (event) => {
			const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: -1 }[event.key];
			if (to === undefined)
				return;
			event.preventDefault();
			const there = VIEWS.filter((v) => !$("tab-" + v).hidden);
			pickView(there[(to + there.length) % there.length]);
		});
	});
}
function setDirection(upward) {
	state.upward = upward;
	saveState(false);
	showDirection();
	showFlame(false);
}
function showDirection() {
	flame.upward = state.upward;
	$("icicle").setAttribute("aria-pressed", !state.upward);
	$("upward").setAttribute("aria-pressed", state.upward);
}
function listenToTools() {
	$("search").addEventListener("input", () => searchFor($("search").value));
	$("search").addEventListener("keydown", (event) => event.key === "Escape" && searchFor(""));
	$("on-cpu").addEventListener("click", () => pickProfile(false));
	$("waiting").addEventListener("click", () => pickProfile(true));
	$("by-process").addEventListener("click", pickRoots);
	$("icicle").addEventListener("click", () => setDirection(false));
	$("upward").addEventListener("click", () => setDirection(true));
	$("reset").addEventListener("click", () => flame.zoom && zoomTo(0));
	$("to-sandwich").addEventListener("click", () => {
		showFunction(N.func[flame.selected], "sandwich");
		$("tab-sandwich").focus();
	});
	$("theme").addEventListener("click", () => {
		state.theme = { "": "light", light: "dark", dark: "" }[state.theme];
		saveState(false);
		themeChanged();
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && !event.target.closest("input, select")) {
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
}
function themeChanged() {
	applyTheme();
	if (!data)
		return;
	applyColours();
	showFlame(false);
	showTime();
	showView();
}

// The nearest caller that has some weight.
function inSight(node) {
	while (node && !shown.total[node])
		node = N.parent[node];
	return node;
}
// What is drawn of weights that have changed, the profile's or by a filter.  selected: a path.
function showWeights(selected) {
	const open = openPaths(), row = document.activeElement.closest("#branches tr");
	open.focused = row ? pathId[row.dataset.node] : 0;
	weigh();
	drawWeights(selected, open);
}
function drawWeights(selected, open) {
	flame.setTree(layOut({ func: N.func, parent: N.parent, total: shown.total }),
		inSight(nodeOfPath(state.zoom)), inSight(nodeOfPath(selected)));
	applyColours();
	showStates();
	showTime();
	tellFilters();
	showFlame(false);
	sayAgain();
	search();
	if (rowOf.size)
		showTree(open);
	showView();
}
function showProfile(next) {
	const selected = data ? pathId[flame.selected] : state.zoom, open = openPaths();
	const row = document.activeElement.closest("#branches tr");
	open.focused = row ? pathId[row.dataset.node] : 0;
	takeProfile(next);
	takeTime();
	findOutermost();
	makeGrid();
	weigh();
	showHeader();
	showFilters();
	drawWeights(selected, open);
}
// A page of a Linux guest may have other profiles: what tasks waited for, and what ran with
// the processes as the roots of stacks.
let onCpu = null;
// A page that asks for its profiles asks for one of these only if it is to be shown.
let canAskOwners = false, canAskWaits = false;
const thisProfile = () => state.waits && onCpu?.waits ? onCpu.waits
	: state.owners && onCpu?.byProcess ? onCpu.byProcess : onCpu;
function showOwners(isWaiting) {
	$("owners").hidden = !(onCpu?.byProcess || canAskOwners) || isWaiting;
	$("by-process").setAttribute("aria-pressed", Boolean(onCpu?.byProcess) && thisProfile() === onCpu.byProcess);
}
function showThisProfile() {
	const isWaiting = Boolean(onCpu?.waits) && thisProfile() === onCpu.waits;
	$("profiles").hidden = !(onCpu?.waits || canAskWaits);
	$("on-cpu").setAttribute("aria-pressed", !isWaiting);
	$("waiting").setAttribute("aria-pressed", isWaiting);
	showOwners(isWaiting);
	showProfile(thisProfile());
}
function pickProfile(waits) {
	state.waits = waits;
	saveState(true);
	showThisProfile();
}
function pickRoots() {
	state.owners = !state.owners;
	saveState(true);
	if (onCpu)
		showThisProfile();
}
function applyState() {
	readFragment();
	$("search").value = state.search;
	applyTheme();
	showDirection();
	if (!data)
		return;
	if ((onCpu?.waits || onCpu?.byProcess) && data !== thisProfile())
		showThisProfile();
	showFilters();
	showWeights(state.zoom);
}

listenToTools();
listenToTabs();
listenToTables();
listenToTime();
listenToFilters();
listenToHeat();
listenToCode();
listenToCopy();
addEventListener("hashchange", applyState);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
applyState();
// Resolved once the profile that the page came with is shown.
const ready = (async () => {
	let first = JSON.parse($("data").textContent);
	if (first?.gzip)
		first = await unpack(first.gzip);
	if (first) {
		onCpu = first;
		showThisProfile();
	}
})();
ready.catch((e) => { $("title").textContent = "The profile cannot be read: " + e.message; });
