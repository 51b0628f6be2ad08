// An explorer: controls, the picture of plots.js, the numbers, and the call that shows this state again. Every change of a control
// asks Python once; a control shows at once what the learner chose, and takes Python's value when no question of this view is open:
// from the answer to the last one, or because another view of the same explorer asked.
const ROOM = 29; // characters that a column has for a name (of eleven at least, as the style has it) and an option
const PATIENCE = 3000; // ms until the page says that no answer came

// Each kind of control: a node in the bar, with `show` for a value, `offer` for what can be chosen in this state, and a call of `ask`
// for each change that the learner makes.
const CONTROLS = {
  choice(bar, { label }, ask, texts) {
    const frame = make(bar, "label", { class: "control" });
    make(frame, "span", { class: "name" }, label);
    const select = make(frame, "select", { "aria-label": label });
    frame.classList.toggle("long", Math.max(label.length, 11) + Math.max(...texts.map((text) => text.length)) > ROOM);
    select.addEventListener("change", () => ask(select.value));
    let shown = "";
    const offer = (texts) => {
      if (shown !== (shown = texts.join("\n"))) select.replaceChildren(...texts.map((text) => new Option(text)));
    };
    return { offer, show: (value) => (select.value = value) };
  },
  flag(bar, { label }, ask) {
    const frame = make(bar, "label", { class: "control" });
    const box = make(frame, "input", { type: "checkbox" });
    make(frame, "span", {}, label);
    box.addEventListener("change", () => ask(box.checked));
    return { show: (value) => (box.checked = value) };
  },
  number(bar, { label, exact, low, high, step, stops }, ask) {
    const frame = make(bar, "div", { class: stops.length ? "control wide" : "control", role: "group", "aria-label": label });
    make(frame, "span", { class: "name", "aria-hidden": "true" }, label);
    let typed = ""; // the box's text that was asked for last
    const slider = stops.length ? make(frame, "input", { type: "range", min: 0, max: stops.length - 1, "aria-label": label }) : null;
    const box = make(frame, "input", { type: "number", min: low, max: high, step, "aria-label": exact });
    const follow = (value) => { // the slider stands at the stop at the value, or at the nearest below
      if (!slider) return;
      const above = stops.findIndex(([stop]) => stop > value);
      slider.value = (above < 0 ? stops.length : Math.max(above, 1)) - 1;
      slider.setAttribute("aria-valuetext", stops[slider.value][1]);
    };
    const offer = (found) => {
      stops = found;
      slider.max = stops.length - 1;
      follow(Number(box.value));
    };
    const show = (value, own = false) => {
      if (!own && box.matches(":focus") && box.value !== typed) return; // an answer must not take away what is being typed
      box.value = typed = String(value);
      box.removeAttribute("aria-invalid");
      follow(value);
    };
    slider?.addEventListener("input", () => {
      const [value] = stops[slider.value];
      show(value, true);
      ask(value);
    });
    const commit = () => {
      if (box.value === typed) return;
      typed = box.value;
      const value = typed === "" ? null : Number(typed);
      if (value !== null && value >= low && value <= high) follow(value);
      else box.setAttribute("aria-invalid", "true");
      ask(value);
    };
    box.addEventListener("change", commit);
    box.addEventListener("keydown", ({ key }) => key === "Enter" && commit()); // JupyterLab keeps the change of an Enter for itself
    return { show, offer };
  },
};

function render({ model, el }) {
  el.classList.add("course-explorer", "course-range");
  const bar = make(el, "div", { class: "bar" });
  const narrow = ([, spec]) => !spec.stops?.length; // sliders take a whole line each, below all others
  const specs = Object.entries(model.get("controls")), words = model.get("words");
  const controls = [...specs.filter(narrow), ...specs.filter((spec) => !narrow(spec))].map(([name, spec]) =>
    ({ name, kind: spec.kind, ...CONTROLS[spec.kind](bar, spec, (value) => ask({ values: { [name]: value } }), model.get("options")[name]) }));
  // A sentence on a refused state stands right below the controls, over the picture that it is not about: nothing moves for it.
  const stage = make(el, "div", { class: "stage" });
  const paint = plot(make(stage, "div"));
  const line = make(stage, "p", { class: "sentence", role: "status" });
  const finding = make(el, "div", { class: "spoken", role: "status" });
  const numbers = make(el, "dl");
  const code = make(el, "code", { class: model.get("call").length > 120 ? "tall" : "", tabindex: "0" });
  const again = make(el, "button", { type: "button" }, words.reset);
  const copy = make(el, "button", { type: "button" }, words.copy);
  const notes = make(el, "details");
  make(notes, "summary", {}, words.notes);
  const sentences = make(notes, "ul");
  for (const node of [again, copy]) keepPointer(node);
  ownKeys(el);
  let pending = {}, timer = null, waiting = ""; // for the answer to this question

  // Changes made while a question is on its way are asked together in the next one: the last value of each control counts.
  function ask(change) {
    pending = change.reset ? change : { ...pending, values: { ...pending.values, ...change.values } };
    waiting = Math.random().toString(36).slice(2); // no two are alike, whichever window asks
    el.setAttribute("aria-busy", "true");
    model.set("asked", { question: waiting, ...pending });
    model.save_changes();
    clearTimeout(timer);
    timer = setTimeout(() => say(words.silent), PATIENCE);
  }

  function say(text) {
    if (line.textContent !== text) line.textContent = text;
    el.classList.toggle("refused", text !== "");
  }

  function update() {
    const values = model.get("values"), options = model.get("options");
    if (!waiting || model.get("answered") === waiting) {
      clearTimeout(timer);
      el.removeAttribute("aria-busy");
      pending = {};
      waiting = "";
      for (const { name, kind, offer, show } of controls) {
        if (name in options) offer(options[name]);
        if (!model.get("line") || kind === "choice") show(values[name]); // a number that Python refused stays, to be corrected
      }
    }
    paint(model.get("axes"), model.get("drawing"));
    finding.textContent = model.get("drawing").title;
    numbers.replaceChildren();
    for (const [label, value] of model.get("numbers")) {
      const pair = make(numbers, "div");
      make(pair, "dt", {}, label);
      make(pair, "dd", {}, value);
    }
    say(model.get("line"));
    sentences.replaceChildren();
    for (const text of model.get("notes")) make(sentences, "li", {}, text);
    notes.hidden = !model.get("notes").length;
    code.textContent = model.get("call");
    code.hidden = copy.hidden = !model.get("call");
  }

  again.addEventListener("click", () => ask({ reset: true }));
  copy.addEventListener("click", async () => {
    getSelection().selectAllChildren(code); // where the clipboard is closed to the page, the call is at least marked
    await navigator.clipboard?.writeText(code.textContent).catch(() => {});
    copy.textContent = words.copied;
    setTimeout(() => (copy.textContent = words.copy), 1500);
  });

  let due = false; // one message may change several values: draw once, when all have arrived
  function soon() {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      update();
    });
  }
  const SHOWN = ["answered", "values", "options", "axes", "drawing", "numbers", "notes", "call", "line"];
  for (const name of SHOWN) model.on(`change:${name}`, soon);
  update();
  return () => {
    clearTimeout(timer);
    for (const name of SHOWN) model.off(`change:${name}`, soon);
  };
}

export default { render };
