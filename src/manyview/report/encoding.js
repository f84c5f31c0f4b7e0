// What the page knows, and how it is worded and coloured; report.js begins it all.

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
  if (state.colour === "level") return levelColouring();
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
  // Labels at the very ends would stick out, and plotly hides such.
  const ticks = [0.1 * STEPS, 0.5 * STEPS, 0.9 * STEPS];
  return {
    orientation: "h", thickness: 10, len: 0.6, x: 0.5, xanchor: "center",
    y: 0, yanchor: "bottom", outlinewidth: 0, bgcolor: css("--back"),
    tickvals: ticks, ticktext: ticks.map((code) => text(Math.round(code))),
    tickfont: { color: css("--ink") },
    title: { text: plain(cut(paint.title, 40)), side: "top", font: { size: 12 } },
  };
}

// ---- the look of every chart -------------------------------------------------

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
  // No button may send the data anywhere.
  showSendToCloud: false, plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"],
};
const hidden = { visible: false };
