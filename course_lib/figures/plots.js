// Draws the figure that plots.py describes: axes, lines, points, bars, stacks and words, as SVG. All sizes are in the viewBox's
// units. `plot(el)` gives a picture to paint and to repaint; explorer.js follows in the same module.
const NS = "http://www.w3.org/2000/svg";
const WIDTH = 640, HEIGHT = 400;
const BOX = { left: 80, right: 622, top: 40, bottom: 346 };
const REACH = 40; // how near the pointer must be to a mark for its values to show
const FAR = 60; // what a label that stands away from its point is worth, in square units of an overlap
const LINE = 16; // from one line of words to the next

function add(parent, name, attributes = {}, text = "") {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
}

function position(axis, from, to) {
  const at = axis.log ? Math.log10 : (value) => value;
  const low = at(axis.low), high = at(axis.high);
  return (value) => from + ((to - from) * (at(value) - low)) / (high - low);
}

function drawAxes(group, { x: across, y: up }, x, y) {
  add(group, "path", { d: `M${BOX.left} ${BOX.top}V${BOX.bottom}H${BOX.right}` });
  for (const [value, text] of across.ticks) {
    add(group, "path", { d: `M${x(value)} ${BOX.bottom}v5` });
    add(group, "text", { x: x(value), y: BOX.bottom + 19, "text-anchor": "middle" }, text);
  }
  for (const [value, text] of up.ticks) {
    add(group, "path", { d: `M${BOX.left} ${y(value)}h-5` });
    add(group, "path", { class: "grid", d: `M${BOX.left} ${y(value)}H${BOX.right}` });
    add(group, "text", { x: BOX.left - 9, y: y(value) + 4, "text-anchor": "end" }, text);
  }
  add(group, "text", { x: (BOX.left + BOX.right) / 2, y: HEIGHT - 12, "text-anchor": "middle" }, across.title);
  const middle = (BOX.top + BOX.bottom) / 2;
  add(group, "text", { transform: `translate(14 ${middle}) rotate(-90)`, "text-anchor": "middle" }, up.title);
}

// ---- Marks: each draws itself and gives { targets: what can be pointed at, words: labels that `place` puts down, corners:
// of a line, which words had better not cross } ----
const MARKS = {
  line({ shapes }, mark, x, y) {
    const corners = mark.x.map((value, i) => [x(value), y(mark.y[i])]);
    const path = corners.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`);
    add(shapes, "path", { class: mark.dashed ? "line dashed" : "line", d: `M${path.join("L")}` });
    if (!mark.label) return { corners };
    const [px, py] = corners.at(mark.label_at);
    return { corners, words: [{ text: mark.label, kind: "label", rank: 1, px, py, away: 8 }] };
  },
  points({ above }, mark, x, y) {
    const targets = mark.x.map((value, i) => ({ px: x(value), py: y(mark.y[i]), width: 0, height: 0, text: mark.texts[i] }));
    for (const { px, py } of targets) {
      if (mark.strong) add(above, "path", { class: "point strong", d: `M${px} ${py - 9}l9 9l-9 9l-9-9z` });
      else add(above, "circle", { class: "point", cx: px, cy: py, r: 5 });
    }
    const [kind, rank] = mark.strong ? ["label strong", 0] : ["label", 2];
    const words = targets.map(({ px, py }, i) => ({ text: mark.labels[i], kind, rank, px, py, away: 9 }));
    return { targets, words: words.filter(({ text }) => text) };
  },
  bars({ shapes }, mark, x, y) {
    const width = 0.6 * (x(1) - x(0));
    const targets = mark.y.map((value, i) => {
      const top = Math.min(y(value), y.zero), height = Math.abs(y(value) - y.zero);
      add(shapes, "rect", { class: "bar", x: x(i) - width / 2, y: top, width, height });
      return { px: x(i), py: top + height / 2, width, height, text: mark.texts[i] };
    });
    return { targets };
  },
  stack({ shapes, above }, mark, x, y) {
    const width = 0.6 * (x(1) - x(0)), last = mark.parts[0][1].length - 1, from = mark.parts[0][1].map(() => 0), targets = [];
    let free = Infinity;
    mark.parts.forEach(([label, values, texts], number) => {
      values.forEach((value, i) => {
        const top = y(from[i] + value), height = y(from[i]) - top;
        add(shapes, "rect", { class: number % 2 ? "part" : "part odd", x: x(i) - width / 2, y: top, width, height });
        targets.push({ px: x(i), py: top + height / 2, width, height, text: texts[i] });
        from[i] += value;
      });
      const { py } = targets.at(-1), edge = x(last) + width / 2;
      free = Math.min(py, free - LINE, BOX.bottom - 9);
      const name = add(above, "text", { class: "label", y: free + 4 }, label);
      const left = Math.min(edge + 20, WIDTH - 4 - name.getBBox().width); // a long one begins further left
      name.setAttribute("x", left);
      add(above, "path", { class: "leader", d: `M${edge} ${py}L${left - 4} ${free}` });
    });
    return { targets };
  },
  label(layers, mark, x, y) {
    return { words: [{ text: mark.text, kind: "note", rank: 3, px: x(mark.x), py: y(mark.y), away: 0 }] };
  },
};

// Where words can stand beside a point: [anchor, step right, step down], the best first.
const AROUND = [["start", 1, 1], ["end", -1, 1], ["end", -1, -1], ["start", 1, -1], ["middle", 0, 1], ["middle", 0, -1],
  ["start", 1, 3], ["end", -1, 3], ["end", -1, -3], ["start", 1, -3], ["start", 1, 5], ["end", -1, -5]];
const ABOVE = [["end", 0, -1], ["start", 0, -1], ["end", 0, 1], ["start", 0, 1]];
const MIDDLE = [["middle", 0, 0], ["middle", 0, -2], ["middle", 0, -4]];

const overlap = (a, b) => Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) *
  Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));

// Small boxes every few units along a line.
function along(corners) {
  return corners.slice(1).flatMap(([toX, toY], i) => {
    const [px, py] = corners[i], steps = Math.min(Math.ceil(Math.hypot(toX - px, toY - py) / 6), WIDTH);
    return Array.from({ length: steps }, (_, n) => [px + ((toX - px) * n) / steps, py + ((toY - py) * n) / steps]);
  }).map(([px, py]) => ({ left: px - 3, right: px + 3, top: py - 3, bottom: py + 3, weight: 0.15, line: true }));
}

// Put each text where it covers least of points, of texts already there and of lines, and never outside the box.
function place(group, words, targets, lines) {
  const taken = targets.filter(({ width }) => !width).map(({ px, py }) =>
    ({ px, py, left: px - 14, right: px + 14, top: py - 8, bottom: py + 8, weight: 1 }));
  taken.push(...lines.flatMap(along));
  for (const word of [...words].sort((a, b) => a.rank - b.rank)) {
    const node = add(group, "text", { class: word.kind }, word.text), width = node.getBBox().width || word.text.length * 6.5;
    const spots = word.rank === 3 ? MIDDLE : word.rank === 1 ? ABOVE : AROUND;
    const boxes = spots.map(([anchor, right, down]) => {
      const x = word.px + right * word.away, middle = word.py + down * (word.away || 8) + Math.sign(down) * 6;
      const left = Math.min(Math.max(x - width * { start: 0, middle: 0.5, end: 1 }[anchor], BOX.left + 3), BOX.right - width);
      const top = Math.min(Math.max(middle - 8, BOX.top - 10), BOX.bottom - 17);
      return { left, right: left + width, top, bottom: top + 16 };
    });
    // its own point is no obstacle; nor are lines for words with a place of their own, which may be a box of lines
    const others = taken.filter(({ px, py, line }) => (px !== word.px || py !== word.py) && !(line && word.rank === 3));
    const cost = boxes.map((box, n) => others.reduce((sum, other) => sum + other.weight * overlap(box, other), n < 6 ? 0 : FAR));
    const best = boxes[cost.indexOf(Math.min(...cost))];
    node.setAttribute("x", best.left);
    node.setAttribute("y", best.top + 12);
    taken.push({ ...best, weight: 4 });
  }
}

function plot(el) {
  el.classList.add("course-plot");
  const id = `course-plot-${Math.random().toString(36).slice(2)}`;
  const svg = add(el, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0", "aria-labelledby": `${id}-t ${id}-d`,
    "data-lm-suppress-shortcuts": "true" }); // JupyterLab takes the arrow keys from every element without this mark
  const title = add(svg, "title", { id: `${id}-t` });
  const description = add(svg, "desc", { id: `${id}-d` });
  add(add(svg, "clipPath", { id }), "rect", { x: BOX.left, y: BOX.top - 12, width: BOX.right - BOX.left, height: BOX.bottom - BOX.top + 12 });
  const heading = add(svg, "text", { class: "title", x: BOX.left, y: 20 });
  const frame = add(svg, "g", { class: "axis" });
  const shapes = add(svg, "g", { "clip-path": `url(#${id})` });
  const above = add(svg, "g"); // points and words, which may stand out of the box by half
  const tip = add(svg, "g", { class: "tip", visibility: "hidden" });
  const spoken = document.createElement("div"); // the values shown, for a screen reader
  spoken.className = "spoken";
  spoken.setAttribute("aria-live", "polite");
  el.append(spoken);
  let targets = [], current = -1, drawn = null, last = null;

  // Words have a width only on the page, and may be drawn before they are there: then they are placed again.
  const seen = new ResizeObserver(() => {
    if (!svg.getBoundingClientRect().width) return;
    if (last) paint(...last);
    seen.disconnect();
  });
  seen.observe(svg);

  function paint(axes, figure) {
    last = [axes, figure];
    const x = position(axes.x, BOX.left, BOX.right), y = position(axes.y, BOX.bottom, BOX.top);
    y.zero = axes.y.log ? BOX.bottom : y(Math.min(Math.max(0, axes.y.low), axes.y.high));
    title.textContent = heading.textContent = figure.title;
    heading.setAttribute("x", Math.max(6, Math.min(BOX.left, WIDTH - 6 - heading.getBBox().width))); // a long one begins further left
    description.textContent = figure.description;
    if (drawn !== axes) {
      frame.replaceChildren();
      drawAxes(frame, axes, x, y);
      drawn = axes;
    }
    shapes.replaceChildren();
    above.replaceChildren();
    const marks = figure.marks.map((mark) => MARKS[mark.kind]({ shapes, above }, mark, x, y));
    targets = marks.flatMap((mark) => mark.targets ?? []);
    place(above, marks.flatMap((mark) => mark.words ?? []), targets, marks.flatMap((mark) => (mark.corners ? [mark.corners] : [])));
    show(current < targets.length ? current : -1); // values that are shown follow their mark
  }

  function show(index) {
    current = index;
    tip.setAttribute("visibility", index < 0 ? "hidden" : "visible");
    if (index < 0) return;
    const { px, py, text } = targets[index];
    tip.replaceChildren();
    const box = add(tip, "rect", { rx: 3 });
    const words = add(tip, "text", { x: px, y: py < 60 ? py + 30 : py - 18, "text-anchor": "middle" }, text);
    const size = words.getBBox();
    const shift = Math.max(6 - size.x, Math.min(0, WIDTH - 6 - size.x - size.width));
    words.setAttribute("x", px + shift);
    const around = { x: size.x + shift - 5, y: size.y - 3, width: size.width + 10, height: size.height + 6 };
    for (const [key, value] of Object.entries(around)) box.setAttribute(key, value);
    if (spoken.textContent !== text) spoken.textContent = text;
  }

  svg.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const outside = (from, to, size) => Math.max(0, Math.abs(from - to) - size / 2);
    const distance = targets.map((t) => Math.hypot(outside(t.px, at.x, t.width), outside(t.py, at.y, t.height)));
    const nearest = distance.indexOf(Math.min(...distance));
    show(distance[nearest] <= REACH ? nearest : -1);
  });
  svg.addEventListener("pointerleave", () => show(-1));
  svg.addEventListener("blur", () => show(-1));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") show(-1);
    else if (step && targets.length) show((current + step + targets.length + (current < 0 && step < 0)) % targets.length);
    else return;
    event.preventDefault();
  });
  return paint;
}
