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
function showHeader() {
	document.title = data.title + " – uniscope";
	$("title").textContent = data.title;
	$("facts").replaceChildren(...data.facts.map((text) => make("li", "", text)));
	$("warnings").replaceChildren(...data.warnings.map((text) => make("li", "", text)));
	$("warnings").hidden = !data.warnings.length;
	$("states").replaceChildren();
	$("legend").replaceChildren();
	const ran = S.running + S.unfocused + S.otherPart, all = ran + S.idle;
	stateOf("running", "running guest code", ran - S.exit - S.ready, all, `${count(ran - S.exit - S.ready)} ${data.unit}`);
	stateOf("exit", "in the VMM for the guest", S.exit, all);
	stateOf("ready", "waiting for the host CPU", S.ready, all);
	stateOf("idle", "idle", S.idle, all, `95 %: ${range(S.idleLow, S.idleHigh)}, not in the graph`);
	$("time").hidden = !all || data.counted;
	$("width-of").textContent = data.counted ? data.unit : "time";
	for (const cell of document.querySelectorAll(".unit"))
		cell.textContent = data.unit[0].toUpperCase() + data.unit.slice(1);
	$("summary").textContent = data.summaryLine;
	$("left-out").textContent = data.leftOut ?
		`The ${count(data.leftOut)} narrowest frames are left out of this page.` : "";
}
