// SPDX-License-Identifier: GPL-2.0-or-later
// The list of recordings.  Names come from files and guests that nobody vouches for: they
// are only ever set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const token = new URLSearchParams(location.search).get("token");
const link = (path, query) => path + "?" + new URLSearchParams({ ...query, token });
function size(bytes) {
	const units = ["B", "KB", "MB", "GB", "TB"];
	let n = bytes, unit = 0;
	for (; n >= 1000 && unit < units.length - 1; unit++)
		n /= 1000;
	return (unit && n < 10 ? n.toFixed(1) : n.toFixed(0)) + "\u202f" + units[unit];
}
function when(recording) {
	const d = new Date(1000 * recording.modified);
	return recording.started || d.toLocaleString("sv");
}
function row(r) {
	const tr = make("tr"), name = make("td"), a = make(r.link ? "a" : "span", "", r.name);
	if (r.link)
		a.href = link("recording", { file: r.name });
	name.append(a);
	if (r.why)
		name.append(make("span", "why", r.why));
	tr.append(name, make("td", "", r.guest), make("td", "", when(r)), make("td", "", r.backend),
		make("td", "num", size(r.bytes)));
	return tr;
}
function show() {
	const low = $("search").value.trim().toLowerCase();
	const list = data.recordings.filter((r) => (r.name + "\n" + r.guest).toLowerCase().includes(low));
	$("rows").replaceChildren(...list.map(row));
	$("matched").textContent = low ? `${list.length} of ${data.recordings.length}` : "";
}

// ---- Guests that are observed ----

const percent = (share) => (100 * share).toFixed(1) + "\u202f%";
function guestRow(g) {
	const tr = make("tr"), name = make("td"), a = make("a", "", g.name);
	a.href = link("live", { guest: g.name });
	a.dataset.name = g.name;
	name.append(a);
	if (g.ended)
		name.append(make("span", "why", "has ended" + (g.words ? ": " + g.words : "")));
	tr.append(name, make("td", "num", String(g.vcpus)),
		make("td", "num", g.host_cpu === null ? "" : percent(g.host_cpu)), make("td", "num", percent(g.busy)), make("td", "num", percent(g.idle)), make("td", "name", g.hottest),
		make("td", "num", g.hottest ? percent(g.share) : ""), make("td", "num", g.seconds + "\u202fs"));
	return tr;
}
async function showGuests() {
	const answer = await fetch(link("guests", {}), { cache: "no-store" });
	if (!answer.ok)
		throw new Error(await answer.text());
	const list = await answer.json(), at = document.activeElement.dataset.name;
	$("guest-rows").replaceChildren(...list.map(guestRow));
	if (at !== undefined)
		Array.from(document.querySelectorAll("#guest-rows a")).find((a) => a.dataset.name === at)?.focus();
	say(list.length ? "" : "No guest runs on this host yet: waiting for one.");
}
function say(text) {
	if ($("over").textContent !== text)
		$("over").textContent = text;
}
function listenToServer() {
	const events = new EventSource(link("events", {}));
	events.addEventListener("message", () => document.hidden ||
		showGuests().catch(() => say("The server is gone. What was seen stays here.")));
	events.addEventListener("error", () => {
		say("The server is gone. What was seen stays here.");
		if (events.readyState === EventSource.CLOSED)
			setTimeout(listenToServer, 2000);
	});
}
if (data.live) {
	$("title").textContent = "Guests";
	$("guests").hidden = false;
	$("shelf").hidden = true;
	$("facts").hidden = true;
	listenToServer();
}

const n = data.recordings.length;
$("facts").append(make("li", "", `${n} recording${n === 1 ? "" : "s"}`));
if (data.more)
	$("facts").append(make("li", "", "a folder has more, the oldest of which are not listed"));
$("none").hidden = n > 0;
$("search").parentNode.hidden = n < 2;
$("search").addEventListener("input", show);
document.addEventListener("keydown", (event) => {
	if (event.key === "/" && event.target !== $("search")) {
		event.preventDefault();
		$("search").focus();
	}
});
show();
