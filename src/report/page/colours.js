// SPDX-License-Identifier: GPL-2.0-or-later
// Colours, and what they stand for.

// Tints of the palette by Okabe and Ito, which colour-blind people can tell apart;
// dark text on light ones, light text on dark ones, at least 4.5 : 1.
const LIGHT = [[38, 87, 69], [202, 78, 77], [160, 46, 66], [54, 80, 72], [219, 66, 78],
	[19, 82, 73], [325, 50, 80], [46, 30, 76]];
const DARK = [[35, 100, 22], [203, 66, 33], [164, 75, 21], [56, 70, 22], [219, 52, 40],
	[22, 80, 30], [327, 34, 38], [45, 14, 31]];
let theme = null, fills = [];

const isDark = () => state.theme ? state.theme === "dark" :
	matchMedia("(prefers-color-scheme: dark)").matches;
// The same file has the same colour in every recording; its functions differ a little.
function colourOf(path, name) {
	const of = hash(baseName(path)), tone = (of >>> 8) % 3 - 1, shade = hash(name) % 5 - 2;
	const [h, s, l] = (theme.dark ? DARK : LIGHT)[of % LIGHT.length];
	const lightness = l + tone * (theme.dark ? 2 : 5) + shade * (theme.dark ? 1 : 1.5);
	return `hsl(${h + tone * 9 + shade * 2} ${s}% ${lightness}%)`;
}
const homeOf = (f) => F.known[f] ? F.file[f] || F.module[f] || "" : "";
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
function applyColours() {
	fills = F.name.map((name, f) => homeOf(f) ? colourOf(homeOf(f), name) : theme.grey);
	showColours();
}
function showColours() {
	const home = new Map(), items = [];
	for (let f = 0; f < funcCount; f++) {
		if (homeOf(f))
			home.set(homeOf(f), (home.get(homeOf(f)) || 0) + shown.func.self[f]);
	}
	const top = [...home].sort((a, b) => b[1] - a[1]).slice(0, 8);
	for (const [path] of top) {
		const li = make("li"), swatch = make("span", "swatch");
		swatch.style.background = colourOf(path, "");
		li.append(swatch, make("span", "", baseName(path)));
		items.push(li);
	}
	if (home.size > top.length)
		items.push(make("li", "", `and ${home.size - top.length} more`));
	$("colours").replaceChildren(...items);
}
