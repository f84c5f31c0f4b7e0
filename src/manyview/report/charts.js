// Charts about clusters, views and classes, by plotly.

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
// Every cluster's number where there is room, else some of them.
const room = (el) => el.clientWidth / (data.clusters + 3);
const whole = (el) => (room(el) > 20 ? { dtick: 1 } : { nticks: 10, tickformat: "d" });

function drawSizes(el) {
  const bars = {
    type: "bar", x: clusters, y: data.sizes, customdata: clusters,
    marker: { color: clusters.map(colourOf) },
    text: room(el) > 30 ? data.sizes.map(count) : undefined,
    textposition: "outside", cliponaxis: false,
    hovertemplate: "cluster %{x}<br>%{y:,} rows<extra></extra>",
  };
  const layout = {
    ...base(), xaxis: axis("cluster", { ...ends, ...whole(el) }), yaxis: axis("rows"),
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
  return [[0, css("--panel")], [1, isDark() ? "#2f6fb5" : "#0b4a8f"]];
}

function drawShares(el) {
  const { views: list, clusters: shares } = data.influence;
  const z = list.map((_, v) => shares.map((row) => row[v]));
  const layout = {
    xaxis: axis("cluster", { ...ends, ...whole(el), showgrid: false }),
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
    xaxis: axis("cluster", { ...ends, ...whole(el), showgrid: false }),
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
    x: clusters, y: classes.map((_, c) => c), zmax: 1,
    text: counts.map((row) => row.map((n) => (n ? count(n) : ""))),
    texttemplate: small ? "%{text}" : "",
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
