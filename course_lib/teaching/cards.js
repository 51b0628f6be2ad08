// The form of one card. Every message to Python carries the whole guess: a click may overtake a change of state that ipywidgets
// still holds back while the kernel is busy, and would then commit half a number.
function make(parent, tag, attributes = {}, text = "") {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
}

function radios(parent, legend, options, name) {
  const group = make(parent, "fieldset", { class: name });
  make(group, "legend", {}, legend);
  return options.map(([value, text]) => {
    const label = make(group, "label");
    const input = make(label, "input", { type: "radio", name: `${name}-${group.closest("form").id}`, value });
    label.append(text);
    return input;
  });
}

const checked = (inputs) => inputs.find((input) => input.checked)?.value ?? "";
const check = (inputs, value) => inputs.forEach((input) => (input.checked = input.value === value));

// The number that stands alone in a box, as Python reads it; NaN for all else, a fraction or a unit among it.
function plainNumber(text) {
  const bare = text.trim().replaceAll("−", "-");
  return /^[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)?(\.\d*)?(e[+-]?\d+)?$/i.test(bare) && /^\D*\d/.test(bare)
    ? parseFloat(bare.replaceAll(",", ""))
    : NaN;
}

// A box with its unit and, where the card has a range, a slider that fills it and follows it. The slider starts without a value.
function numberInput(form, face) {
  const line = make(form, "label", { class: "line" });
  make(line, "span", { class: "name" }, face.guess);
  const box = make(line, "input", { type: "text", autocomplete: "off", spellcheck: "false" });
  make(line, "span", {}, face.unit);
  if (!face.slider) return { all: [box], get: () => box.value, set: (text) => (box.value = text) };

  const { values, boxes, texts, log, label, unset } = face.slider;
  const slide = make(form, "label", { class: "line" });
  make(slide, "span", { class: "name" }, label);
  const range = make(slide, "input", { type: "range", min: 0, max: values.length - 1, step: 1, value: 0 });
  const shown = make(slide, "span", { class: "shown", "aria-hidden": "true" });
  const size = (value) => (log ? Math.log(value) : value);
  // The nearest stop; a number between two stops stands in the box alone, and the slider says that number.
  const follow = () => {
    const typed = plainNumber(box.value);
    const set = Number.isFinite(size(typed));
    const distance = values.map((value) => Math.abs(size(value) - size(typed)));
    const index = set ? distance.indexOf(Math.min(...distance)) : 0;
    const exact = set && plainNumber(boxes[index]) === typed;
    range.classList.toggle("unset", !set);
    range.value = index;
    shown.textContent = exact ? texts[index] : set ? "" : "–";
    range.setAttribute("aria-valuetext", exact ? texts[index] : set ? `${box.value.trim()} ${face.unit}` : unset);
  };
  range.addEventListener("input", () => {
    box.value = boxes[range.value];
    follow();
  });
  box.addEventListener("input", follow);
  const set = (text) => {
    box.value = text;
    follow();
  };
  return { all: [box, range], get: () => box.value, set };
}

function choiceInput(form, face) {
  const all = radios(form, face.guess, face.choices, "choices");
  return { all, get: () => checked(all), set: (key) => check(all, key) };
}

function render({ model, el }) {
  const face = model.get("face");
  el.classList.add("course-card");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", face.name);
  make(el, "div").innerHTML = face.prompt;
  const form = make(el, "form", { id: `course-card-${Math.random().toString(36).slice(2)}` });
  const guess = face.choices.length ? choiceInput(form, face) : numberInput(form, face);
  const sure = radios(form, face.sure, face.levels, "sure");
  const row = make(form, "div", { class: "buttons" });
  const button = (name, type = "button") => make(row, "button", { type }, face.buttons[name]);
  const buttons = { commit: button("commit", "submit"), retry: button("retry"), reveal: button("reveal"), hint: button("hint") };
  const message = make(el, "p", { class: "message", role: "status" });
  const hints = make(el, "div");
  const answer = make(el, "div");
  let waiting = 0, shown = {};

  // JupyterLab takes arrows, Enter and letters as its own commands from a focused element without this mark.
  for (const node of el.querySelectorAll("input, button")) node.setAttribute("data-lm-suppress-shortcuts", "true");

  function send(action, event) {
    event.preventDefault();
    // A disabled button would lose the focus, so it is only marked; the second click of a double click counts for nothing.
    if (buttons[action].getAttribute("aria-disabled") === "true" || event.detail > 1) return;
    model.send({ do: action, guess: guess.get(), sure: checked(sure) });
    clearTimeout(waiting);
    waiting = setTimeout(() => (message.textContent = face.waiting), 400);
  }

  function paint() {
    const view = model.get("view");
    clearTimeout(waiting);
    if (view.saved !== shown.saved || view.locked) {
      guess.set(view.guess);
      check(sure, view.sure);
    }
    for (const input of [...guess.all, ...sure]) input.disabled = view.locked;
    for (const [name, node] of Object.entries(buttons)) node.setAttribute("aria-disabled", !view.enabled.includes(name));
    buttons.hint.hidden = !view.hint;
    buttons.hint.textContent = view.hint;
    message.textContent = view.message;
    if (view.hints !== shown.hints) hints.innerHTML = view.hints;
    if (view.answer !== shown.answer) answer.innerHTML = view.answer;
    shown = view;
  }

  form.addEventListener("submit", (event) => send("commit", event));
  for (const name of ["retry", "reveal", "hint"]) buttons[name].addEventListener("click", (event) => send(name, event));
  guess.set("");
  model.on("change:view", paint);
  paint();
  return () => {
    clearTimeout(waiting);
    model.off("change:view", paint);
  };
}

export default { render };
