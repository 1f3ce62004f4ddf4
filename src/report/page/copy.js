// SPDX-License-Identifier: GPL-2.0-or-later
// asText() of the page to the clipboard.

async function copyText() {
	let isDone = true;
	try {
		await navigator.clipboard.writeText(asText());
	} catch {
		const box = make("textarea");
		box.value = asText();
		document.body.append(box);
		box.select();
		isDone = document.execCommand("copy");
		box.remove();
	}
	$("copy").textContent = isDone ? "Copied" : "Not permitted";
	tell(isDone ? "copied as text" : "the browser does not permit it");
	setTimeout(() => { $("copy").textContent = "Copy as text"; }, 1500);
}
