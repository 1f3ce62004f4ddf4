// SPDX-License-Identifier: GPL-2.0-or-later
// Elements and figures, of all pages; it comes first.
"use strict";

const $ = (id) => document.getElementById(id);

function make(tag, className, text) {
	const e = document.createElement(tag);
	if (className)
		e.className = className;
	if (text !== undefined)
		e.textContent = text;
	return e;
}
const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
// What has just been chosen or done, in words.  isQuiet: not read aloud.
function tell(text, isQuiet) {
	$("live").setAttribute("aria-live", isQuiet ? "off" : "polite");
	$("live").textContent = text;
}
