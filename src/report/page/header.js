// SPDX-License-Identifier: GPL-2.0-or-later
// What was recorded, and what the vCPUs did.

function stateOf(className, name, weight, all, note) {
	if (!weight)
		return;
	const part = make("div", className), item = make("li"), swatch = make("span", "swatch " + className);
	part.style.flexGrow = weight;
	$("states").append(part);
	item.append(swatch, make("span", "", name), make("b", "", percent(weight / all)));
	if (note)
		item.append(make("span", "muted", note));
	$("legend").append(item);
}
// Of all that was recorded, or of the chosen time and vCPUs.
function showStates() {
	const ran = S.running + S.unfocused + S.otherPart, sums = statesShown() || [];
	if (!sums.length) {
		sums[GUEST] = ran - S.exit - S.ready;
		sums[EXIT] = S.exit;
		sums[READY] = S.ready;
		sums[HALTED] = S.idle;
	}
	const all = sums[GUEST] + sums[EXIT] + sums[READY] + sums[HALTED];
	const notes = { guest: `${count(sums[GUEST])} ${data.unit}`,
		idle: statesShown() ? "not in the graph" : `95 %: ${range(S.idleLow, S.idleHigh)}, not in the graph` };
	$("states").replaceChildren();
	$("legend").replaceChildren();
	for (const [key, number, name, words] of data.waiting ? WAIT_STATES : STATES)
		stateOf(name, words, sums[number], all, notes[key]);
	$("time").hidden = !all || data.counted;
}
function showHeader() {
	document.title = data.title + " – uniscope";
	$("title").textContent = data.title;
	$("facts").replaceChildren(...data.facts.map((text) => make("li", "", text)));
	$("warnings").replaceChildren(...data.warnings.map((text) => make("li", "", text)));
	$("warnings").hidden = !data.warnings.length;
	$("width-of").textContent = data.counted ? data.unit : data.waiting ? "the time that tasks waited" : "time";
	$("legend").setAttribute("aria-label", data.waiting ? "How tasks waited" : "What the vCPUs did");
	for (const cell of document.querySelectorAll(".unit"))
		cell.textContent = data.unit[0].toUpperCase() + data.unit.slice(1);
	$("summary").textContent = data.summaryLine;
	$("left-out").textContent = data.leftOut ?
		`The ${count(data.leftOut)} narrowest frames are left out of this page.` : "";
}
