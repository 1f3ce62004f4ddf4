// SPDX-License-Identifier: GPL-2.0-or-later
// One function: all its callers above, all that it calls below, wherever it stands.

// A tree that grows by paths; grown() gives it in the order that layOut() wants.
class Branches {
	constructor(func) {
		this.func = [func];
		this.parent = [0];
		this.total = [0];
		this.self = [0];
		this.of = new Map();
	}
	child(parent, func) {
		const key = parent * funcCount + func;
		let node = this.of.get(key);
		if (node === undefined) {
			node = this.func.push(func) - 1;
			this.parent.push(parent);
			this.total.push(0);
			this.self.push(0);
			this.of.set(key, node);
		}
		return node;
	}
	// Depth first, heavier children first.
	grown() {
		const n = this.func.length, children = Array.from({ length: n }, () => []), order = [], todo = [0];
		for (let i = 1; i < n; i++)
			children[this.parent[i]].push(i);
		while (todo.length) {
			const node = todo.pop();
			order.push(node);
			todo.push(...children[node].sort((a, b) => this.total[a] - this.total[b] || b - a));
		}
		const now = new Int32Array(n);
		order.forEach((old, i) => { now[old] = i; });
		const pick = (column) => order.map((old) => column[old]);
		return layOut({ func: pick(this.func), parent: order.map((old) => now[this.parent[old]]),
			total: pick(this.total), self: pick(this.self) });
	}
}
function calleesOf(func) {
	const tree = new Branches(func), at = new Int32Array(nodeCount).fill(-1);
	for (let i = 1; i < nodeCount; i++) {
		if (!shown.total[i])
			continue;
		if (at[N.parent[i]] >= 0)
			at[i] = tree.child(at[N.parent[i]], N.func[i]);
		else if (N.func[i] === func)
			at[i] = 0;
		if (at[i] < 0)
			continue;
		tree.total[at[i]] += shown.total[i];
		tree.self[at[i]] += shown.self[i];
	}
	return tree.grown();
}
function callersOf(func) {
	const tree = new Branches(func);
	for (let i = 1; i < nodeCount; i++) {
		if (N.func[i] !== func || !outermost[i] || !shown.total[i])
			continue;
		let at = 0;
		tree.total[0] += shown.total[i];
		for (let up = N.parent[i]; up; up = N.parent[up]) {
			at = tree.child(at, N.func[up]);
			tree.total[at] += shown.total[i];
		}
	}
	return tree.grown();
}

// words: what a share of the function is, at a frame.
function sandwichHalf(canvas, upward, words) {
	const funcOf = (node) => half.tree.func[node];
	const share = (node) => half.tree.total[0] ? half.tree.total[node] / half.tree.total[0] : 0;
	const half = new Flame(canvas, {
		skipRoot: upward,
		name: (node) => F.name[funcOf(node)],
		fill: (node) => fills[funcOf(node)],
		pick: (node) => node && showFunction(funcOf(node), "sandwich"),
		back: () => {},
		say: (node) => {
			tell(`${F.name[funcOf(node)]}: ${percent(share(node))} of ${F.name[funcOf(0)]} ${words}`);
		},
		tip: (node) => {
			const f = funcOf(node), list = make("dl");
			tipRow(list, words, percent(share(node)), "of " + F.name[funcOf(0)]);
			tipRow(list, "", percent(shareOf(half.tree.total[node])), "of all");
			functionRows(list, f);
			return [...tipTitle(f, F.line[f]), list];
		},
	});
	half.upward = upward;
	return half;
}
const callers = sandwichHalf($("callers"), true, "called from here");
const callees = sandwichHalf($("callees"), false, "goes here");

// The chosen function; without one, the hottest.
function chosenFunction() {
	const f = state.func ? funcId.indexOf(state.func) : -1;
	if (f >= 0)
		return f;
	let best = 0;
	for (let i = 1; i < funcCount; i++)
		if (shown.func.self[i] > shown.func.self[best])
			best = i;
	return best;
}
function showFunction(f, view) {
	state.func = funcId[f];
	state.view = view;
	saveState(true);
	showView();
	$("tab-" + view).scrollIntoView({ block: "nearest" });
}
function showSandwich() {
	const f = chosenFunction();
	if (!funcCount)
		return;
	$("sandwich-of").textContent = F.name[f];
	$("sandwich-share").textContent = `total ${percent(shareOf(shown.func.total[f]))}, self ${percent(shareOf(shown.func.self[f]))}`;
	for (const [half, tree, none] of [[callers, callersOf(f), "no-callers"], [callees, calleesOf(f), "no-callees"]]) {
		half.setTree(tree, 0, 0);
		half.show(false);
		$(none).hidden = tree.levels.length > 1;
	}
	callers.canvas.hidden = callers.tree.levels.length < 2;
}
