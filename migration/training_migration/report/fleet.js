// Filters and groups the rows of the table of jobs; without it the page shows all of them.
const form = document.querySelector(".filters");
const body = document.querySelector(".jobs tbody");
const rows = [...body.rows];
const fields = [...form.querySelectorAll("select[data-field]")];
const shown = document.querySelector("#shown");

function matches(row) {
  const text = form.elements.text.value.trim().toLowerCase();
  return (!text || row.textContent.toLowerCase().includes(text)) && fields.every(({value, dataset}) =>
    !value || row.dataset[dataset.field].split("\n").includes(value));
}

function update() {
  const chosen = rows.filter(matches);
  const by = form.elements.group.value;
  const groups = new Map();
  for (const row of chosen) {
    const name = by ? row.dataset[by] || "none" : "";
    groups.set(name, [...(groups.get(name) || []), row]);
  }
  const ordered = [...groups].sort((one, other) => other[1].length - one[1].length);
  body.replaceChildren(...ordered.flatMap(([name, members]) => by ? [heading(name, members.length), ...members] : members));
  shown.textContent = `${chosen.length} of ${rows.length}`;
}

function heading(name, count) {
  const row = document.createElement("tr");
  const cell = document.createElement("th");
  cell.colSpan = 5;
  cell.textContent = `${name} (${count})`;
  row.className = "group";
  row.append(cell);
  return row;
}

for (const link of document.querySelectorAll("a[data-cause]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    form.reset();
    form.elements.causes.value = link.dataset.cause;
    update();
    form.scrollIntoView();
  });
}
function reveal() {
  for (let at = document.getElementById(location.hash.slice(1)); at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
  }
}
form.hidden = false;
for (const event of ["input", "change"]) form.addEventListener(event, update);
form.addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", reveal);
reveal();
update();
