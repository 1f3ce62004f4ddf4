// SPDX-License-Identifier: GPL-2.0-or-later
// Source and instructions of a function with their samples.

const MANY_ROWS = 4000;
const codeOf = (name) => (data.code || []).find((c) => c.name === name);
// Functions with code of which this one, that is inlined, is a part.
const hostsOf = (name) => (data.code || []).filter((c) => c.lines.inlined.includes(name));

function codeRow(className, self, all, place, text) {
	const row = make("tr", className), share = make("td", "num", self ? percent(self / all) : "");
	const samples = make("td", "num samples", self ? count(self) : "");
	row.append(share, samples, make("td", "num place", place), make("td", "code", text));
	if (self)
		row.style.setProperty("--hot", Math.round(8 + 60 * Math.sqrt(self / all)) + "%");
	return row;
}
function headRow(text) {
	const row = make("tr", "head"), cell = make("th", "", text);
	cell.colSpan = 4;
	cell.scope = "colgroup";
	row.append(cell);
	return row;
}
// Lines in the order of the source, each with its instructions below it, if they are wanted.
function codeRows(c, withCode) {
	const rows = [], of = c.lines.line.map(() => []), L = c.lines;
	c.code.line.forEach((line, i) => of[line].push(i));
	let last = null;
	for (let l = 0; l < L.line.length && rows.length < MANY_ROWS; l++) {
		const part = (L.inlined[l] ? `inlined: ${L.inlined[l]}  ` : "") + (L.file[l] || "no source is known");
		if (part !== last)
			rows.push(headRow(part));
		last = part;
		rows.push(codeRow(L.self[l] ? "line hot" : "line", L.self[l], c.self, L.line[l] || "", L.text[l] ?? ""));
		for (const i of withCode ? of[l] : [])
			rows.push(codeRow(c.code.self[i] ? "insn hot" : "insn", c.code.self[i], c.self,
				"+0x" + c.code.at[i].toString(16), c.code.text[i]));
	}
	return rows;
}
function codeNotes(c) {
	const notes = [`${count(c.self)} ${data.unit} in its code, ${c.module} at ${c.start}`];
	if (!shown.isWhole)
		notes.push("of all that was recorded, whatever the filters");
	if (c.blocks)
		notes.push("samples fall on the first instruction of a block");
	if (c.newer)
		notes.push("a source is newer than the image: its lines may be others");
	if (c.noSource)
		notes.push("not found: " + c.noSource);
	return notes.join("; ");
}
function noCode(name) {
	const hosts = hostsOf(name), box = $("no-code");
	box.replaceChildren(make("span", "", hosts.length ? `${name} is inlined, and part of ` :
		"The page has the code of the hottest functions only, as far as their images are known: "));
	for (const c of hosts.length ? hosts : data.code || []) {
		const button = make("button", "", c.name), f = F.name.indexOf(c.name);
		button.type = "button";
		button.dataset.key = c.name;
		button.addEventListener("click", () => f >= 0 && showFunction(f, "code"));
		box.append(button);
	}
}
function showCode() {
	const f = chosenFunction(), c = funcCount ? codeOf(F.name[f]) : null;
	$("code-of").textContent = funcCount ? F.name[f] : "";
	$("code-rows").hidden = !c;
	$("insns").hidden = true;
	$("no-code").hidden = Boolean(c);
	$("code-notes").textContent = c ? codeNotes(c) : "";
	if (!c)
		return noCode(funcCount ? F.name[f] : "");
	const hasText = c.lines.text.some(Boolean), withCode = state.insns || !hasText;
	$("insns").setAttribute("aria-pressed", withCode);
	$("insns").hidden = !hasText;
	$("code-body").replaceChildren(...codeRows(c, withCode));
}
function listenToCode() {
	$("insns").addEventListener("click", () => {
		state.insns = !state.insns;
		saveState(false);
		showCode();
	});
	$("to-code").addEventListener("click", () => {
		showFunction(N.func[flame.selected], "code");
		$("tab-code").focus();
	});
}
