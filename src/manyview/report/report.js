// One chosen cluster for all charts and tables; keys, theme, size, paper.

// ---- drawing, as late as possible -------------------------------------------

const CHARTS = {
  "chart-map": drawMap, "chart-views": drawViews, "chart-sizes": drawSizes,
  "chart-influence": drawInfluence, "chart-shares": drawShares,
  "chart-classes": drawClasses, "chart-objective": drawObjective,
  "chart-icicle": drawIcicle, "chart-dendrogram": drawDendrogram,
};
const LEVELS = ["chart-icicle", "chart-dendrogram"];
const drawn = new Set();

function clusterAt(event) {
  const point = event.points[0];
  return point.data.type === "heatmap" ? point.x : point.customdata;
}
async function draw(id) {
  const el = document.getElementById(id);
  const first = !drawn.has(id);
  drawn.add(id);
  await CHARTS[id](el);
  if (first && LEVELS.includes(id)) {
    el.on("plotly_click", (event) => chooseLevel(event.points[0].customdata));
  } else if (first && id !== "chart-influence" && id !== "chart-objective") {
    el.on("plotly_click", (event) => pick(clusterAt(event)));
  }
}
function redraw() {
  for (const id of drawn) draw(id);
}
const places = Object.keys(CHARTS).map((id) => document.getElementById(id));
const present = places.filter(Boolean);
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      draw(target.id);
    }
  },
  { rootMargin: "300px" },
);

// ---- the choice of a cluster ------------------------------------------------

function pick(cluster) {
  state.pick = cluster === state.pick ? null : cluster; // again: all of them
  showPick();
  redraw();
}
function showPick() {
  const own = state.pick === null ? "all" : String(state.pick);
  for (const button of document.querySelectorAll("[data-pick]")) {
    button.setAttribute("aria-pressed", String(button.dataset.pick === own));
  }
  for (const row of document.querySelectorAll("tr[data-cluster]")) {
    row.hidden = state.pick !== null && row.dataset.cluster !== own;
  }
  const chip = document.querySelector('.chip[aria-pressed="true"]');
  const strip = chip.parentElement;
  strip.scrollLeft = chip.offsetLeft - strip.offsetLeft - strip.clientWidth / 2;
  const size = data.sizes[state.pick];
  document.getElementById("filter-state").textContent =
    state.pick === null
      ? ""
      : `Cluster ${own}: ${count(size)} rows, ${percent(size / data.rows, 1)} of all`;
}
function paintDots() {
  for (const dot of document.querySelectorAll("[data-dot]")) {
    dot.style.background = colourOf(Number(dot.dataset.dot));
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-pick]");
  if (!button) return;
  const { pick: name } = button.dataset;
  pick(name === "all" ? null : Number(name));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.pick !== null) pick(null);
});
function chooseLevel(k) {
  state.level = k;
  state.colour = "level";
  document.getElementById("colour").value = "level";
  writeLevel();
  for (const id of ["chart-map", "chart-views", ...LEVELS]) if (drawn.has(id)) draw(id);
}
document.getElementById("level")?.addEventListener("input", (event) => {
  chooseLevel(Number(event.target.value));
});
document.getElementById("colour")?.addEventListener("change", (event) => {
  state.colour = event.target.value;
  for (const id of ["chart-map", "chart-views"]) if (drawn.has(id)) draw(id);
});

// ---- the map by keys and wheel ----------------------------------------------

function move(el, dx, dy, zoom) {
  const { xaxis, yaxis } = el._fullLayout;
  const shift = ([a, b], by) => {
    const [middle, half] = [(a + b) / 2 + by * (b - a), ((b - a) / 2) * zoom];
    return [middle - half, middle + half];
  };
  Plotly.relayout(el, {
    "xaxis.range": shift(xaxis.range, dx), "yaxis.range": shift(yaxis.range, dy),
  });
}
const KEYS = {
  ArrowLeft: [-0.15, 0, 1], ArrowRight: [0.15, 0, 1], ArrowUp: [0, 0.15, 1],
  ArrowDown: [0, -0.15, 1], "+": [0, 0, 0.8], "=": [0, 0, 0.8], "-": [0, 0, 1.25],
  "−": [0, 0, 1.25],
};
const mapPlace = document.getElementById("chart-map");
if (mapPlace) {
  mapPlace.tabIndex = 0;
  mapPlace.setAttribute("role", "application");
  mapPlace.setAttribute("aria-label", "Map of the rows; arrow keys pan, plus and minus zoom");
  mapPlace.addEventListener("keydown", (event) => {
    if (event.key === "0") {
      Plotly.relayout(mapPlace, { "xaxis.autorange": true, "yaxis.autorange": true });
    } else if (KEYS[event.key]) {
      move(mapPlace, ...KEYS[event.key]);
    } else return;
    event.preventDefault();
  });
  const focus = () => mapPlace.focus({ preventScroll: true });
  mapPlace.addEventListener("pointerdown", focus, { capture: true });
  // Until the map is clicked, the wheel scrolls the page.
  const guard = (event) => {
    if (document.activeElement !== mapPlace) event.stopImmediatePropagation();
  };
  mapPlace.addEventListener("wheel", guard, { capture: true, passive: true });
}

// ---- theme, size, paper -----------------------------------------------------

document.addEventListener("themechange", () => {
  paintDots();
  redraw();
});
let width = innerWidth;
let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (innerWidth === width) return;
    width = innerWidth;
    for (const id of ["chart-views", "chart-classes"]) if (drawn.has(id)) draw(id);
  }, 150);
});
let screenTheme;
addEventListener("beforeprint", () => {
  screenTheme = document.documentElement.dataset.theme;
  setTheme("light");
  for (const el of present) draw(el.id);
});
addEventListener("afterprint", () => {
  if (screenTheme) setTheme(screenTheme);
  else {
    delete document.documentElement.dataset.theme;
    document.dispatchEvent(new CustomEvent("themechange"));
  }
});

paintDots();
if (data.tree) writeLevel();
for (const el of present) near.observe(el);
