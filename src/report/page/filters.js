// SPDX-License-Identifier: GPL-2.0-or-later
// Which samples count: by vCPU, by what the vCPU did, by functions of their stacks.

let weighRequest = 0;

// They are weighed once before the next picture, however often they change.
function filtersChanged() {
	saveState(false);
	weighRequest ||= requestAnimationFrame(() => {
		weighRequest = 0;
		showWeights(pathId[flame.selected]);
	});
}
function boxes(id, name, all, field) {
	const on = listed(state[field]);
	$(id).replaceChildren(make("legend", "", name), ...all.map(([value, text, className]) => {
		const label = make("label"), box = make("input");
		box.type = "checkbox";
		box.value = box.dataset.key = value;
		box.checked = !on || on.includes(value);
		box.addEventListener("change", () => pickBoxes(id, field));
		label.append(box, ...(className ? [make("span", "swatch " + className)] : []), make("span", "", text));
		return label;
	}));
	$(id).hidden = all.length < 2;
}
function pickBoxes(id, field) {
	const all = Array.from($(id).querySelectorAll("input")), on = all.filter((box) => box.checked);
	state[field] = on.length === all.length ? "" : on.map((box) => box.value).join(",") || "none";
	filtersChanged();
}
function showFilters() {
	const states = STATES.filter(([, number]) => number !== HALTED);
	boxes("vcpus", "vCPUs", T ? T.vcpus.map((v) => [v, v]) : [], "vcpus");
	boxes("states-on", "What the vCPU did", T ? states.map(([value, , name, text]) => [value, text, name]) : [], "states");
	for (const field of ["focus", "ignore"])
		if ($(field).value !== state[field])
			$(field).value = state[field];
	$("filters").open ||= Boolean(state.focus || state.ignore || state.vcpus || state.states);
}
function isRegex(text) {
	try {
		return Boolean(new RegExp(text));
	} catch {
		return false;
	}
}
// What the filters leave, in words.
function tellFilters() {
	const parts = [];
	if (!shown.isWhole)
		parts.push(`${count(Math.round(shown.running))} of ${count(S.running)} ${data.unit} ${thatRan()}`);
	for (const field of ["focus", "ignore"]) {
		const bad = Boolean(state[field]) && !isRegex(state[field]);
		$(field).setAttribute("aria-invalid", bad);
		if (bad)
			parts.push(`${field}: no regular expression`);
	}
	$("filtered").textContent = parts.join("; ");
	$("unfilter").disabled = !(state.focus || state.ignore || state.vcpus || state.states || state.time);
}
function clearFilters() {
	state.time = state.vcpus = state.states = state.focus = state.ignore = "";
	showFilters();
	filtersChanged();
}
function listenToFilters() {
	for (const field of ["focus", "ignore"])
		$(field).addEventListener("input", () => {
			state[field] = $(field).value;
			filtersChanged();
		});
	$("unfilter").addEventListener("click", () => {
		clearFilters();
		$("focus").focus();
	});
	$("colour").addEventListener("change", () => {
		state.colour = $("colour").value;
		saveState(false);
		applyColours();
		flame.redraw();
	});
}
