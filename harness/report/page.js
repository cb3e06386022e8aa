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

// Values on the curves. A slider under each panel holds the place, so that keyboards and screen readers reach it too.
for (const panel of document.querySelectorAll(".panel")) {
  const data = panel.querySelector("script");
  if (!data) continue;
  const { x, at, curves } = JSON.parse(data.textContent);
  const svg = panel.querySelector("svg");
  const box = svg.viewBox.baseVal;
  const line = document.createElementNS(svg.namespaceURI, "line");
  line.setAttribute("class", "place");
  line.setAttribute("y1", box.height * 0.08);
  line.setAttribute("y2", box.height * 0.85);
  svg.append(line);
  const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: x.length - 1, value: 0 });
  slider.setAttribute("aria-label", "Values along: " + svg.getAttribute("aria-label").split(". ")[0]);
  const said = Object.assign(document.createElement("div"), { className: "said", hidden: true });
  said.setAttribute("aria-hidden", "true"); // the slider says the same
  panel.append(slider, said);
  const show = (i) => {
    const shown = curves.filter(({ mark, words }) => words[i] &&
      document.querySelector(`.key[data-curve="${mark}"]`)?.getAttribute("aria-pressed") !== "false");
    slider.value = i;
    slider.setAttribute("aria-valuetext", at[i] + ": " + shown.map(({ name, words }) => name + " " + words[i]).join("; "));
    said.replaceChildren(...[at[i], ...shown.map(({ name, words }) => name + "  " + words[i])].map((text) =>
      Object.assign(document.createElement("div"), { textContent: text })));
    for (const end of ["x1", "x2"]) line.setAttribute(end, x[i]);
    said.hidden = false;
    panel.classList.add("read");
    said.classList.toggle("left", x[i] > box.width / 2); // on the side where the line is not
  };
  const hide = () => {
    said.hidden = true;
    panel.classList.remove("read");
  };
  const nearest = (event) => {
    const edge = svg.getBoundingClientRect();
    const here = ((event.clientX - edge.left) / edge.width) * box.width;
    return x.reduce((best, place, i) => (Math.abs(place - here) < Math.abs(x[best] - here) ? i : best), 0);
  };
  for (const kind of ["pointermove", "pointerdown"]) svg.addEventListener(kind, (event) => show(nearest(event)));
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
  for (const kind of ["input", "focus"]) slider.addEventListener(kind, () => show(Number(slider.value)));
  slider.addEventListener("blur", hide);
  slider.setAttribute("aria-valuetext", at[0]);
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const said of document.querySelectorAll(".said")) said.hidden = true;
});
