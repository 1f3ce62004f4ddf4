// SPDX-License-Identifier: GPL-2.0-or-later
// A guest that is observed: its page asks the server once a second, when that says so.

const WINDOWS = [["5", "the last 5 s"], ["15", "the last 15 s"], ["60", "the last minute"], ["0", "all since the start"]];
const query = new URLSearchParams(location.search);
const token = query.get("token") || "", guest = query.get("guest") || "";
// The server sends an event each second.  Without any for so long, the page says so; after
// the longer time, or with a question that takes too long, it begins anew: a connection can
// be dead without an end.
const SILENT_MS = 5000, DEAD_MS = 20000, HUNG_MS = 60000;
const live = { paused: false, range: null, over: "", asking: false, again: false, askedAt: 0, hang: null, heardAt: 0, silent: "", notBefore: 0, shownAt: -1, strip: null };

function link(path, more) {
	const q = new URLSearchParams(more);
	if (guest && !q.has("guest"))
		q.set("guest", guest);
	q.set("token", token);
	return path + "?" + q;
}
async function ask(path, more, signal) {
	const answer = await fetch(link(path, more), { cache: "no-store", signal });
	if (!answer.ok)
		throw new Error((await answer.text()).trim());
	return answer.json();
}

// ---- What is said of it ----

const spell = (s) => s >= 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s} s`;
function sayLive() {
	const state = live.over || live.silent ? "over" : live.paused ? "paused" : "live";
	const { range } = live;
	const text = live.over || live.silent || (range ? `From ${spell(range.from)} to ${spell(range.to)}` : live.paused ? "Paused" : "Live");
	if ($("live-state").textContent !== text)
		$("live-state").textContent = text;
	$("live-state").dataset.state = state;
	$("pause").textContent = live.paused || range ? "Resume" : "Pause";
	$("pause").disabled = Boolean(live.over) && !range;
}
function isOver(history) {
	const words = history.words ? ": " + history.words : "";
	return history.ended ? `The recording has ended${words}. What was seen stays here.` : "";
}

// ---- Asking ----

// The span that is shown; with samples by time where it stands still.
function span() {
	// Where it stands still, both, so that the switch does not ask for what came meanwhile.
	const isStill = live.range || live.paused || live.over;
	const more = { ...(canAskOwners && (state.owners || isStill) ? { owners: 1 } : {}),
		...(canAskWaits && (state.waits || isStill) ? { waits: 1 } : {}) };
	if (live.range)
		return { from: 1000 * live.range.from, to: 1000 * live.range.to, time: 1, ...more };
	const last = { last: 1000 * Number($("window").value), ...more };
	return live.paused || live.over ? { ...last, time: 1 } : last;
}
async function renew(now) {
	const wanted = span(), key = JSON.stringify(wanted) + ("last" in wanted ? now : "");
	if (key === live.shownAt)
		return;
	const began = performance.now();
	onCpu = await ask("data", wanted, live.hang.signal);
	showThisProfile();
	live.shownAt = key;
	// What takes long is asked for less often.
	live.notBefore = performance.now() + 5 * (performance.now() - began) - 500;
}
async function look(force) {
	if (live.asking) {
		live.again ||= force;
		return;
	}
	if (document.hidden && !force)
		return;
	live.asking = true;
	live.askedAt = performance.now();
	live.hang = new AbortController();
	try {
		const history = await ask("history", { since: live.strip.end }, live.hang.signal);
		if (history.guest)
			live.strip.add(history);
		canAskOwners ||= Boolean(history.owners);
		canAskWaits ||= Boolean(history.waits);
		live.over = history.guest ? isOver(history) : "The guest is not observed yet.";
		const still = live.paused && !live.range;
		if (!history.guest)
			live.paused = false;
		else if (force || (!still && performance.now() >= live.notBefore))
			await renew(history.now);
		live.heardAt = performance.now();
		live.silent = "";
	} catch (e) {
		if (e.name !== "AbortError")
			live.over = e instanceof TypeError ? "The server is gone. What was seen stays here." : e.message;
	}
	live.asking = false;
	sayLive();
	// What the user has chosen meanwhile.
	if (live.again) {
		live.again = false;
		await look(true);
	}
}
let events = null;
function listenToServer() {
	const mine = events = new EventSource(link("events"));
	mine.addEventListener("message", () => {
		live.heardAt = performance.now();
		look(false);
	});
	mine.addEventListener("error", () => {
		if (mine.readyState === EventSource.CLOSED)
			setTimeout(() => mine === events && listenToServer(), 2000);
		if (!live.over)
			look(true);
	});
}
function saySilent(since) {
	const at = new Date(Date.now() - (performance.now() - since));
	live.silent ||= `No answer since ${at.toLocaleTimeString()}. What was seen stays here.`;
	sayLive();
}
// Each second.  Only an answer ends the silence: look().
let begunAt = performance.now();
function watch() {
	const now = performance.now(), isHung = live.asking && now - live.askedAt > HUNG_MS;
	if (now - live.heardAt > SILENT_MS)
		saySilent(live.heardAt);
	else if (isHung)
		saySilent(live.askedAt);
	if (!isHung && now - Math.max(live.heardAt, begunAt) <= DEAD_MS)
		return;
	begunAt = now;
	live.hang?.abort();
	events.close();
	listenToServer();
}

// ---- Tools ----

function pause() {
	const was = live.paused || live.range;
	live.paused = !was;
	live.range = live.strip.range = null;
	live.strip.draw();
	sayLive();
	look(true);
}
async function showGuests() {
	const list = await ask("guests");
	const select = $("guest");
	const options = list.map((g) => {
		const o = make("option", "", g.name + (g.ended ? " (ended)" : ""));
		o.value = g.name;
		o.selected = g.name === guest;
		return o;
	});
	select.replaceChildren(...options);
	select.parentNode.hidden = list.length < 2;
	$("all-guests").hidden = list.length < 2;
}
function makeTools() {
	const bar = make("section"), tools = make("div", "live"), box = make("div");
	const label = (text, control) => {
		const l = make("label");
		l.append(make("span", "", text), control);
		return l;
	};
	const control = (tag, id) => Object.assign(make(tag), { id });
	const windows = control("select", "window"), all = control("a", "all-guests");
	for (const [value, text] of WINDOWS)
		windows.append(Object.assign(make("option", "", text), { value }));
	const button = Object.assign(control("button", "pause"), { type: "button" });
	const state = control("output", "live-state"), canvas = control("canvas", "strip");
	all.textContent = "All guests";
	all.href = "./?" + new URLSearchParams({ token });
	all.hidden = true;
	bar.setAttribute("aria-label", "Live");
	canvas.tabIndex = 0;
	for (const [key, value] of [["role", "application"], ["aria-roledescription", "timeline"],
		["aria-label", "The last minutes: what each vCPU did in each second"], ["aria-describedby", "strip-keys"]])
		canvas.setAttribute(key, value);
	const guests = label("Guest", control("select", "guest"));
	guests.hidden = true;
	tools.append(button, label("Shows", windows), guests, all, state);
	box.id = "strip-box";
	box.append(canvas);
	const keys = Object.assign(make("p", "note", "The last minutes, a column for each second. Drag, or ← and → (with Shift: longer), to choose a time; Esc: what is live."), { id: "strip-keys" });
	bar.append(tools, box, keys);
	document.querySelector("main").prepend(bar);
}
function listenToLive() {
	live.strip = new Strip($("strip"), (range) => {
		live.range = range;
		live.paused = false;
		sayLive();
		look(true);
	});
	$("pause").addEventListener("click", pause);
	for (const id of ["by-process", "on-cpu", "waiting"])
		$(id).addEventListener("click", () => live.paused || look(true));
	addEventListener("hashchange", () => live.paused || look(true));
	$("window").addEventListener("change", () => {
		live.paused = false;
		live.range = live.strip.range = null;
		look(true);
	});
	$("guest").addEventListener("change", () => location.assign(link("live", { guest: $("guest").value }) + location.hash));
	document.addEventListener("visibilitychange", () => look(false));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => live.strip.draw());
	$("theme").addEventListener("click", () => live.strip.draw());
}

makeTools();
listenToLive();
look(true);
listenToServer();
setInterval(watch, 1000);
showGuests().then(() => setInterval(() => document.hidden || live.over || live.silent ||
	showGuests().catch(() => {}), 10000)).catch(() => {});
