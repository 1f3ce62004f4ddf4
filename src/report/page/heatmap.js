// SPDX-License-Identifier: GPL-2.0-or-later
// Heat map: a column for each second, or a round part or multiple of it, cut into rows; what
// stalls or works at regular times is a line.  Cells are chosen like a time in the timeline.

const HEAT_COLUMNS = 120, HEAT_ROWS = 50, HEAT_CELL = 6;
const heat = { canvas: $("heat"), context: $("heat").getContext("2d"), rows: 1, columns: 1, buckets: 1, cell: null,
	all: null, width: 0, at: -1, from: -1 };

// 1, 2 or 5 times a power of ten.
function roundUp(least) {
	const power = 10 ** Math.floor(Math.log10(least));
	return [1, 2, 5, 10].map((f) => f * power).find((x) => x >= least * 0.999);
}
// A cell is so many buckets, a column so many cells: of a second, if there are enough and not too many.
function cutHeat() {
	const span = T.buckets * T.width, column = roundUp(Math.max(span / HEAT_COLUMNS, Math.min(1e9, span / 20)));
	heat.buckets = Math.max(1, Math.round(column / T.width / HEAT_ROWS));
	heat.rows = Math.max(1, Math.round(column / T.width / heat.buckets));
	heat.columns = Math.ceil(T.buckets / heat.buckets / heat.rows);
}
// By cell: the weight of what is asked for, and of everything; of the chosen vCPUs and functions.
function sumHeat() {
	const cells = heat.rows * heat.columns, cpus = listed(state.vcpus), wanted = wantedNodes();
	const of = STATES.find(([name]) => name === state.heat)[1];
	heat.cell = new Float64Array(cells);
	heat.all = new Float64Array(cells);
	for (let i = 0; i < T.n; i++) {
		if (cpus && !cpus.includes(T.vcpus[T.cpu[i]]))
			continue;
		const cell = Math.floor(T.bucket[i] / heat.buckets);
		heat.all[cell] += T.weight[i];
		if (T.state[i] === of && (of === HALTED || wanted[T.node[i]]))
			heat.cell[cell] += T.weight[i];
	}
}
const heatShare = (cell) => heat.all[cell] ? heat.cell[cell] / heat.all[cell] : 0;
// From the page's ground to the state's colour, by the share.
function drawHeat() {
	if (!T || state.view !== "heatmap")
		return;
	cutHeat();
	sumHeat();
	const { canvas, context, rows, columns } = heat, scale = Math.min(devicePixelRatio || 1, 2);
	const width = canvas.parentNode.clientWidth, height = rows * HEAT_CELL;
	heat.width = Math.min(width, columns * 40);
	canvas.style.width = heat.width + "px";
	canvas.style.height = height + "px";
	canvas.width = Math.round(heat.width * scale);
	canvas.height = Math.round(height * scale);
	context.setTransform(scale, 0, 0, scale, 0, 0);
	const w = heat.width / columns, ink = getComputedStyle(document.documentElement).getPropertyValue("--heat");
	const [from, to] = heat.from >= 0 ? heatChosen() : chosenBuckets();
	for (let cell = 0; cell < rows * columns; cell++) {
		const x = Math.floor(cell / rows) * w, y = height - (cell % rows + 1) * HEAT_CELL;
		const inside = cell * heat.buckets < to && (cell + 1) * heat.buckets > from;
		context.fillStyle = theme.panel;
		context.fillRect(x, y, w, HEAT_CELL);
		context.fillStyle = ink;
		context.globalAlpha = heatShare(cell) * (inside ? 1 : 0.3);
		context.fillRect(x, y, w - (w > 4 ? 1 : 0), HEAT_CELL - 1);
		context.globalAlpha = 1;
	}
	if (heat.at >= 0 && document.activeElement === canvas) {
		context.strokeStyle = theme.text;
		context.lineWidth = 2;
		context.strokeRect(Math.floor(heat.at / rows) * w + 1, height - (heat.at % rows + 1) * HEAT_CELL, w - 2, HEAT_CELL);
	}
	tellHeat();
}
const cellTime = (cell) => timeText(Math.min(cell * heat.buckets, T.buckets));
function heatChosen() {
	const [a, b] = [Math.min(heat.from, heat.at), Math.max(heat.from, heat.at)];
	return [a * heat.buckets, (b + 1) * heat.buckets];
}
function tellHeat() {
	const column = heat.rows * heat.buckets * T.width, cell = heat.buckets * T.width;
	$("heat-words").textContent = `A column is ${seconds(column, column)}\u202fs, from below, a cell ${cell / 1e6}\u202fms.`;
	for (const button of document.querySelectorAll("#heat-of button"))
		button.setAttribute("aria-pressed", button.dataset.state === state.heat);
}
function heatCellAt(event) {
	const box = heat.canvas.getBoundingClientRect();
	const column = Math.floor((event.clientX - box.left) / box.width * heat.columns);
	const row = heat.rows - 1 - Math.floor((event.clientY - box.top) / HEAT_CELL);
	const inside = column >= 0 && column < heat.columns && row >= 0 && row < heat.rows;
	return inside ? column * heat.rows + row : -1;
}
const heatWords = (cell) => `${cellTime(cell)}: ${percent(heatShare(cell))} ${STATES.find(([name]) => name === state.heat)[3]}`;
function heatKey(event) {
	const last = Math.ceil(T.buckets / heat.buckets) - 1, at = Math.max(heat.at, 0);
	const to = { ArrowUp: at + 1, ArrowDown: at - 1, ArrowRight: at + heat.rows, ArrowLeft: at - heat.rows, Home: 0, End: last }[event.key];
	if (event.altKey || event.ctrlKey || event.metaKey)
		return;
	if (to !== undefined) {
		if (event.shiftKey && heat.from < 0)
			heat.from = at;
		if (!event.shiftKey)
			heat.from = -1;
		heat.at = Math.min(Math.max(to, 0), last);
		tell(heatWords(heat.at));
		drawHeat();
	} else if (event.key === "Enter" || event.key === " ") {
		heat.from = heat.from < 0 ? at : heat.from;
		heat.at = at;
		const [from, end] = heatChosen();
		heat.from = -1;
		chooseTime(from, end);
	} else if (event.key === "Escape") {
		heat.from = -1;
		chooseTime(0, T.buckets);
	} else {
		return;
	}
	event.preventDefault();
}
function listenToHeat() {
	const canvas = heat.canvas;
	$("heat-of").append(...STATES.map(([name, , className, words]) => {
		const button = make("button"), swatch = make("span", "swatch " + className);
		button.type = "button";
		button.dataset.state = name;
		button.append(swatch, make("span", "", words));
		button.addEventListener("click", () => {
			state.heat = name;
			saveState(false);
			drawHeat();
		});
		return button;
	}));
	canvas.addEventListener("pointerdown", (event) => {
		heat.at = heat.from = heatCellAt(event);
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		const cell = heatCellAt(event);
		if (cell < 0)
			return hideTip();
		if (heat.from >= 0) {
			heat.at = cell;
			drawHeat();
		}
		showTip([make("div", "title", cellTime(cell)), make("div", "", heatWords(cell))], event.clientX, event.clientY);
	});
	canvas.addEventListener("pointerup", () => {
		if (heat.from < 0)
			return;
		const [from, to] = heatChosen(), isClick = heat.from === heat.at && state.time;
		heat.from = -1;
		hideTip();
		if (isClick)
			chooseTime(0, T.buckets);
		else
			chooseTime(from, to);
	});
	canvas.addEventListener("pointerleave", hideTip);
	canvas.addEventListener("keydown", (event) => T && heatKey(event));
	for (const type of ["focus", "blur"])
		canvas.addEventListener(type, drawHeat);
	new ResizeObserver(drawHeat).observe(canvas.parentNode);
}
