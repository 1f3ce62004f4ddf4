// SPDX-License-Identifier: GPL-2.0-or-later
// Search for functions and files.

let matches = null; // by function; null: nothing is searched for

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
				weight += shown.total[i];
			}
		}
		const n = matches.filter(Boolean).length;
		$("matched").textContent = `${percent(shareOf(weight))} matched, ${count(n)} function${n === 1 ? "" : "s"}`;
	}
	flame.matches = matches;
	flame.redraw();
	showRows();
}
function searchFor(text) {
	$("search").value = state.search = text;
	saveState(false);
	search();
}
