// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a profile: what it shows, and the one way to give it something else.
//
// showProfile(next) takes a profile and renders it.  What the user has chosen stays:
// zoom, selected frame, sort, search, open branches, filters, tab, theme.  It may be called
// at any time and as often as one likes; a page that is served calls it for each
// profile that arrives.  The first one stands in the element "data" (null: there is none
// yet; {gzip: base64}: a large one); us_html_data() in report/html.h writes it.
//
// A profile has columns, for rows with names are three times as large:
//   title, facts [text], warnings [text], summaryLine, unit, counted, waiting, leftOut
//   summary  running, exit, ready, idle, unfocused, otherPart (weights), idleLow, idleHigh
//   func     name, file, module, line, known, inlined, self, total; calls if counted;
//            ring: bits, seen in the kernel 1, in programs 2, on the host 4;
//            sl, sh, tl, th: the intervals of self and total, as shares from 0 to 1
//   node     func, parent, line, self, total, low, high; calls if counted: the call tree,
//            parents before their children, heavier children first; node 0 is the root
//   time     if the profile was read with by_time: samples by time, of the recording in ns:
//            from, width (of a bucket), buckets, every (of so many samples one is here);
//            vcpu: numbers, or names where there are several guests; entries: of each so many, one after the other; and of entries
//            at: buckets since the one before, weight, what: (node * 5 + state) * 2 + 1 if
//            its innermost functions are left out.  State: enum us_vcpu_state
//   byProcess  the same, of a Linux guest whose processes are known, with these as the roots of stacks
//   waits    if tasks were looked at while they waited (record --tasks): a profile of these,
//            which is waiting: exit are those that are blocked (D), ready those without a CPU
//   code     if it is wanted: of some functions [name, module, start, self, blocks, newer,
//            noSource, lines {file, inlined, line, self, text}, code {at, line, self, text}]
//
// Names come from guests and files that nobody vouches for: they are only ever set as
// text, never as markup.
let data = null, F = null, N = null, S = null, nodeCount = 0, funcCount = 0;
// The weights that are shown: of nodes and functions, after the filters.
let shown = null;
// Numbers that are the same in the next profile: of each function, and of the path to each node.
let pathId = new Uint32Array(0), funcId = [];

function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h ^ h >>> 15) >>> 0;
}
function takeProfile(next) {
	data = next;
	F = data.func;
	N = data.node;
	S = data.summary;
	nodeCount = N.func.length;
	funcCount = F.name.length;
	funcId = F.name.map((name, f) => hash(name + "\n" + (F.file[f] || F.module[f] || "")));
	pathId = new Uint32Array(nodeCount);
	for (let i = 1; i < nodeCount; i++)
		pathId[i] = Math.imul(pathId[N.parent[i]] ^ funcId[N.func[i]], 2654435761) + 1;
}
// A large profile comes packed.
function unpack(base64) {
	const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
	const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Response(text).json();
}
// The node of this path, or the root.
const nodeOfPath = (id) => id ? Math.max(0, pathId.indexOf(id)) : 0;

// Each node's place, in units of weight, and who is beside it.  tree: func, parent, total.
function layOut(tree) {
	const n = tree.parent.length, filled = new Float64Array(n), last = new Int32Array(n);
	tree.start = new Float64Array(n);
	tree.depth = new Uint16Array(n);
	tree.firstChild = new Int32Array(n);
	tree.nextSibling = new Int32Array(n);
	tree.levels = [[0]]; // nodes of each depth, from left to right
	for (let i = 1; i < n; i++) {
		const p = tree.parent[i];
		if (!tree.total[i])
			continue;
		tree.start[i] = tree.start[p] + filled[p];
		filled[p] += tree.total[i];
		tree.depth[i] = tree.depth[p] + 1;
		(tree.levels[tree.depth[i]] ||= []).push(i);
		if (last[p])
			tree.nextSibling[last[p]] = i;
		else
			tree.firstChild[p] = i;
		last[p] = i;
	}
	// What only the second of two recordings has comes last, wherever it belongs.
	for (const level of tree.levels)
		level.sort((a, b) => tree.start[a] - tree.start[b]);
	return tree;
}
function pathTo(tree, node) {
	const path = [node];
	while (node) {
		node = tree.parent[node];
		path.push(node);
	}
	return path.reverse();
}
