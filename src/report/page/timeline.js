// SPDX-License-Identifier: GPL-2.0-or-later
// Time: a row for each vCPU with what it did; what is chosen in it holds for everything.

const AXIS = 18, LANE_GAP = 4, STEPS = 40;
const line = { canvas: $("line"), context: $("line").getContext("2d"), drag: -1, lane: 22, grid: null, width: 0 };

function seconds(ns, unit) {
	const digits = Math.max(0, Math.min(6, 9 - Math.floor(Math.log10(unit))));
	return (ns / 1e9).toFixed(digits);
}
const timeText = (bucket) => seconds(bucketTime(bucket), T.width) + "\u202fs";
// By vCPU, bucket and state: weights.
function makeGrid() {
	line.grid = T && new Float32Array(T.vcpus.length * T.buckets * N_STATE);
	for (let i = 0; T && i < T.n; i++)
		line.grid[(T.cpu[i] * T.buckets + T.bucket[i]) * N_STATE + T.state[i]] += T.weight[i];
}
function columnSums(cpu, from, to) {
	const sums = [0, 0, 0, 0, 0];
	for (let b = from; b < to; b++)
		for (let s = 0; s < N_STATE; s++)
			sums[s] += line.grid[(cpu * T.buckets + b) * N_STATE + s];
	return sums;
}
function drawLane(cpu, top, colours) {
	const { context, width, lane } = line, step = Math.max(2, width / T.buckets);
	context.fillStyle = theme.panel;
	context.fillRect(0, top, width, lane);
	for (let x = 0; x < width; x += step) {
		// Whole pixels: seams would look like gaps.
		const left = Math.round(x), w = Math.round(x + step) - left;
		const from = Math.floor(x / width * T.buckets);
		const to = Math.min(T.buckets, Math.max(from + 1, Math.floor((x + step) / width * T.buckets)));
		const sums = columnSums(cpu, from, to), all = sums.reduce((a, b) => a + b, 0);
		let y = top + lane;
		for (const [, number, name] of STATES) {
			const h = all ? lane * sums[number] / all : 0;
			if (!h)
				continue;
			context.fillStyle = colours[name];
			context.fillRect(left, y - h, w, h);
			y -= h;
		}
	}
}
function drawAxis(top) {
	const { context, width } = line, span = T.buckets * T.width, least = span / Math.max(2, width / 90);
	const power = 10 ** Math.floor(Math.log10(least));
	const tick = [1, 2, 5, 10].map((f) => f * power).find((t) => t >= least);
	context.fillStyle = theme.muted;
	for (let t = Math.ceil(T.from / tick) * tick; t < T.from + span; t += tick) {
		const x = (t - T.from) / span * width, text = seconds(t, tick) + "\u202fs";
		if (x + context.measureText(text).width + 4 > width)
			break;
		context.fillRect(x, top, 1, 5);
		context.fillText(text, x + 4, top + 10);
	}
}
function drawChosen(height) {
	const { context, width } = line, [from, to] = line.drag >= 0 ? line.span : chosenBuckets();
	if (line.drag < 0 && !state.time)
		return;
	const x0 = from / T.buckets * width, x1 = Math.max(x0 + 2, to / T.buckets * width);
	context.globalAlpha = 0.72;
	context.fillStyle = theme.back;
	context.fillRect(0, 0, x0, height);
	context.fillRect(x1, 0, width - x1, height);
	context.globalAlpha = 1;
	context.strokeStyle = theme.accent;
	context.lineWidth = 2;
	context.strokeRect(x0 + 1, 1, Math.max(x1 - x0 - 2, 1), height - 2);
}
function drawTime() {
	if (!T)
		return;
	const { canvas, context } = line, n = T.vcpus.length;
	line.lane = n > 16 ? 8 : n > 6 ? 14 : 22;
	const height = n * (line.lane + LANE_GAP), scale = Math.min(devicePixelRatio || 1, 2);
	line.width = canvas.parentNode.clientWidth;
	canvas.style.height = height + AXIS + "px";
	canvas.width = Math.round(line.width * scale);
	canvas.height = Math.round((height + AXIS) * scale);
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.font = "12px system-ui, sans-serif";
	context.textBaseline = "middle";
	const css = getComputedStyle(document.documentElement), colours = {};
	for (const [, , name] of STATES)
		colours[name] = css.getPropertyValue("--" + name).trim();
	const cpus = listed(state.vcpus);
	T.vcpus.forEach((vcpu, cpu) => {
		context.globalAlpha = !cpus || cpus.includes(vcpu) ? 1 : 0.25;
		drawLane(cpu, cpu * (line.lane + LANE_GAP), colours);
	});
	context.globalAlpha = 1;
	drawAxis(height);
	drawChosen(height);
	showChosen();
}
function showLanes() {
	$("lanes").replaceChildren(...T.vcpus.map((vcpu) => {
		const item = make("li", "", T.vcpus.length > 16 ? "" : vcpuName(vcpu));
		item.style.height = line.lane + LANE_GAP + "px";
		return item;
	}));
}
function showChosen() {
	const [from, to] = line.drag >= 0 ? line.span : chosenBuckets();
	const isAll = line.drag < 0 && !state.time;
	$("span").textContent = isAll ? `${timeText(0)} – ${timeText(T.buckets)}` : `${timeText(from)} – ${timeText(to)} of ` +
		`${timeText(T.buckets)}`;
	$("whole").disabled = !state.time;
	$("every").textContent = T.every > 1 ? `This page has one of every ${count(T.every)} samples: intervals of a part are wider.` : "";
}

// ---- Choosing ----

function chooseTime(from, to, isLive) {
	const first = Math.min(Math.max(from, 0), T.buckets - 1);
	const last = Math.min(Math.max(to, first + 1), T.buckets);
	// Exact to a bucket, whatever its width.
	const text = (b) => (bucketTime(b) / 1e9).toFixed(9).replace(/\.?0+$/, "");
	state.time = from <= 0 && to >= T.buckets ? "" : text(first) + "-" + text(last);
	if (!isLive)
		tell("time " + (state.time ? `${timeText(first)} to ${timeText(last)}` : "all"));
	filtersChanged();
}
const bucketAt = (event) => Math.round((event.clientX - line.canvas.getBoundingClientRect().left) / line.width * T.buckets);
function moved(event) {
	const at = Math.min(Math.max(bucketAt(event), 0), T.buckets);
	line.span = [Math.min(line.drag, at), Math.max(line.drag, at)];
}
function timeKey(event) {
	const [from, to] = chosenBuckets(), step = Math.max(1, Math.round(T.buckets / STEPS));
	const isAll = !state.time, n = to - from;
	const move = (by) => {
		const first = Math.min(Math.max(from + by, 0), T.buckets - n);
		return [first, first + n];
	};
	const go = {
		ArrowLeft: () => isAll ? [T.buckets - step, T.buckets] : event.shiftKey ? [from, to - step] : move(-step),
		ArrowRight: () => isAll ? [0, step] : event.shiftKey ? [from, to + step] : move(step),
		"+": () => [from, to + step], "-": () => [from, to - step],
		Home: () => isAll ? [0, step] : move(-T.buckets), End: () => isAll ? [T.buckets - step, T.buckets] : move(T.buckets),
		Escape: () => [0, T.buckets],
	}[event.key];
	if (!go || event.altKey || event.ctrlKey || event.metaKey)
		return;
	event.preventDefault();
	chooseTime(...go());
}
function timeTip(event) {
	const box = line.canvas.getBoundingClientRect();
	const cpu = Math.floor((event.clientY - box.top) / (line.lane + LANE_GAP));
	if (cpu < 0 || cpu >= T.vcpus.length)
		return hideTip();
	const n = Math.max(1, Math.ceil(2 * T.buckets / line.width));
	const from = Math.min(Math.max(bucketAt(event), 0), T.buckets - n);
	const sums = columnSums(cpu, from, from + n), all = sums.reduce((a, b) => a + b, 0), list = make("dl");
	for (const [, number, , words] of STATES)
		if (sums[number])
			tipRow(list, words, percent(sums[number] / all), "");
	showTip([make("div", "title", `${vcpuName(T.vcpus[cpu])}, ${timeText(from)}`), list], event.clientX, event.clientY);
}
function listenToTime() {
	const canvas = line.canvas;
	canvas.addEventListener("pointerdown", (event) => {
		if (!T || event.button)
			return;
		line.drag = Math.min(Math.max(bucketAt(event), 0), T.buckets);
		line.span = [line.drag, line.drag];
		canvas.setPointerCapture(event.pointerId);
		hideTip();
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!T)
			return;
		if (line.drag < 0)
			return timeTip(event);
		moved(event);
		drawTime();
	});
	canvas.addEventListener("pointerup", (event) => {
		if (line.drag < 0)
			return;
		moved(event);
		const [from, to] = line.span;
		line.drag = -1;
		// A click without a drag takes the choice back.
		if (to - from < T.buckets * 3 / line.width)
			chooseTime(0, T.buckets);
		else
			chooseTime(from, to);
	});
	canvas.addEventListener("pointercancel", () => {
		line.drag = -1;
		drawTime();
	});
	canvas.addEventListener("pointerleave", hideTip);
	canvas.addEventListener("keydown", (event) => T && timeKey(event));
	$("whole").addEventListener("click", () => chooseTime(0, T.buckets));
	new ResizeObserver(() => canvas.parentNode.clientWidth !== line.width && T && drawTime()).observe(canvas.parentNode);
}
function showTime() {
	$("moments").hidden = !T;
	if (!T)
		return;
	drawTime();
	showLanes();
}
