// SPDX-License-Identifier: GPL-2.0-or-later
// A flame graph on a canvas: frames, zoom, keys and mouse, of any tree that layOut() knows.

const ROW = 21, MAX_HEIGHT = 12000, MIN_WIDTH = 0.6;

class Flame {
	// own: what is shown and done, by node: name, fill, pick (Enter, click), back (Escape),
	// say, tip; matches: by function, or null; upward: the root is at the bottom;
	// skipRoot: it is not drawn.
	constructor(canvas, own) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.box = canvas.parentNode;
		this.own = own;
		this.tree = layOut({ func: [0], parent: [0], total: [0] });
		this.view = { from: 0, to: 1 };
		this.zoom = this.selected = 0;
		this.hovered = -1;
		this.matches = null;
		this.upward = false;
		this.skipped = own.skipRoot ? 1 : 0;
		this.width = this.frameRequest = 0;
		this.rows = 1;
		this.charWidth = 7;
		this.listen();
	}
	setTree(tree, zoom, selected) {
		this.tree = tree;
		this.zoom = zoom;
		this.selected = selected;
		this.hovered = -1;
	}
	endOf(node) {
		return this.tree.start[node] + this.tree.total[node];
	}

	// ---- Drawing ----

	// The span that the zoom asks for, and the depth of what can be seen of it.
	target() {
		return { from: this.tree.start[this.zoom], to: this.endOf(this.zoom) || 1 };
	}
	firstVisible(level, from) {
		// Levels are sorted by place: the first node that ends after it.
		let low = 0, high = level.length;
		while (low < high) {
			const mid = (low + high) >> 1;
			if (this.endOf(level[mid]) <= from)
				low = mid + 1;
			else
				high = mid;
		}
		return low;
	}
	depthOf(v) {
		const { levels, start, total } = this.tree;
		const least = MIN_WIDTH * (v.to - v.from) / Math.max(1, this.width);
		let d = 0;
		while (d + 1 < levels.length) {
			const level = levels[d + 1];
			let i = this.firstVisible(level, v.from);
			while (i < level.length && start[level[i]] < v.to && total[level[i]] < least)
				i++;
			if (i >= level.length || start[level[i]] >= v.to)
				break;
			d++;
		}
		return d;
	}
	resize() {
		const context = this.context;
		this.width = this.box.clientWidth;
		const depth = this.depthOf(this.target()) + 1 - this.skipped;
		this.rows = Math.max(1, Math.min(depth, Math.floor(MAX_HEIGHT / ROW)));
		const scale = Math.min(devicePixelRatio || 1, 2), height = this.rows * ROW;
		this.canvas.style.height = height + "px";
		this.canvas.width = Math.round(this.width * scale);
		this.canvas.height = Math.round(height * scale);
		context.setTransform(this.canvas.width / Math.max(1, this.width), 0, 0,
			this.canvas.height / height, 0, 0);
		context.font = "12px " + theme.mono;
		this.charWidth = context.measureText("MMMMMMMMMM").width / 10;
		context.textBaseline = "middle";
	}
	topOf(d) {
		return (this.upward ? this.rows - 1 - d + this.skipped : d - this.skipped) * ROW;
	}
	drawFrame(node, x0, x1) {
		const { context, tree, matches, selected } = this;
		const y = this.topOf(tree.depth[node]), w = x1 - x0;
		const isMatch = matches && node && matches[tree.func[node]];
		const faint = !matches && tree.depth[node] < tree.depth[this.zoom];
		context.globalAlpha = faint ? 0.55 : 1;
		context.fillStyle = !node ? theme.root : matches && !isMatch ? theme.panel : this.own.fill(node);
		context.fillRect(x0, y, Math.max(w - 1, 0.5), ROW - 1);
		if (isMatch) {
			context.fillStyle = theme.accent;
			context.fillRect(x0, y + ROW - 4, Math.max(w - 1, 0.5), 3);
		}
		context.globalAlpha = 1;
		const room = Math.floor((w - 9) / this.charWidth);
		if (room >= 2) {
			const name = this.own.name(node);
			const text = name.length > room ? name.slice(0, room - 1) + "…" : name;
			context.fillStyle = matches && !isMatch ? theme.muted : theme.text;
			context.fillText(text, x0 + 5, y + ROW / 2);
		}
		if (node === this.hovered || (node === selected && document.activeElement === this.canvas)) {
			context.strokeStyle = node === this.hovered ? theme.text : theme.accent;
			context.lineWidth = node === this.hovered ? 1 : 2.5;
			context.strokeRect(x0 + 1, y + 1, Math.max(w - 3, 1), ROW - 3);
		}
	}
	draw() {
		const { levels, start, total } = this.tree, { view, width } = this;
		this.frameRequest = 0;
		this.context.clearRect(0, 0, width, this.rows * ROW);
		const scale = width / (view.to - view.from);
		for (let d = this.skipped; d < levels.length && d < this.rows + this.skipped; d++) {
			const level = levels[d];
			for (let i = this.firstVisible(level, view.from); i < level.length; i++) {
				const node = level[i];
				if (start[node] >= view.to)
					break;
				if (total[node] * scale < MIN_WIDTH)
					continue;
				const x0 = Math.max(0, (start[node] - view.from) * scale);
				this.drawFrame(node, x0, Math.min(width, (this.endOf(node) - view.from) * scale));
			}
		}
	}
	redraw() {
		this.frameRequest ||= requestAnimationFrame(() => this.draw());
	}
	animate(from, to, began) {
		const t = Math.min(1, (performance.now() - began) / 160), ease = 1 - (1 - t) ** 3;
		this.view = { from: from.from + (to.from - from.from) * ease, to: from.to + (to.to - from.to) * ease };
		this.draw();
		if (t < 1 && to.from === this.target().from && to.to === this.target().to)
			requestAnimationFrame(() => this.animate(from, to, began));
	}
	show(isAnimated) {
		this.resize();
		const to = this.target();
		if (isAnimated && !matchMedia("(prefers-reduced-motion: reduce)").matches)
			this.animate(this.view, to, performance.now());
		else
			this.view = to;
		this.redraw();
	}

	// ---- Mouse and keys ----

	nodeAt(event) {
		const box = this.canvas.getBoundingClientRect();
		const d0 = Math.floor((event.clientY - box.top) / ROW), { view } = this;
		const level = this.tree.levels[(this.upward ? this.rows - 1 - d0 : d0) + this.skipped];
		if (!level || d0 < 0 || d0 >= this.rows)
			return -1;
		const at = view.from + (event.clientX - box.left) / this.width * (view.to - view.from);
		const i = this.firstVisible(level, at);
		return i < level.length && this.tree.start[level[i]] <= at ? level[i] : -1;
	}
	// The middle of a frame, in the window.
	middleOf(node) {
		const box = this.canvas.getBoundingClientRect(), { view, tree } = this;
		const at = (tree.start[node] + tree.total[node] / 2 - view.from) / (view.to - view.from);
		return [box.left + at * box.width, box.top + this.topOf(tree.depth[node]) + ROW / 2];
	}
	step(node, direction) {
		const { levels, depth, start, total } = this.tree;
		const level = levels[depth[node]], v = this.target();
		for (let i = level.indexOf(node) + direction; i >= 0 && i < level.length; i += direction) {
			if (this.endOf(level[i]) <= v.from || start[level[i]] >= v.to)
				return node;
			if (total[level[i]] * this.width / (v.to - v.from) >= MIN_WIDTH)
				return level[i];
		}
		return node;
	}
	childInView(node) {
		// Above the zoom there is one way down: towards it.
		const { depth, firstChild } = this.tree;
		if (depth[node] < depth[this.zoom])
			return pathTo(this.tree, this.zoom)[depth[node] + 1];
		return firstChild[node] || node;
	}
	key(event) {
		const outer = () => this.tree.parent[this.selected] || 0;
		const inner = () => this.childInView(this.selected);
		const go = { ArrowLeft: () => this.step(this.selected, -1), ArrowRight: () => this.step(this.selected, 1),
			ArrowUp: this.upward ? inner : outer, ArrowDown: this.upward ? outer : inner,
			Home: () => 0 }[event.key];
		if (event.altKey || event.ctrlKey || event.metaKey)
			return;
		if (go) {
			this.selected = go();
			this.own.say(this.selected);
			this.redraw();
			this.tipAtSelected();
		} else if (event.key === "Enter" || event.key === " ") {
			hideTip();
			this.own.pick(this.selected);
		} else if (event.key === "Escape" || event.key === "Backspace") {
			hideTip();
			this.own.back();
		} else {
			return;
		}
		event.preventDefault();
	}
	tipAtSelected() {
		const box = this.canvas.getBoundingClientRect(), { view, tree, selected } = this;
		const scale = this.width / (view.to - view.from);
		const x = Math.max(0, (tree.start[selected] - view.from) * scale);
		const y = box.top + this.topOf(tree.depth[selected]);
		if (y >= -ROW && y < innerHeight)
			showTip(this.own.tip(selected), box.left + x, y);
	}
	hover(event) {
		const node = this.nodeAt(event);
		if (node !== this.hovered)
			this.redraw();
		this.hovered = node;
		if (node < 0)
			hideTip();
		else
			showTip(this.own.tip(node), event.clientX, event.clientY);
	}
	listen() {
		const canvas = this.canvas;
		canvas.addEventListener("mousemove", (event) => this.hover(event));
		canvas.addEventListener("mouseleave", () => {
			this.hovered = -1;
			hideTip();
			this.redraw();
		});
		canvas.addEventListener("click", (event) => {
			const node = this.nodeAt(event);
			hideTip();
			if (node >= 0)
				this.own.pick(node);
		});
		canvas.addEventListener("keydown", (event) => this.key(event));
		canvas.addEventListener("focus", () => this.redraw());
		canvas.addEventListener("blur", () => {
			hideTip();
			this.redraw();
		});
		new ResizeObserver(() => this.box.clientWidth !== this.width && data && this.show(false)).observe(this.box);
	}
}
