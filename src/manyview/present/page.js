// What every page of the package does: switch the theme, sort tables.
"use strict";

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  document.dispatchEvent(new CustomEvent("themechange"));
}

document.getElementById("theme").addEventListener("click", () => {
  const next = isDark() ? "light" : "dark";
  setTheme(next);
  try {
    localStorage.setItem("manyview-theme", next);
  } catch {
    // A page opened from disk may have no storage; the choice then lasts till it closes.
  }
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
  document.dispatchEvent(new CustomEvent("themechange")),
);

const collator = new Intl.Collator(undefined, { numeric: true });

// What a cell sorts by: its value, or the number it begins with.
function numberIn(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return parseFloat(cell.textContent.trim().replace("−", "-").replaceAll(",", ""));
}

function compareCells(a, b) {
  const [x, y] = [numberIn(a), numberIn(b)];
  if (Number.isFinite(x) && Number.isFinite(y) && x !== y) return x - y;
  return collator.compare(a.textContent, b.textContent);
}

function sortBy(head) {
  const table = head.closest("table");
  const body = table.tBodies[0];
  const index = head.cellIndex;
  const was = head.getAttribute("aria-sort");
  // Numbers are looked at from the top, words from A.
  const first = head.classList.contains("number") ? "descending" : "ascending";
  const other = first === "ascending" ? "descending" : "ascending";
  const now = was === first ? other : first;
  const sign = now === "ascending" ? 1 : -1;
  const rows = [...body.rows];
  rows.sort((a, b) => sign * compareCells(a.cells[index], b.cells[index]));
  body.append(...rows);
  for (const cell of head.parentElement.cells) cell.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", now);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button.sort");
  if (button) sortBy(button.closest("th"));
});
