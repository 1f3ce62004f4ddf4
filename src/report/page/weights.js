// SPDX-License-Identifier: GPL-2.0-or-later
// The weights that are shown, by what the filters let through: of all nodes and functions
// together, and of what the vCPUs did.

const GUEST = 0, EXIT = 1, HALTED = 2, READY = 3, OFF = 4, N_STATE = 5;
const STATES = [["guest", GUEST, "running", "running guest code"], ["exit", EXIT, "exit", "in the VMM for the guest"],
	["ready", READY, "ready", "waiting for the host CPU"], ["idle", HALTED, "idle", "idle"]];
// The same of tasks that wait.
const WAIT_STATES = [["guest", GUEST, "running", "sleeping (S)"], ["exit", EXIT, "exit", "blocked (D)"],
	["ready", READY, "ready", "ready (R), without a CPU"]];
const thatRan = () => data.waiting ? "of tasks that waited" : "that ran";
let T = null; // the samples by time, in columns that are not differences any more; null: none
let outermost = null; // by node: no caller is the same function

function takeTime() {
	const t = data.time;
	T = null;
	if (!t || !t.at.length)
		return;
	const n = t.at.length;
	T = { from: t.from, width: t.width, buckets: t.buckets, every: t.every, vcpus: t.vcpu.map((v) => String(v).replaceAll(",", " ")), n,
		bucket: new Uint16Array(n), cpu: new Uint16Array(n), node: new Uint32Array(n),
		state: new Uint8Array(n), leftOut: new Uint8Array(n), weight: Float64Array.from(t.weight) };
	let i = 0;
	t.entries.forEach((entries, cpu) => {
		for (let bucket = 0, end = i + entries; i < end; i++) {
			bucket += t.at[i];
			T.bucket[i] = bucket;
			T.cpu[i] = cpu;
			T.leftOut[i] = t.what[i] % 2;
			T.state[i] = Math.floor(t.what[i] / 2) % N_STATE;
			T.node[i] = Math.floor(t.what[i] / 2 / N_STATE);
		}
	});
}
function findOutermost() {
	outermost = new Uint8Array(nodeCount);
	for (let i = 1; i < nodeCount; i++) {
		let up = N.parent[i];
		while (up && N.func[up] !== N.func[i])
			up = N.parent[up];
		outermost[i] = !up;
	}
}

// ---- Filters ----

// "vCPU 0"; of several guests they have names.
const vcpuName = (vcpu) => /^\d+$/.test(vcpu) ? "vCPU\u202f" + vcpu : vcpu;
const bucketTime = (bucket) => T.from + bucket * T.width;
// The buckets of the time that is chosen: [from, to).
function chosenBuckets() {
	if (!T || !state.time)
		return [0, T ? T.buckets : 0];
	const [from, to] = state.time.split("-").map((s) => (Number(s) * 1e9 - T.from) / T.width);
	const first = Math.min(Math.max(Math.round(from), 0), T.buckets - 1);
	return [first, Math.max(first + 1, Math.min(Math.round(to), T.buckets))];
}
const listed = (text) => text ? text.split(",") : null;
const isFiltered = () => Boolean(state.focus || state.ignore || (T && (state.time || state.vcpus || state.states)));
// By node: is a function of its path one that is wanted, and none that is not?
function wantedNodes() {
	const wanted = new Uint8Array(nodeCount).fill(1);
	if (!state.focus && !state.ignore)
		return wanted;
	const focus = state.focus ? regexOf(state.focus) : null, ignore = state.ignore ? regexOf(state.ignore) : null;
	const inFocus = F.name.map((name) => focus ? focus(name) : true);
	const ignored = F.name.map((name) => ignore ? ignore(name) : false);
	const seen = new Uint8Array(nodeCount), bad = new Uint8Array(nodeCount);
	for (let i = 1; i < nodeCount; i++) {
		seen[i] = seen[N.parent[i]] || inFocus[N.func[i]];
		bad[i] = bad[N.parent[i]] || ignored[N.func[i]];
	}
	for (let i = 0; i < nodeCount; i++)
		wanted[i] = !bad[i] && (seen[i] || !focus);
	return wanted;
}
function regexOf(text) {
	try {
		const r = new RegExp(text);
		return (s) => r.test(s);
	} catch {
		return () => false;
	}
}

// ---- Sums ----

// By Wilson: of the share hits / all, were samples independent.
function wilson(hits, all) {
	const z2 = 3.8416, p = all ? hits / all : 0, n = Math.max(all / (T ? T.every : 1), 1e-9);
	const mid = p + z2 / (2 * n), half = Math.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n)));
	return [Math.max(0, (mid - half) / (1 + z2 / n)), Math.min(1, (mid + half) / (1 + z2 / n))];
}
function whole() {
	return { running: S.running, self: N.self, total: N.total, func: F, isWhole: true,
		ofNode: (n) => [N.low[n], N.high[n]], ofSelf: (f) => [F.sl[f], F.sh[f]], ofTotal: (f) => [F.tl[f], F.th[f]] };
}
// The samples that the filters let through, or without a choice of them the nodes' own.
function sumEntries(self, total, wanted) {
	const [from, to] = chosenBuckets(), cpus = listed(state.vcpus), states = listed(state.states);
	const hasCpu = T.vcpus.map((v) => !cpus || cpus.includes(v));
	const hasState = Array(N_STATE).fill(!states);
	for (const [name, number] of STATES)
		hasState[number] ||= Boolean(states && states.includes(name));
	for (let i = 0; i < T.n; i++) {
		if (T.bucket[i] < from || T.bucket[i] >= to || !hasCpu[T.cpu[i]] || !hasState[T.state[i]])
			continue;
		if (T.state[i] === HALTED || T.state[i] === OFF || !wanted[T.node[i]])
			continue;
		total[T.node[i]] += T.weight[i] * T.every;
		if (!T.leftOut[i])
			self[T.node[i]] += T.weight[i] * T.every;
	}
}
function sumNodes(self, total, wanted) {
	const below = new Float64Array(nodeCount);
	for (let i = nodeCount - 1; i >= 0; i--) {
		const own = N.total[i] - below[i];
		if (i)
			below[N.parent[i]] += N.total[i];
		if (!wanted[i])
			continue;
		total[i] += own;
		self[i] += N.self[i];
	}
}
function filtered() {
	const self = new Float64Array(nodeCount), total = new Float64Array(nodeCount), wanted = wantedNodes();
	const func = { self: new Float64Array(funcCount), total: new Float64Array(funcCount) };
	if (T && (state.time || state.vcpus || state.states))
		sumEntries(self, total, wanted);
	else
		sumNodes(self, total, wanted);
	for (let i = nodeCount - 1; i > 0; i--) {
		total[N.parent[i]] += total[i];
		func.self[N.func[i]] += self[i];
		if (outermost[i])
			func.total[N.func[i]] += total[i];
	}
	const running = total[0], of = (weight) => wilson(weight, running);
	return { running, self, total, func, isWhole: false, ofNode: (n) => of(total[n]),
		ofSelf: (f) => of(func.self[f]), ofTotal: (f) => of(func.total[f]) };
}
// What the chosen vCPUs did in the chosen time, by state; null: it is not known.
function statesShown() {
	if (!T || !(state.time || state.vcpus))
		return null;
	const [from, to] = chosenBuckets(), cpus = listed(state.vcpus), sums = new Float64Array(N_STATE);
	const hasCpu = T.vcpus.map((v) => !cpus || cpus.includes(v));
	for (let i = 0; i < T.n; i++)
		if (T.bucket[i] >= from && T.bucket[i] < to && hasCpu[T.cpu[i]])
			sums[T.state[i]] += T.weight[i] * T.every;
	return sums;
}
function weigh() {
	shown = isFiltered() ? filtered() : whole();
}
