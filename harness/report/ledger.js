// Filters the rows of the ledger; a row's details are made when it is opened. The filters stand in the address.
"use strict";
const rows = JSON.parse(document.getElementById("rows").textContent);
const form = document.getElementById("filters");
const list = document.getElementById("claims");
const count = document.getElementById("count");

function element(name, text, mark) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (mark) made.className = mark;
  return made;
}

function details(row) {
  const facts = element("dl");
  for (const [name, value] of Object.entries(row.details)) {
    const shown = element("dd", value);
    if (name === "again") {
      const button = element("button", "copy", "copy");
      button.type = "button";
      button.addEventListener("click", () => {
        navigator.clipboard?.writeText(value);
        button.textContent = "copied";
      });
      shown.replaceChildren(element("code", value), button);
    }
    facts.append(element("dt", name), shown);
  }
  return facts;
}

function item(row) {
  const made = element("li"), whole = element("details"), head = element("summary");
  const says = element("span", row.says);
  head.append(element("span", row.verdict, `verdict ${row.verdict.split(" ").at(-1)}`), says, element("code", row.id));
  whole.append(head);
  whole.addEventListener("toggle", () => {
    if (whole.open && whole.children.length === 1) whole.append(details(row));
  });
  made.id = row.id;
  made.append(whole);
  return made;
}

const items = rows.map(item);
list.append(...items);

function fits(row, wanted) {
  return Object.entries(wanted).every(([name, value]) =>
    name === "text"
      ? value.toLowerCase().split(/\s+/).every((word) => row.text.includes(word))
      : row[name] === value);
}

function show() {
  const wanted = Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
  let shown = 0;
  rows.forEach((row, i) => {
    items[i].hidden = !fits(row, wanted);
    shown += !items[i].hidden;
  });
  count.textContent = `${shown} of ${rows.length} claims`;
  history.replaceState(null, "", `#${new URLSearchParams(wanted)}`);
}

for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
  if (form.elements[name]) form.elements[name].value = value;
}
form.addEventListener("input", show);
show();
