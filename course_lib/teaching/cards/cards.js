// The form of one card. Every message to Python carries the whole guess: a click may overtake a change of state that ipywidgets
// still holds back while the kernel is busy, and would then commit half a number.
const WAIT = 400, SILENT = 6000; // ms after a click until the card says that it was sent, and that no answer has come

function radios(parent, legend, options, name) {
  const group = make(parent, "fieldset", { class: name });
  make(group, "legend", {}, legend);
  const all = options.map(([value, text]) => {
    const label = make(group, "label");
    const input = make(label, "input", { type: "radio", name: `${name}-${group.closest("form").id}`, value });
    make(label, "span", {}, text);
    return input;
  });
  return {
    all,
    get: () => all.find((input) => input.checked)?.value ?? "",
    set: (value) => all.forEach((input) => (input.checked = input.value === value)),
  };
}

const written = (box) => ({ all: [box], get: () => box.value, set: (text) => (box.value = text) });

// The number that stands alone in a box, as Python reads it; NaN for all else, a fraction or a unit among it.
function plainNumber(text) {
  const wide = (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0); // of a Chinese keyboard's full-width mode
  const bare = text.replace(/[\uff01-\uff5e]/g, wide).replaceAll("。", ".").replaceAll("−", "-").trim();
  return /^[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)?(\.\d*)?(e[+-]?\d+)?$/i.test(bare) && /^\D*\d/.test(bare)
    ? parseFloat(bare.replaceAll(",", ""))
    : NaN;
}

// A labelled box for a number with its unit; Enter commits.
function numberBox(form, name, unit) {
  const line = make(form, "label", { class: "line" });
  make(line, "span", { class: "name" }, name);
  const box = make(line, "input", { type: "text", autocomplete: "off", spellcheck: "false" });
  make(line, "span", {}, unit);
  // A browser does this by itself, but not within JupyterLab. The Enter that ends a composition is no commit.
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    if (!event.repeat) form.requestSubmit();
  });
  return box;
}

// A number box and, where the card has a range, a slider that fills it and follows it. The slider starts without a value.
function numberInput(form, face) {
  const box = numberBox(form, face.guess, face.unit);
  if (!face.slider) return written(box);

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

const choiceInput = (form, face) => radios(form, face.guess, face.rounds[0].choices, "choices");

// How sure: buttons; on a transfer card a box for the factor by which the guess may be off; on a reflection nothing.
function sureInput(form, face) {
  if (face.bound) return written(numberBox(form, face.bound, ""));
  return face.levels.length ? radios(form, face.sure, face.levels, "sure") : { all: [], get: () => "", set() {} };
}

function textInput(form, face) {
  const label = make(form, "label");
  make(label, "span", { class: "name" }, face.guess);
  return written(make(label, "textarea", { rows: 4 }));
}

// What was typed and not committed, kept for this browser tab: a view that is drawn anew and a cell that is run again find it.
function draft(name) {
  const key = `course-card:${name}`;
  const quietly = (action) => {
    try {
      return action();
    } catch {
      return null; // a browser that keeps nothing for this page, or a full store
    }
  };
  return {
    read: () => quietly(() => JSON.parse(sessionStorage.getItem(key))),
    keep: (value) => quietly(() => sessionStorage.setItem(key, JSON.stringify(value))),
    move: (stage) => quietly(() => sessionStorage.setItem(key, JSON.stringify({ ...JSON.parse(sessionStorage.getItem(key)), stage }))),
    forget: () => quietly(() => sessionStorage.removeItem(key)),
  };
}

function render({ model, el }) {
  const face = model.get("face");
  el.classList.add("course-card");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", face.name);
  const prompt = make(el, "div");
  const form = make(el, "form", { id: `course-card-${Math.random().toString(36).slice(2)}` });
  const guess = { number: numberInput, choice: choiceInput, claim: choiceInput, reflection: textInput }[face.kind](form, face);
  const sure = sureInput(form, face);
  const inputs = [...guess.all, ...sure.all];
  const row = make(form, "div", { class: "buttons" });
  const buttons = {};
  for (const [name, text] of Object.entries(face.buttons))
    buttons[name] = make(row, "button", { type: name === "commit" ? "submit" : "button", class: name }, text);
  const message = make(el, "p", { class: "message", role: "status" });
  const hints = make(el, "div", { "aria-live": "polite" });
  const answer = make(el, "div", { "aria-live": "polite" });
  const earlier = make(el, "div", { class: "earlier" });
  const typed = draft(face.draft);
  let shown = {}, asked = "", timers = [];

  const stage = (view) => `${view.round}/${view.saved}`; // a draft belongs to the guess that comes next
  const keep = () => typed.keep({ stage: stage(shown), guess: guess.get(), sure: sure.get() });
  const later = (text, ms) => timers.push(setTimeout(() => (message.textContent = text), ms));
  const answered = () => timers.splice(0).forEach(clearTimeout);

  function send(action, event) {
    event.preventDefault();
    // A disabled button would lose the focus, so it is only marked; the second click of a double click counts for nothing.
    if (buttons[action].getAttribute("aria-disabled") === "true" || event.detail > 1) return;
    answered();
    asked = action;
    try {
      model.send({ do: action, round: shown.round, guess: guess.get(), sure: sure.get() });
      later(face.waiting, WAIT);
      later(face.silent, SILENT);
    } catch {
      message.textContent = face.stopped; // the way to the kernel is gone
    }
  }

  function fill(view) {
    if (view.round !== shown.round) {
      prompt.innerHTML = face.rounds[view.round].prompt;
      face.rounds[view.round].choices.forEach(([, text], n) => (guess.all[n].nextSibling.textContent = text));
    }
    if (stage(view) !== stage(shown) || view.locked) {
      guess.set(view.guess);
      sure.set(view.sure);
    }
    const kept = typed.read();
    if (!view.locked && shown.locked !== false && kept?.stage === stage(view)) {
      guess.set(kept.guess);
      sure.set(kept.sure);
    }
    // A commit from another window leaves what was typed here for the second guess.
    if (shown.saved < view.saved && asked !== "commit" && typed.read()?.stage === stage(shown)) typed.move(stage(view));
    else if (shown.saved < view.saved) typed.forget();
  }

  // The focus never falls back to the page: it leaves a locked input for Commit, and a button that opened the form for its first input.
  function moveFocus(view) {
    const root = el.getRootNode();
    if (view.locked && inputs.includes(root.activeElement)) buttons.commit.focus({ preventScroll: true });
    for (const input of inputs) input.disabled = view.locked;
    if (!view.locked && (asked === "retry" || asked === "again") && root.activeElement === buttons[asked])
      (guess.all.find((input) => input.checked) ?? guess.all[0]).focus({ preventScroll: true });
  }

  function paint() {
    const view = model.get("view");
    answered();
    fill(view);
    moveFocus(view);
    for (const [name, node] of Object.entries(buttons)) node.setAttribute("aria-disabled", !view.enabled.includes(name));
    buttons.hint.hidden = !view.hint;
    buttons.hint.textContent = view.hint;
    message.textContent = view.message;
    if (view.round !== shown.round) hints.replaceChildren();
    for (const html of view.hints.slice(hints.children.length)) make(hints, "div").innerHTML = html;
    if (view.answer !== shown.answer) answer.innerHTML = view.answer;
    if (view.earlier !== shown.earlier) earlier.innerHTML = view.earlier;
    ownKeys(el);
    shown = view;
    asked = "";
  }

  form.addEventListener("submit", (event) => send("commit", event));
  form.addEventListener("input", keep);
  for (const node of [...Object.values(buttons), ...form.querySelectorAll("fieldset label")]) keepPointer(node);
  for (const name of Object.keys(buttons)) if (name !== "commit") buttons[name].addEventListener("click", (event) => send(name, event));
  guess.set("");
  model.on("change:view", paint);
  paint();
  return () => {
    answered();
    model.off("change:view", paint);
  };
}

export default { render };
