// SPDX-License-Identifier: GPL-2.0-or-later
// Colours, and what they stand for.

// Tints of the palette by Okabe and Ito, which colour-blind people can tell apart;
// dark text on light ones, light text on dark ones, at least 4.5 : 1.
const LIGHT = [[38, 87, 69], [202, 78, 77], [160, 46, 66], [54, 80, 72], [219, 66, 78],
	[19, 82, 73], [325, 50, 80], [46, 30, 76]];
const DARK = [[35, 100, 22], [203, 66, 33], [164, 75, 21], [56, 70, 22], [219, 52, 40],
	[22, 80, 30], [327, 34, 38], [45, 14, 31]];
const FEW_COLOURS = 8;
let theme = null;
let fills = [], nodeFills = null; // by function; by node, where that tells more

const isDark = () => state.theme ? state.theme === "dark" :
	matchMedia("(prefers-color-scheme: dark)").matches;
// The same file has the same colour in every recording; its functions differ a little.
function colourOf(path, name) {
	const of = hash(baseName(path)), tone = (of >>> 8) % 3 - 1, shade = hash(name) % 5 - 2;
	const [h, s, l] = (theme.dark ? DARK : LIGHT)[of % LIGHT.length];
	const lightness = l + tone * (theme.dark ? 2 : 5) + shade * (theme.dark ? 1 : 1.5);
	return `hsl(${h + tone * 9 + shade * 2} ${s}% ${lightness}%)`;
}
function paletteColour(i) {
	const [h, s, l] = (theme.dark ? DARK : LIGHT)[i % LIGHT.length];
	return `hsl(${h} ${s}% ${l}%)`;
}
function themeColours() {
	const css = getComputedStyle(document.documentElement);
	const get = (name) => css.getPropertyValue(name).trim();
	const dark = isDark();
	return { dark, text: dark ? "#f3f6f9" : "#1a1f26", back: get("--back"), panel: get("--panel"),
		muted: get("--muted"), line: get("--line"), accent: get("--accent"), mono: get("--mono"),
		grey: dark ? "#3a434e" : "#d9dee4", root: dark ? "#2a323c" : "#e8ecf0" };
}
function applyTheme() {
	if (state.theme)
		document.documentElement.dataset.theme = state.theme;
	else
		delete document.documentElement.dataset.theme;
	$("theme").textContent = "Theme: " + (state.theme || "auto");
	theme = themeColours();
}

// ---- What colours stand for: of: the group of a function, "": none; colour: of a group ----

const homeOf = (f) => F.known[f] ? F.file[f] || F.module[f] || "" : "";
const KINDS = ["kernel", "user", "host", "inlined"];
function kindOf(f) {
	const ring = F.ring ? F.ring[f] : 0;
	if (!F.known[f] && F.name[f].startsWith("["))
		return "";
	return ring & 4 ? "host" : F.inlined[f] ? "inlined" : ring & 2 ? "user" : "kernel";
}
const COLOURS = {
	file: { of: homeOf, colour: colourOf, words: "its source file", name: baseName },
	image: { of: (f) => F.module[f] || "", colour: colourOf, words: "its image", name: baseName },
	kind: { of: kindOf, colour: (kind) => paletteColour(KINDS.indexOf(kind)), words: "its kind", name: (kind) => kind },
	vcpu: { words: "the vCPU that ran it most" },
};
function groupsByWeight(of) {
	const sums = new Map();
	for (let f = 0; f < funcCount; f++)
		if (of(f) && shown.func.total[f])
			sums.set(of(f), (sums.get(of(f)) || 0) + shown.func.self[f]);
	return [...sums].sort((a, b) => b[1] - a[1]).map(([group]) => group);
}
// By node, the vCPU with more than half of its samples; -1: none has.
function mainVcpus() {
	const n = T.vcpus.length, sums = new Float32Array(nodeCount * n), main = new Int16Array(nodeCount);
	for (let i = 0; i < T.n; i++)
		sums[T.node[i] * n + T.cpu[i]] += T.weight[i];
	for (let i = nodeCount - 1; i >= 0; i--) {
		let all = 0, best = 0;
		for (let c = 0; c < n; c++) {
			const sum = sums[i * n + c];
			all += sum;
			best = sum > sums[i * n + best] ? c : best;
			if (i)
				sums[N.parent[i] * n + c] += sum;
		}
		main[i] = sums[i * n + best] * 2 > all ? best : -1;
	}
	return main;
}
function colourByVcpu() {
	const main = mainVcpus(), seen = new Set(main);
	nodeFills = Array.from(main, (cpu) => cpu < 0 ? theme.grey : paletteColour(cpu));
	const items = T.vcpus.map((vcpu, cpu) => [paletteColour(cpu), vcpuName(vcpu), cpu]).filter(([, , cpu]) => seen.has(cpu));
	return [...items.slice(0, FEW_COLOURS), ...(seen.has(-1) ? [[theme.grey, "several"]] : [])];
}
function applyColours() {
	const by = state.colour === "vcpu" && !T ? "file" : state.colour, { of, colour, name, words } = COLOURS[by];
	nodeFills = null;
	fills = F.name.map((text, f) => of?.(f) ? colour(of(f), by === "file" ? text : "") : theme.grey);
	let items, more = 0;
	if (by === "vcpu") {
		items = colourByVcpu();
	} else {
		const groups = groupsByWeight(of);
		items = groups.slice(0, FEW_COLOURS).map((group) => [colour(group, ""), name(group)]);
		more = groups.length - items.length;
		if (F.name.some((_, f) => !of(f) && shown.func.total[f]))
			items.push([theme.grey, by === "kind" ? "not guest code" : "not known"]);
	}
	$("colours").replaceChildren(...items.map(([fill, text]) => {
		const li = make("li"), swatch = make("span", "swatch");
		swatch.style.background = fill;
		li.append(swatch, make("span", "", text));
		return li;
	}), ...(more ? [make("li", "", `and ${more} more`)] : []));
	$("colours").setAttribute("aria-label", "Colours stand for " + words);
	$("colour-of").textContent = words;
	$("colour").value = by;
	$("colour").querySelector("[value=vcpu]").disabled = !T;
}
