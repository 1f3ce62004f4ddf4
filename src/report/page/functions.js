// SPDX-License-Identifier: GPL-2.0-or-later
// The table of functions.

const FEW_ROWS = 40;

const keys = {
	self: (f) => shown.func.self[f], total: (f) => shown.func.total[f],
	samples: (f) => byTotal() ? shown.func.total[f] : shown.func.self[f],
	interval: (f) => data.counted ? F.calls[f] : widthOf(intervalOf(f)),
	name: (f) => F.name[f].toLowerCase(), file: (f) => placeOf(f, 0).toLowerCase() || "\uffff",
};
const intervalOf = (f) => byTotal() ? shown.ofTotal(f) : shown.ofSelf(f);
const widthOf = ([low, high]) => high - low;
const isText = (key) => key === "name" || key === "file";
const byTotal = () => state.sort === "total";
function compare(a, b) {
	const key = keys[state.sort], x = key(a), y = key(b);
	const c = x < y ? -1 : x > y ? 1 : 0;
	const v = shown.func;
	return (state.descending ? -c : c) || v.self[b] - v.self[a] || v.total[b] - v.total[a] || a - b;
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
	const row = make("tr"), name = make("td", "name"), button = make("button", "", F.name[f]), v = shown.func;
	const weight = byTotal() ? v.total[f] : v.self[f];
	button.type = "button";
	button.dataset.key = F.name[f] + "\n" + F.file[f];
	button.title = "Show in the flame graph";
	button.addEventListener("click", () => {
		searchFor(F.name[f]);
		$("flame").scrollIntoView({ block: "center" });
	});
	const more = make("button", "more", "⇅");
	more.type = "button";
	more.title = "Callers and callees";
	more.setAttribute("aria-label", "Callers and callees of " + F.name[f]);
	more.addEventListener("click", () => showFunction(f, "sandwich"));
	name.append(button, more);
	if (F.inlined[f])
		name.append(make("span", "tag", "inlined"));
	row.append(make("td", "num", percent(shareOf(v.self[f]))),
		make("td", "num", percent(shareOf(v.total[f]))),
		make("td", "num samples", count(weight)),
		data.counted ? make("td", "num calls", count(F.calls[f])) : rangeCell(...intervalOf(f), shareOf(weight), most),
		name, make("td", "file", placeOf(f, F.line[f])));
	return row;
}
function showRows() {
	const list = Array.from(F.name.keys()).filter((f) =>
		(!matches || matches[f]) && (shown.func.total[f] || data.counted));
	list.sort(compare);
	const n = state.all ? list.length : Math.min(FEW_ROWS, list.length);
	const most = data.counted ? 1 : list.reduce((m, f) => Math.max(m, intervalOf(f)[1]), 0);
	replaceRows($("rows"), list.slice(0, n).map((f) => functionRow(f, most)));
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

