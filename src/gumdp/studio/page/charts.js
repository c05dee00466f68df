// Charts: lines over time, the top of a search tree, and distributions.
import { number, short } from "./dom.js";

function ticks(low, high, most = 5) {
  const raw = (high - low) / most,
    power = 10 ** Math.floor(Math.log10(raw)),
    step = [1, 2, 5, 10].find((k) => k * power >= raw) * power,
    found = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++)
    found.push(Number((k * step).toPrecision(10)));
  return found;
}

function range(values) {
  const finite = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!finite.length) return [0, 1];
  let [low, high] = [finite[0], finite[finite.length - 1]];
  if (finite.length > 12)
    high = Math.min(
      high,
      finite[Math.floor(finite.length * 0.93)] * 1.15 +
        1e-12 +
        (finite[Math.floor(finite.length * 0.93)] < 0 ? 0.3 * Math.abs(finite[Math.floor(finite.length * 0.93)]) : 0),
    ); // the first steps are far off
  if (high - low < 1e-9 * (Math.abs(high) + 1e-9))
    [low, high] = [low - Math.abs(low) * 0.1 - 1e-6, high + Math.abs(high) * 0.1 + 1e-6];
  const pad = 0.07 * (high - low);
  return [low - pad, high + pad];
}

// series: [{ values, colour, dash, width, label }]; levels: [{ value, colour, label }]
export function lines(pen, series, levels, steps, now, colours) {
  const [low, high] = range([
    ...series.flatMap((s) => s.values.filter((v) => v !== null)),
    ...levels.map((l) => l.value),
  ]);
  if (!series.some((s) => s.values.length) && !levels.length) {
    pen.text(pen.width / 2, pen.height / 2, "no step was made yet", { fill: colours.faint, align: "center" });
    return;
  }
  const left = 46,
    right = 10,
    top = 8,
    bottom = 20,
    w = pen.width - left - right,
    hh = pen.height - top - bottom;
  const X = (t) => left + ((t + 1) / steps) * w, // after step t, t + 1 steps were made
    Y = (v) => top + (1 - (v - low) / (high - low)) * hh;
  for (const tick of ticks(low, high)) {
    pen.line(
      [
        [left, Y(tick)],
        [pen.width - right, Y(tick)],
      ],
      { stroke: colours.line, width: 1 },
    );
    pen.text(left - 7, Y(tick), number(tick, 3), { size: 11, fill: colours.faint, align: "right" });
  }
  for (const tick of ticks(0, steps, 6))
    if (Number.isInteger(tick))
      pen.text(X(tick - 1), pen.height - 7, String(tick), { size: 11, fill: colours.faint, align: "center" });
  for (const { value, colour, label } of levels.filter((level) => level.value <= high)) {
    pen.line(
      [
        [left, Y(value)],
        [pen.width - right, Y(value)],
      ],
      { stroke: colour, width: 1.5, dash: [2, 4] },
    );
    const under = Y(value) + 16 < top + hh; // costs are above a bound
    pen.text(left + 4, Y(value) + (under ? 9 : -8), label, { size: 11, fill: colour });
  }
  if (now !== null)
    pen.line(
      [
        [X(now), top],
        [X(now), top + hh],
      ],
      { stroke: colours.agent, width: 1.5 },
    );
  for (const { values, colour, dash, width = 2 } of series) {
    let path = [];
    const flush = () => {
      if (path.length > 1) pen.line(path, { stroke: colour, width, dash });
      else if (path.length) pen.circle(...path[0], width, { fill: colour });
      path = [];
    };
    let last = null; // what is above the frame is left out, up to where the line comes in
    const edge = (t, v) => path.push([X(t - 1 + (last - high) / (last - v)), top]);
    values.forEach((v, t) => {
      if (v === null || !Number.isFinite(v)) flush();
      else if (v <= high) {
        if (last !== null && last > high) edge(t, v);
        path.push([X(t), Y(v)]);
      } else if (path.length) {
        edge(t, v);
        flush();
      }
      last = v !== null && Number.isFinite(v) ? v : null;
    });
    flush();
  }
}

// A certificate: the lower bound, the mean of the trials and its upper limit on one line, each with its name.
export function proof(pen, { lower, mean, upper, run }, colours) {
  const marks = [
    { value: lower, name: "no policy is below on average", colour: colours.good },
    { value: mean, name: "mean of the trials", colour: colours.accent },
    { value: upper, name: "at most", colour: colours.accent },
    ...(Number.isFinite(run) ? [{ value: run, name: "this run", colour: colours.hand }] : []),
  ].sort((a, b) => a.value - b.value); // so that no line crosses a name
  const values = marks.map((mark) => mark.value),
    low = Math.min(...values),
    wide = Math.max(...values) - low || 1,
    X = (v) => 14 + ((v - low) / wide) * (pen.width - 28),
    top = 12;
  pen.line([[X(lower), top], [X(upper), top]], { stroke: colours.line, width: 8 }); // prettier-ignore
  marks.forEach(({ value, name, colour }, k) => {
    const x = X(value),
      y = top + 22 + 17 * k,
      right = x > pen.width * 0.6;
    pen.line([[x, top], [x, y]], { stroke: colour, width: 1 }); // prettier-ignore
    pen.circle(x, top, 5, { fill: colour, stroke: colours.glow, width: 1.5 });
    pen.text(x + (right ? -6 : 6), y, `${name} ${number(value)}`, { fill: colour, align: right ? "right" : "left" });
  });
}

// top: [{ a, n, q, kids: [{ s, n, kids: [{ a, n, q }] }] }]
export function tree(pen, top, scene, taken, colours) {
  const leaves = [];
  for (const edge of top)
    for (const outcome of edge.kids.length ? edge.kids : [{ s: null, n: 0, kids: [] }])
      for (const kid of outcome.kids.length ? outcome.kids : [null]) leaves.push({ edge, outcome, kid });
  if (!leaves.length) return;
  const room = (pen.height - 16) / leaves.length,
    all = Math.max(
      1,
      top.reduce((sum, edge) => sum + edge.n, 0),
    ),
    root = [14, pen.height / 2],
    names = pen.width > 330;
  const xs = names
    ? [pen.width * 0.3, pen.width * 0.62, pen.width * 0.95]
    : [pen.width * 0.36, pen.width * 0.68, pen.width * 0.95];
  const y = (of) => {
    const mine = leaves
      .map((leaf, k) => [leaf, k])
      .filter(([leaf]) => of(leaf))
      .map(([, k]) => 8 + (k + 0.5) * room);
    return (mine[0] + mine[mine.length - 1]) / 2;
  };
  const branch = (from, to, n, colour) => {
    const mid = (from[0] + to[0]) / 2;
    pen.curve([...from, mid, from[1], mid, (from[1] + to[1]) / 2], {
      stroke: colour,
      width: 0.8 + 7 * Math.sqrt(n / all),
    });
    pen.curve([mid, (from[1] + to[1]) / 2, mid, to[1], ...to], { stroke: colour, width: 0.8 + 7 * Math.sqrt(n / all) });
  };
  for (const edge of top) {
    const colour = edge.a === taken ? colours.accent : colours.faint,
      at = [xs[0], y((leaf) => leaf.edge === edge)];
    branch(root, at, edge.n, colour);
    for (const outcome of edge.kids) {
      const there = [xs[1], y((leaf) => leaf.outcome === outcome)];
      branch(at, there, outcome.n, colour);
      for (const kid of outcome.kids) {
        const end = [xs[2], y((leaf) => leaf.kid === kid)];
        branch(there, end, kid.n, colour);
        pen.circle(...end, 1.5 + 4 * Math.sqrt(kid.n / all), { fill: colour });
      }
      pen.circle(...there, 2.5 + 5 * Math.sqrt(outcome.n / all), { fill: colours.panel, stroke: colour, width: 1.5 });
      if (names && room * Math.max(1, outcome.kids.length) > 11)
        label(pen, there[0], there[1] - 11, stateName(scene, outcome.s), colours.soft, colours);
    }
    pen.circle(...at, 3 + 6 * Math.sqrt(edge.n / all), { fill: colour });
    label(
      pen,
      at[0],
      at[1] - 13,
      short(scene.actions[edge.a], 14),
      edge.a === taken ? colours.accent : colours.soft,
      colours,
      edge.a === taken ? 650 : 400,
    );
  }
  pen.circle(...root, 7, { fill: colours.agent, stroke: colours.panel, width: 2 });
}

function label(pen, x, y, text, fill, colours, weight = 400) {
  const wide = pen.measure(text, 11) + 6;
  pen.rect(x - wide / 2, y - 7, wide, 13, { fill: colours.panel, radius: 3 });
  pen.text(x, y, text, { size: 11, fill, align: "center", weight });
}

export function stateName(scene, s) {
  if (s === null || s >= scene.cells) return "";
  if (scene.names)
    return short(
      scene.names[s].replace(/row (\d+) column (\d+).*/, "$1,$2").replace(/[a-z][a-z ]* (?=-?\d)/g, ""),
      18,
    );
  return scene.grid && !scene.axes ? `${Math.floor(s / scene.grid[1])},${s % scene.grid[1]}` : String(s);
}

// rows: [{ label, values, mean, interval, colour }]
export function strips(pen, rows, levels, colours) {
  const [low, high] = bounds(rows, levels),
    narrow = pen.width < 560,
    left = narrow ? 12 : Math.min(190, pen.width * 0.28),
    right = 18,
    bottom = 24,
    w = pen.width - left - right,
    each = (pen.height - bottom - 4) / Math.max(1, rows.length);
  const X = (v) => left + ((v - low) / (high - low)) * w;
  for (const tick of ticks(low, high, 6)) {
    pen.line(
      [
        [X(tick), 2],
        [X(tick), pen.height - bottom],
      ],
      { stroke: colours.line, width: 1 },
    );
    pen.text(X(tick), pen.height - 10, number(tick, 3), { size: 11, fill: colours.faint, align: "center" });
  }
  for (const { value, label: name } of levels) {
    pen.line(
      [
        [X(value), 2],
        [X(value), pen.height - bottom],
      ],
      { stroke: colours.good, width: 1.5, dash: [2, 4] },
    );
    pen.text(X(value) + 5, 9, name, { size: 11, fill: colours.good });
  }
  rows.forEach((row, k) => {
    const mid = 4 + (k + 0.5) * each,
      dot = Math.max(1.4, Math.min(3.4, 26 / Math.sqrt(row.values.length + 1)));
    row.values.forEach((v, i) =>
      pen.circle(X(v), mid + (((i * 0.618034) % 1) - 0.5) * each * 0.55, dot, {
        fill: alpha(row.colour, row.values.length > 400 ? 0.25 : 0.42),
      }),
    );
    if (narrow) pen.text(left, mid - each / 2 + 7, short(row.label, 30), { size: 12, fill: colours.ink });
    else pen.text(left - 12, mid, short(row.label, 26), { size: 12.5, fill: colours.ink, align: "right" });
    if (row.mean !== null && row.mean !== undefined) {
      if (row.interval) {
        pen.line(
          [
            [X(row.interval[0]), mid],
            [X(row.interval[1]), mid],
          ],
          { stroke: colours.glow, width: 8 },
        );
        pen.line(
          [
            [X(row.interval[0]), mid],
            [X(row.interval[1]), mid],
          ],
          { stroke: row.colour, width: 4 },
        );
      }
      pen.circle(X(row.mean), mid, 6, { fill: row.colour, stroke: colours.glow, width: 2 });
    }
  });
}

function bounds(rows, levels) {
  const all = [...rows.flatMap((row) => row.values), ...levels.map((level) => level.value)].filter(Number.isFinite);
  if (!all.length) return [0, 1];
  let low = Infinity,
    high = -Infinity;
  for (const v of all) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  const pad = 0.05 * (high - low) || Math.abs(high) * 0.1 || 1;
  return [low - pad, high + pad];
}

function alpha(colour, a) {
  return `rgb(${[1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)).join(" ")} / ${a})`;
}
