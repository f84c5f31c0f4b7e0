// Clusters from coarse to fine: levels of the tree, and the maps coloured by one.

const tree = data.tree && { ...data.tree, leaf: u16(data.tree.leaf) };
if (tree) state.level = new Set(tree.clusters).size;

// The cluster of every leaf at a level, numbered as `cut` does.
function groupsAt(k) {
  const n = tree.rows.length;
  const members = tree.rows.map((_, leaf) => [leaf]);
  const first = tree.rows.map((_, leaf) => leaf);
  tree.pairs.forEach(([a, b], m) => {
    const all = [...members[a], ...members[b]];
    members.push(all);
    if (m < n - k) for (const leaf of all) first[leaf] = Math.min(...all);
  });
  const order = [...new Set(first)].sort((a, b) => a - b);
  if (k === new Set(tree.clusters).size) return first.map((leaf) => tree.clusters[leaf]);
  return first.map((leaf) => order.indexOf(leaf));
}
function levelColouring() {
  const groups = groupsAt(state.level);
  return {
    codes: Array.from(tree.leaf, (leaf) => groups[leaf]),
    groups: Math.max(...groups) + 1, title: `level of ${state.level}`,
  };
}
function writeLevel() {
  const own = new Set(tree.clusters).size;
  document.getElementById("level").value = state.level;
  document.getElementById("level-state").textContent =
    ` ${state.level}${state.level === own ? " (the clusters of the fit)" : ""}`;
}

function drawIcicle(el) {
  const own = new Set(tree.clusters).size;
  const shown = [...new Set([...tree.levels, state.level])].sort((a, b) => a - b);
  const bars = [];
  shown.forEach((k, line) => {
    const groups = groupsAt(k);
    let start = 0;
    for (const leaf of tree.order) {
      const last = bars.at(-1);
      if (last && last.line === line && last.group === groups[leaf]) {
        last.rows += tree.rows[leaf];
      } else {
        bars.push({ line, k, group: groups[leaf], start, rows: tree.rows[leaf] });
      }
      start += tree.rows[leaf];
    }
  });
  const trace = {
    type: "bar", orientation: "h", y: bars.map((b) => b.line),
    base: bars.map((b) => b.start), x: bars.map((b) => b.rows),
    customdata: bars.map((b) => b.k), text: bars.map((b) => b.group), width: 0.92,
    textposition: "inside", insidetextanchor: "middle", constraintext: "inside",
    marker: {
      color: bars.map((b) => colourOf(b.group)), line: { width: 1, color: css("--back") },
      opacity: bars.map((b) => (b.k === state.level ? 1 : 0.6)),
    },
    hovertemplate: "%{customdata} clusters: cluster %{text}, %{x:,} rows<extra></extra>",
  };
  const layout = {
    ...base(), height: 60 + 26 * shown.length, xaxis: axis("rows"), barmode: "overlay",
    yaxis: axis("clusters", {
      autorange: "reversed", tickvals: shown.map((_, i) => i), showgrid: false,
      ticktext: shown.map((k) => (k === own ? `${k} (fit)` : String(k))),
    }),
    margin: { l: 60, r: 8, t: 8, b: 40 },
  };
  return Plotly.react(el, [trace], layout, STILL);
}

function drawDendrogram(el) {
  const n = tree.rows.length;
  const place = [];
  tree.order.forEach((leaf, at) => (place[leaf] = at));
  const height = new Array(n).fill(0);
  const [x, y, text] = [[], [], []];
  tree.pairs.forEach(([a, b], m) => {
    const top = tree.distances[m];
    x.push(place[a], place[a], place[b], place[b], null);
    y.push(height[a], top, top, height[b], null);
    text.push(...new Array(5).fill(n - m));
    place.push((place[a] + place[b]) / 2);
    height.push(top);
  });
  const lines = {
    type: "scatter", mode: "lines", x, y, customdata: text,
    line: { color: css("--soft"), width: 1.5 },
    hovertemplate: "parts into %{customdata} clusters at %{y:.3f}<extra></extra>",
  };
  const done = n - state.level; // merges below the chosen level
  const below = done > 0 ? tree.distances[done - 1] : 0;
  const above = done < tree.distances.length ? tree.distances[done] : 1;
  const at = (below + above) / 2;
  const layout = {
    ...base(), xaxis: { ...hidden }, yaxis: axis("distance"),
    shapes: [{
      type: "line", xref: "paper", x0: 0, x1: 1, y0: at, y1: at,
      line: { color: css("--accent"), dash: "dot" },
    }],
    margin: { l: 60, r: 8, t: 8, b: 8 },
  };
  return Plotly.react(el, [lines], layout, STILL);
}
