// SPDX-License-Identifier: GPL-2.0-or-later
// The page as text, for a message or a file, and on paper.

const LEAST_SHOWN = 0.005; // of a tree as text

const plain = (text) => text.replaceAll("\u202f", " ").trim();
function headerText() {
	const lines = [data.title, ...data.facts];
	if (state.time)
		lines.push("time " + $("span").textContent);
	for (const field of ["vcpus", "states", "focus", "ignore"])
		if (state[field])
			lines.push(`${field}: ${state[field]}`);
	if (!shown.isWhole)
		lines.push($("filtered").textContent);
	return lines.map((line) => "# " + plain(line));
}
// Columns of a table as wide as their widest cell, the last one as it is.
function tableText(table) {
	const cellText = (cell) => plain(cell.querySelector(".range > span")?.textContent ||
		cell.querySelector("button:not(.more)")?.textContent || cell.textContent);
	const rows = Array.from(table.rows, (row) => Array.from(row.cells, cellText));
	const whole = rows.filter((row) => row.length > 1);
	const widths = rows[0].map((_, i) => Math.max(...whole.map((row) => (row[i] || "").length)));
	return rows.map((row) => row.length < 2 ? row.join() : row.map((text, i) => table.rows[0].cells[i].classList.contains("num") ?
		text.padStart(widths[i]) : i + 1 < row.length ? text.padEnd(widths[i]) : text).join("  ").trimEnd());
}
function branchText(tree) {
	const lines = [], todo = [0];
	while (todo.length) {
		const node = todo.pop(), share = tree.total[0] ? tree.total[node] / tree.total[0] : 0, below = [];
		if (share < LEAST_SHOWN)
			continue;
		lines.push(plain(percent(share)).padStart(8) + "  " + "  ".repeat(tree.depth[node]) + F.name[tree.func[node]]);
		for (let c = tree.firstChild[node]; c; c = tree.nextSibling[c])
			below.push(c);
		todo.push(...below.reverse());
	}
	return lines;
}
const viewText = {
	functions: () => tableText($("functions").querySelector("table")),
	tree: () => tableText($("tree").querySelector("table")),
	sandwich: () => [`${$("sandwich-of").textContent}: ${plain($("sandwich-share").textContent)}`, "", "called from:",
		...branchText(callers.tree), "", "calls:", ...branchText(callees.tree)],
	code: () => [$("code-of").textContent, plain($("code-notes").textContent), "", ...tableText($("code-rows"))],
	heatmap: () => tableText($("functions").querySelector("table")),
};
const asText = () => [...headerText(), "", ...viewText[state.view]()].join("\n") + "\n";

function listenToCopy() {
	$("copy").addEventListener("click", copyText);
	$("print").addEventListener("click", () => print());
	// Paper is light.
	addEventListener("beforeprint", () => {
		redrawFor("light");
	});
	addEventListener("afterprint", () => redrawFor(state.theme));
}
function redrawFor(wanted) {
	const kept = state.theme;
	state.theme = wanted;
	themeChanged();
	state.theme = kept;
	if (wanted === kept)
		applyTheme();
}
