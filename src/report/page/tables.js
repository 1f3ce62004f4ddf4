// SPDX-License-Identifier: GPL-2.0-or-later
// Tables of functions and of the call tree.

// ---- Table of functions ----

const keys = {
	self: (f) => F.self[f], total: (f) => F.total[f],
	samples: (f) => byTotal() ? F.total[f] : F.self[f],
	interval: (f) => data.counted ? F.calls[f] : byTotal() ? F.th[f] - F.tl[f] : F.sh[f] - F.sl[f],
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
		make("td", "num samples", count(weight)),
		data.counted ? make("td", "num calls", count(F.calls[f])) : rangeCell(low, high, shareOf(weight), most),
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
	$("interval-of").textContent = data.counted ? "Calls" : byTotal() ? "95 % of total" : "95 % of self";
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
