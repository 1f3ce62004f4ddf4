// SPDX-License-Identifier: GPL-2.0-or-later
// The call tree as a table: rows are made when their parent opens.

const rowOf = new Map();
function branchRow(node, place, size) {
	const row = make("tr"), f = N.func[node], name = make("td", "name");
	const twist = make("span", "twist", flame.tree.firstChild[node] ? "▸" : "");
	row.tabIndex = -1;
	row.setAttribute("role", "row");
	row.setAttribute("aria-level", flame.tree.depth[node]);
	row.setAttribute("aria-posinset", place);
	row.setAttribute("aria-setsize", size);
	if (flame.tree.firstChild[node])
		row.setAttribute("aria-expanded", "false");
	twist.setAttribute("aria-hidden", "true");
	twist.addEventListener("click", () => toggle(node));
	name.style.setProperty("--depth", flame.tree.depth[node] - 1);
	name.append(twist, make("span", "", F.name[f]));
	row.append(make("td", "num", percent(shareOf(shown.total[node]))),
		make("td", "num", percent(shareOf(shown.self[node]))),
		make("td", "num", count(shown.total[node])), name,
		make("td", "file", placeOf(f, N.line[node] || F.line[f])));
	for (const cell of row.children)
		cell.setAttribute("role", "gridcell");
	row.dataset.node = node;
	rowOf.set(node, row);
	return row;
}
function childrenOf(node) {
	const list = [];
	for (let c = flame.tree.firstChild[node]; c; c = flame.tree.nextSibling[c])
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
	while (row.nextSibling && flame.tree.depth[row.nextSibling.dataset.node] > flame.tree.depth[node]) {
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
// The paths that are open, and opening them again.
function openPaths() {
	return new Set([...rowOf].filter(([, row]) => row.getAttribute("aria-expanded") === "true")
		.map(([node]) => pathId[node]));
}
function showTree(open) {
	const focused = document.activeElement.closest("#branches tr");
	const id = focused ? open.focused : 0;
	rowOf.clear();
	openBranch(0);
	for (let i = 1; i < nodeCount; i++)
		if (open.has(pathId[i]) && rowOf.has(i))
			openBranch(i);
	const row = rowOf.get(nodeOfPath(id)) || $("branches").firstChild;
	if (row)
		row.tabIndex = 0;
	if (id && row)
		row.focus();
}
// Open what is hot, so that the first look says something.
function openHotPath() {
	openBranch(0);
	let node = flame.tree.firstChild[0];
	while (node && flame.tree.depth[node] < 24 && shown.total[node] > 0.1 * shown.running) {
		openBranch(node);
		node = flame.tree.firstChild[node];
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
