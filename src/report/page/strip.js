// SPDX-License-Identifier: GPL-2.0-or-later
// The last minutes of a guest that is observed: a row for each vCPU, a column for each
// second.  A drag, or the arrow keys, choose a time.

const STRIP_ROW = 18, STRIP_COLUMN = 5, STRIP_NAME = 64;

class Strip {
	// chosen(range): called with {from, to} in seconds, or null, when the user has chosen.
	constructor(canvas, chosen) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.chosen = chosen;
		this.first = 0; // second of the first column that is there
		this.seconds = []; // of each: [guest, exit, ready, idle] for each row, flat
		this.rows = 1;
		this.range = null;
		this.anchor = null;
		this.listen();
	}
	get end() {
		return this.first + this.seconds.length;
	}
	// What /history says.
	add(history) {
		if (history.first > this.end || !this.seconds.length) {
			this.first = history.first;
			this.seconds = [];
		}
		this.seconds.push(...history.seconds.slice(this.end - history.first));
		const most = 900;
		if (this.seconds.length > most) {
			this.first += this.seconds.length - most;
			this.seconds = this.seconds.slice(-most);
		}
		this.rows = Math.max(1, history.rows);
		this.draw();
	}
	columns() {
		return Math.max(1, Math.floor((this.width - STRIP_NAME) / STRIP_COLUMN));
	}
	// The second at the left edge: the newest one is at the right, once there are enough.
	left() {
		return Math.max(this.first, this.end - this.columns());
	}
	draw() {
		const c = this.context, scale = Math.min(devicePixelRatio || 1, 2);
		this.width = this.canvas.parentNode.clientWidth;
		const height = this.rows * STRIP_ROW;
		this.canvas.style.height = height + "px";
		this.canvas.width = Math.round(this.width * scale);
		this.canvas.height = Math.round(height * scale);
		c.setTransform(scale, 0, 0, scale, 0, 0);
		const css = getComputedStyle(document.documentElement);
		const colour = (name) => css.getPropertyValue(name).trim();
		const parts = [colour("--running"), colour("--exit"), colour("--ready")];
		c.fillStyle = colour("--panel");
		c.fillRect(0, 0, this.width, height);
		const left = this.left();
		for (let row = 0; row < this.rows; row++) {
			c.fillStyle = colour("--muted");
			c.font = "12px " + colour("--mono");
			c.textBaseline = "middle";
			c.fillText("vCPU " + row, 6, (row + 0.5) * STRIP_ROW);
			for (let s = left; s < this.end; s++)
				this.drawSecond(row, s, STRIP_NAME + (s - left) * STRIP_COLUMN, parts);
		}
		this.drawRange(left, height, colour("--accent"));
	}
	drawSecond(row, second, x, parts) {
		const did = this.seconds[second - this.first].slice(4 * row, 4 * row + 4);
		const all = did.reduce((a, b) => a + b, 0);
		let bottom = (row + 1) * STRIP_ROW - 1;
		for (let i = 0; all && i < parts.length; i++) {
			const h = did[i] / all * (STRIP_ROW - 2);
			this.context.fillStyle = parts[i];
			this.context.fillRect(x, bottom - h, STRIP_COLUMN - 1, h);
			bottom -= h;
		}
	}
	drawRange(left, height, colour) {
		if (!this.range)
			return;
		const at = (s) => STRIP_NAME + (Math.max(left, s) - left) * STRIP_COLUMN;
		this.context.strokeStyle = colour;
		this.context.lineWidth = 2;
		this.context.strokeRect(at(this.range.from), 1, Math.max(3, at(this.range.to) - at(this.range.from) - 1), height - 2);
	}

	// ---- Choosing ----

	choose(range) {
		this.range = range;
		this.draw();
		this.chosen(range);
	}
	secondAt(event) {
		const x = event.clientX - this.canvas.getBoundingClientRect().left - STRIP_NAME;
		const s = this.left() + Math.floor(x / STRIP_COLUMN);
		return Math.max(this.first, Math.min(this.end - 1, s));
	}
	key(event) {
		const range = this.range || { from: this.end - 1, to: this.end };
		const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (event.altKey || event.ctrlKey || event.metaKey || !this.seconds.length)
			return;
		if (event.key === "Escape") {
			this.choose(null);
		} else if (by) {
			let { from, to } = range;
			if (event.shiftKey) {
				to = Math.max(from + 1, Math.min(this.end, to + by));
			} else if (from + by >= this.first && to + by <= this.end) {
				from += by;
				to += by;
			}
			this.choose({ from, to });
		} else {
			return;
		}
		event.preventDefault();
	}
	listen() {
		const c = this.canvas;
		c.addEventListener("pointerdown", (event) => {
			if (!this.seconds.length)
				return;
			c.setPointerCapture(event.pointerId);
			this.anchor = this.secondAt(event);
			this.range = { from: this.anchor, to: this.anchor + 1 };
			this.draw();
		});
		c.addEventListener("pointermove", (event) => {
			if (this.anchor === null)
				return;
			const s = this.secondAt(event);
			this.range = { from: Math.min(s, this.anchor), to: Math.max(s, this.anchor) + 1 };
			this.draw();
		});
		c.addEventListener("pointerup", () => {
			if (this.anchor !== null)
				this.choose(this.range);
			this.anchor = null;
		});
		c.addEventListener("keydown", (event) => this.key(event));
		new ResizeObserver(() => this.canvas.parentNode.clientWidth !== this.width && this.draw()).observe(c.parentNode);
	}
}
