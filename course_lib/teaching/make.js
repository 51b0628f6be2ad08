// For the forms that follow in one module. `make` puts a new element below `parent`.
function make(parent, tag, attributes = {}, text = "") {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
}

// JupyterLab takes arrows, Enter and letters as its own commands from a focused element that does not itself bear this mark.
function ownKeys(root) {
  for (const node of root.querySelectorAll("input, select, textarea, button, summary")) node.setAttribute("data-lm-suppress-shortcuts", "true");
}
