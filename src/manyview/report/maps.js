// The map of the rows and the maps of the views, by plotly.

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
      text: `<b>${plain(cut(view.name, Math.floor(side / 9)))}</b>`, showarrow: false, xref: "paper",
      yref: "paper", x: (left + right) / 2, y: top, xanchor: "center",
      yanchor: "bottom", font: { size: 13 },
    });
    const points = Array.from(view.at, (at, k) => ({ at, x: view.x[k], y: view.y[k] }));
    all.push(...traces(paint, points, side < 220 ? 2.5 : 4, { xaxis: `x${n}`, yaxis: `y${n}` }));
  });
  return Plotly.react(el, all, layout, { ...MOVING, scrollZoom: false, displayModeBar: false });
}
