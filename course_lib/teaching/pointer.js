// JupyterLab makes a cell the active one when the mouse goes down in it, and may scroll then: what was pressed would be gone from
// under the pointer when it comes up, and the click be lost. So it keeps the pointer; moving away on purpose still takes a click back.
const AWAY = 20; // CSS pixels
function keepPointer(node) {
  let from = null;
  node.addEventListener("pointerdown", (event) => {
    from = event;
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("click", (event) => {
    const away = from && event.detail && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) > AWAY;
    from = null;
    if (!away) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
}
