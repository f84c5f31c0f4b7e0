// The report: maps and charts by plotly, one chosen cluster for all of them.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const state = { pick: null, colour: "cluster" };
  const MISSING = 255;
  const STEPS = 254;
  const SYMBOLS = [
    "circle", "triangle-up", "square", "diamond", "triangle-down", "cross", "x", "star",
  ];
  const SHADES = {
    light: ["#b9cbe2", "#7ba5d0", "#3f7cb5", "#1f5288", "#0a2547"],
    dark: ["#3a4f6b", "#3d7ea6", "#4bb3a7", "#b5d86f", "#fff2a0"],
  };
  // Colours of the light page that would drown in the dark one.
  const ON_DARK = { "#000000": "#f2f4f7", "#882255": "#b5446e" };
  const MOST_NAMES = 40;
  const MOST_SYMBOLS = 20000;
  const MOST_WITHOUT_WEBGL = 5000;

  // ---- data -------------------------------------------------------------------

  function bytes(text) {
    const raw = atob(text);
    const out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }
  const u16 = (text) => new Uint16Array(bytes(text).buffer);
  const u32 = (text) => new Uint32Array(bytes(text).buffer);

  const map = data.map && {
    ...data.map,
    x: u16(data.map.x),
    y: u16(data.map.y),
    row: u32(data.map.row),
    cluster: u16(data.map.cluster),
    label: data.map.label && {
      names: data.map.label.names,
      codes: u16(data.map.label.codes),
    },
    certainty: data.map.certainty && decode(data.map.certainty),
  };
  const views = data.views.map((v) => ({
    name: v.name, at: u32(v.at), x: u16(v.x), y: u16(v.y),
  }));

  function decode(column) {
    if (!column.values) column.values = bytes(column.codes);
    return column;
  }

  const hasWebGL = (() => {
    try {
      return Boolean(document.createElement("canvas").getContext("webgl"));
    } catch {
      return false;
    }
  })();

  // ---- words ------------------------------------------------------------------

  // plotly reads some HTML in its texts; data must never be taken for it.
  const plain = (text) =>
    String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const cut = (text, most = 24) =>
    text.length > most ? `${text.slice(0, most - 1)}…` : text;
  const count = (n) => n.toLocaleString("en");
  const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
  const rounded = (v) => Number(v.toPrecision(3)).toString();
  const rowName = (i) => (map.names ? map.names[i] : `row ${map.row[i]}`);

  // ---- colours ----------------------------------------------------------------

  const css = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function colourOf(i) {
    const colour = data.colours[i % data.colours.length];
    return (isDark() && ON_DARK[colour]) || colour;
  }
  function symbolOf(i) {
    const round = Math.floor(i / data.colours.length);
    return SYMBOLS[(i + round) % SYMBOLS.length];
  }
  function shades() {
    const list = SHADES[isDark() ? "dark" : "light"];
    return list.map((colour, i) => [i / (list.length - 1), colour]);
  }
  function steps(n) {
    const scale = [];
    for (let i = 0; i < n; i++) {
      scale.push([i / n, colourOf(i)], [(i + 1) / n, colourOf(i)]);
    }
    return scale;
  }

  // What the points are coloured by: a code per point, and how codes look and read.
  function colouring() {
    if (state.colour === "cluster") {
      return { codes: map.cluster, groups: data.clusters, title: "cluster" };
    }
    if (state.colour === "label") {
      return { codes: map.label.codes, groups: map.label.names.length, title: "class" };
    }
    if (state.colour === "certainty") {
      const share = map.certainty;
      return { codes: share.values, column: share, title: "certainty", unit: "%" };
    }
    const column = decode(map.features[Number(state.colour)]);
    return { codes: column.values, column, title: `${column.name} (${column.view})` };
  }
  function valueText(column, code, unit) {
    if (code === MISSING) return "missing";
    const value = column.low + ((column.high - column.low) * code) / STEPS;
    const end = code === 0 ? "≤ " : code === STEPS ? "≥ " : "";
    return unit === "%" ? percent(value) : end + rounded(value);
  }
  function marker(paint, at, size) {
    const look = { size, opacity: 0.8, line: { width: 0 } };
    const color = Array.from(at, (i) => paint.codes[i]);
    if (!paint.groups) {
      return { ...look, color, colorscale: shades(), cmin: 0, cmax: STEPS };
    }
    const most = { cmin: -0.5, cmax: paint.groups - 0.5 };
    if (paint.groups > data.colours.length && at.length <= MOST_SYMBOLS) {
      look.symbol = color.map(symbolOf);
    }
    return { ...look, color, colorscale: steps(paint.groups), ...most };
  }
  function colourBar(paint) {
    const { column, unit } = paint;
    const text = (code) => plain(valueText(column, code, unit));
    return {
      orientation: "h", thickness: 10, len: 0.6, x: 0.5, xanchor: "center",
      y: 0, yanchor: "bottom", outlinewidth: 0, bgcolor: css("--back"),
      tickvals: [0, STEPS / 2, STEPS], ticktext: [0, STEPS / 2, STEPS].map(text),
      tickfont: { color: css("--ink") },
      title: { text: plain(cut(paint.title, 40)), side: "top", font: { size: 12 } },
    };
  }

  // ---- the two kinds of maps --------------------------------------------------

  // Points that are chosen and coloured, and those that stay as a grey ground.
  function split(paint, candidates) {
    const own = [];
    const rest = [];
    for (const k of candidates) {
      const i = k.at;
      const chosen = state.pick === null || map.cluster[i] === state.pick;
      const known = paint.groups || paint.codes[i] !== MISSING;
      (chosen && known ? own : rest).push(k);
    }
    return { own, rest };
  }
  function hoverText(i, paint) {
    const lines = [`<b>${plain(cut(rowName(i), 60))}</b>`, `cluster ${map.cluster[i]}`];
    if (map.label) lines.push(`class ${plain(cut(map.label.names[map.label.codes[i]], 40))}`);
    if (map.certainty) {
      lines.push(`certainty ${valueText(map.certainty, map.certainty.values[i], "%")}`);
    }
    if (paint.column && paint.unit !== "%") {
      const value = valueText(paint.column, paint.codes[i]);
      lines.push(`${plain(cut(paint.title, 40))}: ${value}`);
    }
    return lines.join("<br>");
  }
  function traces(paint, points, size, axes) {
    const { own, rest } = split(paint, points);
    const type = hasWebGL ? "scattergl" : "scatter";
    const common = { type, mode: "markers", showlegend: false, ...axes };
    return [
      {
        ...common, x: rest.map((k) => k.x), y: rest.map((k) => k.y), hoverinfo: "skip",
        marker: { color: css("--faint"), size: size * 0.8, opacity: 0.45 },
      },
      {
        ...common, x: own.map((k) => k.x), y: own.map((k) => k.y),
        customdata: own.map((k) => map.cluster[k.at]),
        text: own.map((k) => hoverText(k.at, paint)),
        hovertemplate: "%{text}<extra></extra>",
        marker: marker(paint, own.map((k) => k.at), size),
      },
    ];
  }
  const pointSize = (n) => Math.max(2.5, Math.min(8, 300 / Math.sqrt(n) + 1.5));

  const mainPoints = [];
  if (map) {
    const step = hasWebGL ? 1 : Math.max(1, Math.ceil(map.x.length / MOST_WITHOUT_WEBGL));
    for (let i = 0; i < map.x.length; i += step) {
      mainPoints.push({ at: i, x: map.x[i], y: map.y[i] });
    }
    if (step > 1) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent =
        `This browser has no WebGL: ${count(mainPoints.length)} of ` +
        `${count(map.x.length)} points are drawn.`;
      document.getElementById("chart-map").after(note);
    }
  }

  const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
  const hearts = [];
  if (map && data.clusters <= MOST_NAMES) {
    for (let j = 0; j < data.clusters; j++) {
      const own = mainPoints.filter((k) => map.cluster[k.at] === j);
      if (!own.length) continue;
      const [x, y] = [median(own.map((k) => k.x)), median(own.map((k) => k.y))];
      const away = (k) => (k.x - x) ** 2 + (k.y - y) ** 2;
      const heart = own.reduce((a, b) => (away(a) <= away(b) ? a : b));
      hearts.push({ j, x: heart.x, y: heart.y });
    }
  }
  function names() {
    if (state.colour !== "cluster") return [];
    return hearts
      .filter((h) => state.pick === null || h.j === state.pick)
      .map((h) => ({
        x: h.x, y: h.y, text: String(h.j), showarrow: false, captureevents: false,
        font: { size: 13, color: css("--ink") }, bgcolor: css("--back"), opacity: 0.85,
        borderpad: 1,
      }));
  }

  function base() {
    const ink = css("--ink");
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: ink },
      hoverlabel: {
        bgcolor: css("--panel"), bordercolor: css("--line"), align: "left",
        font: { color: ink, size: 13 },
      },
      margin: { l: 0, r: 0, t: 0, b: 0 }, autosize: true, hovermode: "closest",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--soft"), activecolor: ink },
    };
  }
  function axis(title, more = {}) {
    return {
      title: { text: title, font: { size: 12 } }, gridcolor: css("--line"),
      zerolinecolor: css("--line"), linecolor: css("--line"), automargin: true,
      fixedrange: true, ...more,
    };
  }
  const STILL = { displayModeBar: false, responsive: true, scrollZoom: false };
  const MOVING = {
    displaylogo: false, responsive: true, scrollZoom: true, doubleClick: "reset",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const hidden = { visible: false };

  function drawMap(el) {
    const paint = colouring();
    const [rest, own] = traces(paint, mainPoints, pointSize(mainPoints.length), {});
    if (paint.column) own.marker.colorbar = colourBar(paint);
    const layout = {
      ...base(), dragmode: "pan", uirevision: "map", annotations: names(),
      xaxis: hidden, yaxis: { ...hidden, scaleanchor: "x" },
      margin: { l: 8, r: 8, t: 8, b: 8 },
    };
    writeLegend(paint);
    return Plotly.react(el, [rest, own], layout, MOVING);
  }

  function writeLegend(paint) {
    const list = document.getElementById("legend");
    list.replaceChildren();
    if (state.colour !== "label") return;
    const shown = Math.min(paint.groups, MOST_NAMES);
    for (let j = 0; j < shown; j++) {
      const item = document.createElement("li");
      const dot = document.createElement("span");
      dot.className = "dot";
      dot.style.background = colourOf(j);
      item.append(dot, cut(map.label.names[j], 40));
      list.append(item);
    }
    if (shown < paint.groups) list.append(`and ${paint.groups - shown} more`);
  }

  function drawViews(el) {
    const paint = colouring();
    const gap = 0.02;
    const fit = Math.max(2, Math.floor(el.clientWidth / 250)); // two on a phone
    const across = Math.min(views.length, fit);
    const down = Math.ceil(views.length / across);
    const side = el.clientWidth / across;
    const height = Math.round(down * Math.min(side + 28, 420));
    const title = 28 / height;
    const layout = { ...base(), height, dragmode: "pan", uirevision: "views", annotations: [] };
    const all = [];
    views.forEach((view, v) => {
      const n = v ? v + 1 : "";
      const [column, line] = [v % across, Math.floor(v / across)];
      const [left, right] = [column / across + gap / 2, (column + 1) / across - gap / 2];
      const [top, bottom] = [1 - line / down - title, 1 - (line + 1) / down];
      layout[`xaxis${n}`] = { ...hidden, domain: [left, right], anchor: `y${n}` };
      layout[`yaxis${n}`] = {
        ...hidden, domain: [bottom + gap / down, top], anchor: `x${n}`, scaleanchor: `x${n}`,
      };
      layout.annotations.push({
        text: `<b>${plain(cut(view.name, 30))}</b>`, showarrow: false, xref: "paper",
        yref: "paper", x: (left + right) / 2, y: top, xanchor: "center",
        yanchor: "bottom", font: { size: 13 },
      });
      const points = Array.from(view.at, (at, k) => ({ at, x: view.x[k], y: view.y[k] }));
      all.push(...traces(paint, points, side < 220 ? 2.5 : 4, { xaxis: `x${n}`, yaxis: `y${n}` }));
    });
    return Plotly.react(el, all, layout, { ...MOVING, scrollZoom: false, displayModeBar: false });
  }

  // ---- charts -----------------------------------------------------------------

  // Covers what is not chosen along an axis of clusters.
  function covers(letter) {
    if (state.pick === null) return [];
    const other = letter === "x" ? "y" : "x";
    const cover = (from, to) => ({
      type: "rect", layer: "above", fillcolor: css("--back"), opacity: 0.8,
      line: { width: 0 }, [`${letter}0`]: from, [`${letter}1`]: to,
      [`${other}0`]: 0, [`${other}1`]: 1, [`${other}ref`]: "paper",
    });
    return [
      cover(-0.5, state.pick - 0.5),
      cover(state.pick + 0.5, data.clusters - 0.5),
    ];
  }
  const clusters = Array.from({ length: data.clusters }, (_, j) => j);
  const ends = { range: [-0.5, data.clusters - 0.5] };
  const whole = data.clusters <= 30 ? { dtick: 1 } : { nticks: 12, tickformat: "d" };

  function drawSizes(el) {
    const bars = {
      type: "bar", x: clusters, y: data.sizes, customdata: clusters,
      marker: { color: clusters.map(colourOf) },
      text: data.clusters <= 30 ? data.sizes.map(count) : undefined,
      textposition: "outside", cliponaxis: false,
      hovertemplate: "cluster %{x}<br>%{y:,} rows<extra></extra>",
    };
    const layout = {
      ...base(), xaxis: axis("cluster", { ...ends, ...whole }), yaxis: axis("rows"),
      shapes: covers("x"), bargap: 0.25, margin: { l: 40, r: 8, t: 22, b: 40 },
    };
    return Plotly.react(el, [bars], layout, STILL);
  }

  function drawInfluence(el) {
    const { views: list, overall } = data.influence;
    const chosen = state.pick === null ? overall : data.influence.clusters[state.pick];
    const what = state.pick === null ? "all rows" : `cluster ${state.pick}`;
    const bars = {
      type: "bar", orientation: "h", y: list.map((_, v) => v), x: chosen,
      marker: { color: css("--accent") }, text: chosen.map((s) => percent(s)),
      textposition: "outside", cliponaxis: false, hoverinfo: "skip",
    };
    const layout = {
      ...base(), shapes: [],
      xaxis: axis(`influence, ${what} (%)`, {
        tickformat: ".0%", range: [0, Math.max(...chosen) * 1.25], nticks: 5,
      }),
      yaxis: axis("", {
        autorange: "reversed", tickvals: list.map((_, v) => v),
        ticktext: list.map((name) => plain(cut(name, 18))),
      }),
      margin: { l: 8, r: 24, t: 8, b: 40 },
    };
    return Plotly.react(el, [bars], layout, STILL);
  }

  function heat(el, z, hovertext, more, layout) {
    const field = {
      type: "heatmap", z, hovertext, xgap: 1, ygap: 1, colorscale: heatScale(), zmin: 0,
      hoverongaps: false, colorbar: { thickness: 10, tickformat: ".0%", outlinewidth: 0 },
      ...more,
    };
    return Plotly.react(el, [field], { ...base(), ...layout }, STILL);
  }
  function heatScale() {
    return [[0, css("--panel")], [1, isDark() ? "#74b3f0" : "#0b4a8f"]];
  }

  function drawShares(el) {
    const { views: list, clusters: shares } = data.influence;
    const z = list.map((_, v) => shares.map((row) => row[v]));
    const layout = {
      xaxis: axis("cluster", { ...ends, ...whole, showgrid: false }),
      yaxis: axis("", {
        autorange: "reversed", tickvals: list.map((_, v) => v), showgrid: false,
        ticktext: list.map((name) => plain(cut(name, 18))),
      }),
      shapes: covers("x"), margin: { l: 8, r: 8, t: 8, b: 40 },
    };
    const more = {
      x: clusters, y: list.map((_, v) => v),
      zmax: Math.max(...shares.flat()),
      hovertemplate: "%{hovertext}<br>cluster %{x}: %{z:.0%}<extra></extra>",
    };
    const text = list.map((name) => shares.map(() => plain(cut(name, 40))));
    return heat(el, z, text, more, layout);
  }

  function drawClasses(el) {
    const { classes, counts } = data.contingency;
    const totals = counts.map((row) => row.reduce((a, b) => a + b, 0));
    const z = counts.map((row, c) => row.map((n) => n / Math.max(totals[c], 1)));
    const small = classes.length <= 25 && data.clusters * 34 < el.clientWidth - 120;
    const layout = {
      height: Math.max(220, Math.min(900, classes.length * (small ? 28 : 14) + 70)),
      xaxis: axis("cluster", { ...ends, ...whole, showgrid: false }),
      yaxis: axis("class", {
        autorange: "reversed", showgrid: false,
        ...(classes.length <= 60
          ? { tickvals: classes.map((_, c) => c),
              ticktext: classes.map((name) => plain(cut(name, 18))) }
          : { showticklabels: false }),
      }),
      shapes: covers("x"), margin: { l: 8, r: 8, t: 8, b: 40 },
    };
    const text = counts.map((row, c) =>
      row.map((n) => `class ${plain(cut(classes[c], 40))}: ${count(n)} rows`),
    );
    const more = {
      x: clusters, y: classes.map((_, c) => c), zmax: 1, text: counts, texttemplate: small ? "%{text}" : "",
      hovertemplate: "%{hovertext} in cluster %{x}<br>%{z:.0%} of the class<extra></extra>",
    };
    return heat(el, z, text, more, layout);
  }

  function drawObjective(el) {
    const rounds = data.objective.map((_, t) => t + 1);
    const line = {
      type: "scatter", mode: "lines+markers", x: rounds, y: data.objective,
      line: { color: css("--accent") }, marker: { size: 7 },
      hovertemplate: "round %{x}<br>objective %{y:.6g}<extra></extra>",
    };
    const layout = {
      ...base(), xaxis: axis("round", rounds.length <= 30 ? { dtick: 1 } : {}),
      yaxis: axis("objective (no unit)", { tickformat: ",.6~g" }),
      margin: { l: 50, r: 8, t: 8, b: 40 },
    };
    return Plotly.react(el, [line], layout, STILL);
  }

  // ---- drawing, as late as possible -------------------------------------------

  const CHARTS = {
    "chart-map": drawMap, "chart-views": drawViews, "chart-sizes": drawSizes,
    "chart-influence": drawInfluence, "chart-shares": drawShares,
    "chart-classes": drawClasses, "chart-objective": drawObjective,
  };
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
    if (first && id !== "chart-influence" && id !== "chart-objective") {
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
  for (const el of present) near.observe(el);
})();
