"use strict";
for (const key of document.querySelectorAll(".key")) {
  key.addEventListener("click", () => {
    const on = key.getAttribute("aria-pressed") !== "true";
    key.setAttribute("aria-pressed", String(on));
    for (const part of document.getElementsByClassName(key.dataset.curve)) part.classList.toggle("hidden", !on);
  });
}
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[head.cellIndex].dataset.value;
    const order = (a, b) => {
      const [x, y] = [Number(value(a)), Number(value(b))];
      const both = Number.isNaN(x) || Number.isNaN(y) ? value(a).localeCompare(value(b)) : x - y;
      return down ? -both : both;
    };
    body.append(...[...body.rows].sort(order));
  });
}
