// SPDX-License-Identifier: GPL-2.0-or-later
// Small helpers: figures and names.

function percent(share) {
	const p = 100 * share;
	return p.toFixed(p > 0 && p < 0.095 ? 2 : 1) + "\u202f%";
}
const shareOf = (weight) => shown.running ? weight / shown.running : 0;
const range = (low, high) => (100 * low).toFixed(1) + "–" + (100 * high).toFixed(1) + "\u202f%";
const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);
function placeOf(func, line) {
	const file = F.file[func];
	if (!file)
		return F.module[func] || "";
	return baseName(file) + (line ? ":" + line : "");
}
const nameOf = (node) => node ? F.name[N.func[node]] : "all";

// New rows; what had the focus has it again, by its key.
function replaceRows(body, rows) {
	const key = body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
	body.replaceChildren(...rows);
	if (key !== undefined)
		Array.from(body.querySelectorAll("[data-key]")).find((e) => e.dataset.key === key)?.focus();
}

// Does a text match what is searched for: a part of it, or /REGEX/?
function matcher(text) {
	const regex = text.match(/^\/(.+)\/$/);
	if (regex) {
		try {
			const r = new RegExp(regex[1], "i");
			return (s) => r.test(s);
		} catch {
			return () => false;
		}
	}
	const low = text.toLowerCase();
	return (s) => s.toLowerCase().includes(low);
}
