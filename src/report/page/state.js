// SPDX-License-Identifier: GPL-2.0-or-later
// What the user has chosen, and the fragment of the address that holds it.

// zoom: the path of the zoomed node; func: the number of the chosen function.
// time: "FROM-TO" in seconds; vcpus, states: lists; "": all.
const state = { zoom: 0, search: "", upward: false, view: "functions", sort: "self",
	descending: true, theme: "", all: false, time: "", vcpus: "", states: "", focus: "",
	ignore: "", colour: "file", func: 0, heat: "guest",
	insns: false, waits: false, owners: false };

const fields = [
	// [key, its default, from text]
	["zoom", 0, (t) => /^\d{1,10}$/.test(t) ? Number(t) : 0],
	["func", 0, (t) => /^\d{1,10}$/.test(t) ? Number(t) : 0],
	["insns", false, (t) => t === "1"],
	["waits", false, (t) => t === "1"],
	["owners", false, (t) => t === "1"],
	["heat", "guest", (t) => STATES.some(([name]) => name === t) ? t : "guest"],
	["search", "", (t) => t],
	["upward", false, (t) => t === "1", "up"],
	["view", "functions", (t) => VIEWS.includes(t) ? t : "functions"],
	["sort", "self", (t) => Object.hasOwn(keys, t) ? t : "self"],
	["time", "", (t) => /^\d{1,9}(\.\d{1,9})?-\d{1,9}(\.\d{1,9})?$/.test(t) ? t : ""],
	["vcpus", "", (t) => t],
	["states", "", (t) => /^[a-z,]{1,40}$/.test(t) ? t : ""],
	["focus", "", (t) => t],
	["ignore", "", (t) => t],
	["colour", "file", (t) => Object.hasOwn(COLOURS, t) ? t : "file"],
	["theme", "", (t) => ["light", "dark"].includes(t) ? t : ""],
];
function readFragment() {
	const q = new URLSearchParams(location.hash.slice(1));
	for (const [key, none, read, name] of fields)
		state[key] = q.has(name || key) ? read(q.get(name || key)) : none;
	state.descending = q.get("order") ? q.get("order") === "down" : !isText(state.sort);
}
function fragment() {
	const q = new URLSearchParams();
	for (const [key, none, , name] of fields)
		if (state[key] !== none)
			q.set(name || key, state[key] === true ? "1" : state[key]);
	if (state.descending === isText(state.sort))
		q.set("order", state.descending ? "down" : "up");
	return "#" + q;
}
// A zoom is a step that the browser's Back undoes; the rest is not.
function saveState(isStep) {
	if (fragment() === (location.hash || "#"))
		return;
	if (isStep)
		history.pushState(null, "", fragment());
	else
		history.replaceState(null, "", fragment());
}
