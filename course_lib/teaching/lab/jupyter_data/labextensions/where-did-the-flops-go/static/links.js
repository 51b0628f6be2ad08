// JupyterLab scrolls to the cell that a link names and leaves another one active: Shift+Enter would run that and jump away. Here the
// cell of the link becomes the active one. Written by hand as what a built extension is: a container with `init` and `get`.
(() => {
  // JupyterLab leaves no space between a folded answer and the paragraph after it.
  const FOLDED = ".jp-RenderedMarkdown details { margin-bottom: 1em; }";
  const known = new WeakSet();

  function follow(notebook) {
    if (!notebook?.setFragment || known.has(notebook)) return;
    known.add(notebook);
    const scroll = notebook.setFragment.bind(notebook);
    notebook.setFragment = async (fragment) => {
      await scroll(fragment);
      // For what stands in the notebook now, and for what is run in it later: the page of claims shows the unit of the link.
      notebook.node.dataset.courseFragment = fragment;
      notebook.node.dispatchEvent(new CustomEvent("course-fragment", { detail: fragment }));
      const id = decodeURIComponent(fragment.replace("#cell-id=", ""));
      const index = notebook.widgets.findIndex((cell) => cell.model.id === id);
      if (index < 0) return;
      notebook.deselectAll();
      notebook.activeCellIndex = index;
    };
  }

  const plugin = {
    id: "where-did-the-flops-go:links",
    autoStart: true,
    activate: (app) => {
      document.head.append(Object.assign(document.createElement("style"), { textContent: FOLDED }));
      app.shell.currentChanged.connect((shell) => follow(shell.currentWidget?.content));
    },
  };

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["where-did-the-flops-go"] = { init() {}, get: async () => () => ({ __esModule: true, default: plugin }) };
})();
