// SPDX-License-Identifier: GPL-2.0-or-later
// What is told about the place under the mouse, or the selected one.

function tipRow(list, name, value, note) {
	list.append(make("dt", "", name), make("dd", "", value), make("dd", "", note));
}
function showTip(content, x, y) {
	const tip = $("tip");
	tip.replaceChildren(...content);
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	const left = Math.max(12, Math.min(x + 14, innerWidth - box.width - 12));
	const top = y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18;
	tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(8, top))}px)`;
}
function hideTip() {
	$("tip").hidden = true;
}
