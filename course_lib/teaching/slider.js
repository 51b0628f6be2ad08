// A native range input over a list of exact values; it has a name and says its value in words.
function render({ model, el }) {
  el.classList.add("course-range");
  const label = document.createElement("label");
  const name = document.createElement("span");
  const input = document.createElement("input");
  const shown = document.createElement("span");
  name.className = "name";
  shown.className = "shown";
  shown.setAttribute("aria-hidden", "true"); // the input itself says its value
  input.type = "range";
  input.min = 0;
  label.append(name, input, shown);
  el.append(label);

  function paint() {
    const texts = model.get("texts"), index = model.get("index");
    name.textContent = model.get("label");
    input.max = texts.length - 1;
    input.value = index;
    shown.textContent = texts[index];
    input.setAttribute("aria-valuetext", texts[index]);
  }

  input.addEventListener("input", () => {
    model.set("index", Number(input.value));
    model.save_changes();
  });
  model.on("change", paint);
  paint();
  return () => model.off("change", paint);
}

export default { render };
