// Draws the figure that plots.py describes: axes, lines, points, bars and words, as SVG. All sizes are in the viewBox's units.
const NS = "http://www.w3.org/2000/svg";
const WIDTH = 640, HEIGHT = 400;
const BOX = { left: 74, right: 622, top: 40, bottom: 346 };
const REACH = 40; // how near the pointer must be to a point for its values to show

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

function axes(svg, spec, x, y) {
  const group = add(svg, "g", { class: "axis" });
  add(group, "path", { d: `M${BOX.left} ${BOX.top}V${BOX.bottom}H${BOX.right}` });
  for (const [value, text] of spec.x.ticks) {
    add(group, "path", { d: `M${x(value)} ${BOX.bottom}v5` });
    add(group, "text", { x: x(value), y: BOX.bottom + 19, "text-anchor": "middle" }, text);
  }
  for (const [value, text] of spec.y.ticks) {
    add(group, "path", { d: `M${BOX.left} ${y(value)}h-5` });
    add(group, "path", { class: "grid", d: `M${BOX.left} ${y(value)}H${BOX.right}` });
    add(group, "text", { x: BOX.left - 9, y: y(value) + 4, "text-anchor": "end" }, text);
  }
  add(group, "text", { x: (BOX.left + BOX.right) / 2, y: HEIGHT - 12, "text-anchor": "middle" }, spec.x.title);
  const middle = (BOX.top + BOX.bottom) / 2;
  add(group, "text", { transform: `translate(16 ${middle}) rotate(-90)`, "text-anchor": "middle" }, spec.y.title);
}

// The text of a point lies to its lower right, or to its lower left where the right edge is near.
function pointLabel(group, px, py, text, strong) {
  const left = px > BOX.right - 130;
  add(group, "text", { class: strong ? "label strong" : "label", x: px + (left ? -9 : 9), y: Math.min(py + 17, BOX.bottom - 5),
    "text-anchor": left ? "end" : "start" }, text);
}

const MARKS = {
  line(group, mark, x, y) {
    const path = mark.x.map((value, i) => `${x(value).toFixed(1)} ${y(mark.y[i]).toFixed(1)}`);
    add(group, "path", { class: mark.dashed ? "line dashed" : "line", d: `M${path.join("L")}` });
    const at = mark.label_at < 0 ? mark.x.length + mark.label_at : mark.label_at;
    if (mark.label) add(group, "text", { class: "label", x: x(mark.x[at]), y: y(mark.y[at]) - 8, "text-anchor": "end" }, mark.label);
    return [];
  },
  points(group, mark, x, y) {
    return mark.x.map((value, i) => {
      const px = x(value), py = y(mark.y[i]);
      if (mark.strong) add(group, "path", { class: "point strong", d: `M${px} ${py - 9}l9 9l-9 9l-9-9z` });
      else add(group, "circle", { class: "point", cx: px, cy: py, r: 5 });
      pointLabel(group, px, py, mark.labels[i], mark.strong);
      return { px, py, text: mark.texts[i] };
    });
  },
  bars(group, mark, x, y, spec) {
    const width = 0.6 * (x(1) - x(0));
    return mark.y.map((value, i) => {
      const px = x(i), py = y(value), zero = spec.y.log ? BOX.bottom : y(Math.max(0, spec.y.low));
      add(group, "rect", { class: "bar", x: px - width / 2, y: Math.min(py, zero), width, height: Math.abs(zero - py) });
      return { px, py, text: mark.texts[i] };
    });
  },
  label(group, mark, x, y) {
    add(group, "text", { class: "note", x: x(mark.x), y: y(mark.y), "text-anchor": "middle" }, mark.text);
    return [];
  },
};

function render({ model, el }) {
  el.classList.add("course-plot");
  const id = `course-plot-${Math.random().toString(36).slice(2)}`;
  const svg = add(el, "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", tabindex: "0", "aria-labelledby": `${id}-t ${id}-d`,
    "data-lm-suppress-shortcuts": "true" });
  const title = add(svg, "title", { id: `${id}-t` });
  const description = add(svg, "desc", { id: `${id}-d` });
  add(add(svg, "clipPath", { id }), "rect", { x: BOX.left, y: BOX.top - 12, width: BOX.right - BOX.left + 12, height: BOX.bottom - BOX.top + 12 });
  const picture = add(svg, "g");
  const tip = add(svg, "g", { class: "tip", visibility: "hidden" });
  const spoken = document.createElement("div"); // the values shown, for a screen reader
  spoken.className = "spoken";
  spoken.setAttribute("aria-live", "polite");
  el.append(spoken);
  let targets = [], current = -1;

  function paint() {
    const spec = model.get("spec");
    if (!spec.marks) return;
    title.textContent = spec.title;
    description.textContent = spec.description;
    const x = position(spec.x, BOX.left, BOX.right), y = position(spec.y, BOX.bottom, BOX.top);
    picture.replaceChildren();
    add(picture, "text", { class: "title", x: BOX.left, y: 20 }, spec.title);
    axes(picture, spec, x, y);
    const marks = add(picture, "g", { "clip-path": `url(#${id})` });
    targets = spec.marks.flatMap((mark) => MARKS[mark.kind](marks, mark, x, y, spec));
    show(-1);
  }

  function show(index) {
    current = index;
    tip.setAttribute("visibility", index < 0 ? "hidden" : "visible");
    if (index < 0) return;
    const { px, py, text } = targets[index];
    tip.replaceChildren();
    const box = add(tip, "rect", { rx: 3 });
    const words = add(tip, "text", { x: px, y: py - 18, "text-anchor": "middle" }, text);
    const size = words.getBBox();
    const shift = Math.max(4 - size.x, Math.min(0, WIDTH - 4 - size.x - size.width));
    words.setAttribute("x", px + shift);
    const frame = { x: size.x + shift - 5, y: size.y - 3, width: size.width + 10, height: size.height + 6 };
    for (const [key, value] of Object.entries(frame)) box.setAttribute(key, value);
    spoken.textContent = text;
  }

  svg.addEventListener("pointermove", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const distance = targets.map(({ px, py }) => Math.hypot(px - at.x, py - at.y));
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
  // JupyterLab takes the arrow keys and Enter from every focused element that is no text field and has no such mark. The controls
  // of ipywidgets come without one; those of the explorer that this plot belongs to get it when they are first focused.
  const mark = ({ target }) => target.closest?.(".course-explorer") && target.setAttribute("data-lm-suppress-shortcuts", "true");
  document.addEventListener("focusin", mark);
  model.on("change:spec", paint);
  paint();
  return () => {
    document.removeEventListener("focusin", mark);
    model.off("change:spec", paint);
  };
}

export default { render };
