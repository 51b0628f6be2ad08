// Search, lesson and ruling over the tables of claims that stand in the same output: a row that does not fit is hidden, a table without
// a row too, and while anything is asked for the others are open.

function control(el, name, tag, attributes = {}) {
  const label = make(el, "label");
  make(label, "span", {}, name);
  return make(label, tag, attributes);
}

function menu(el, name, every, options) {
  const select = control(el, name, "select");
  for (const [value, text] of [["", every], ...options]) make(select, "option", { value }, text);
  return select;
}

function render({ model, el }) {
  const words = model.get("words");
  el.classList.add("course-claims");
  el.setAttribute("role", "search");
  el.setAttribute("aria-label", words.name);
  const typed = control(el, words.search, "input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const unit = menu(el, words.unit, words["every-unit"], model.get("units"));
  const ruling = menu(el, words.ruling, words["every-ruling"], model.get("rulings"));
  const reset = make(el, "button", { type: "button" }, words.reset);
  const status = make(el, "p", { role: "status" });
  ownKeys(el);
  let asking = false;

  function filter() {
    const wanted = typed.value.toLowerCase().split(/\s+/).filter(Boolean);
    const asked = Boolean(wanted.length || unit.value || ruling.value);
    let shown = 0, all = 0;
    for (const table of el.closest(".jp-OutputArea")?.querySelectorAll("details.course-docket") ?? []) {
      let hits = 0;
      for (const row of table.querySelectorAll("tbody tr")) {
        const text = row.textContent.toLowerCase();
        const fits =
          (!unit.value || table.classList.contains(`course-of-${unit.value}`)) &&
          (!ruling.value || row.classList.contains(`course-${ruling.value}`)) &&
          wanted.every((word) => text.includes(word));
        row.hidden = !fits;
        hits += fits;
        all += 1;
      }
      table.hidden = !hits;
      if (asked || asking) table.open = asked && hits > 0; // what the reader opened stays open while nothing is asked for
      shown += hits;
    }
    asking = asked;
    const said = words[shown === 0 ? "found-none" : shown === 1 ? "found-one" : "found-many"];
    const line = all ? said.replace("{shown}", shown).replace("{of}", all) : "";
    if (status.textContent !== line) status.textContent = line;
  }

  function follow(fragment) {
    const found = [...unit.options].some((option) => option.value && `#${option.value}` === fragment);
    if (found) unit.value = fragment.slice(1);
    filter();
  }

  reset.addEventListener("click", () => {
    typed.value = unit.value = ruling.value = "";
    filter();
  });
  for (const node of [typed, unit, ruling]) node.addEventListener("input", filter);

  // The tables come after the controls, and again when JupyterLab draws the output anew.
  const tables = new MutationObserver(filter);
  const onFragment = (event) => follow(event.detail);
  let notebook;
  const placed = new IntersectionObserver(() => {
    if (!el.isConnected || notebook) return;
    notebook = el.closest(".jp-Notebook");
    notebook?.addEventListener("course-fragment", onFragment);
    const area = el.closest(".jp-OutputArea");
    if (area) tables.observe(area, { childList: true, subtree: true });
    follow(notebook?.dataset.courseFragment ?? "");
  });
  placed.observe(el);
  return () => {
    placed.disconnect();
    tables.disconnect();
    notebook?.removeEventListener("course-fragment", onFragment);
  };
}

export default { render };
