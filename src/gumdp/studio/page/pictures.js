// Pictures of problems: grids, phase planes, graphs, and the machines that move. Each draws a frame:
// { mass: time spent on each cell, cell, state, trail: cells of the last steps, action, ghost: the rival's cell }
import { shade } from "./pen.js";
import { short } from "./dom.js";

export const GAMMA = 0.55; // small shares of the time are still to be seen

export function kindOf(scene) {
  if (scene.grid) return scene.axes ? "plane" : "grid";
  if (scene.edges) return "graph";
  return scene.cells <= 10000 ? "matrix" : "none";
}

export function draw(pen, scene, frame, colours) {
  const kind = kindOf(scene);
  if (kind === "graph") graph(pen, scene, frame, colours);
  else if (kind === "none")
    pen.text(pen.width / 2, pen.height / 2, `${scene.cells} cells are too many to draw`, {
      fill: colours.soft,
      align: "center",
    });
  else squares(pen, scene, frame, colours, kind);
}

export function geometry(scene, width, height) {
  // where the squares are: rows, columns, size of a square, left, top, and the place of a cell
  const plane = kindOf(scene) === "plane";
  let [rows, columns] = scene.grid || [Math.ceil(Math.sqrt(scene.cells / 1.6)), 0];
  if (!columns) columns = Math.ceil(scene.cells / rows);
  if (!scene.grid && scene.cells <= 30) [rows, columns] = [1, scene.cells];
  if (plane) [rows, columns] = [columns, rows]; // the first dimension runs to the right, the second upwards
  const pad = plane ? 26 : 6;
  let wide = (width - 2 * pad) / columns,
    high = (height - 2 * pad) / rows;
  if (!plane) wide = high = Math.min(wide, high);
  const left = (width - wide * columns) / 2,
    top = (height - high * rows) / 2;
  const place = (cell) =>
    plane
      ? [left + Math.floor(cell / rows) * wide, top + (rows - 1 - (cell % rows)) * high]
      : [left + (cell % columns) * wide, top + Math.floor(cell / columns) * high];
  return { rows, columns, wide, high, left, top, place, plane };
}

function squares(pen, scene, frame, colours, kind) {
  const g = geometry(scene, pen.width, pen.height),
    gap = Math.min(2, g.wide * 0.08),
    radius = Math.min(5, g.wide * 0.14);
  const most = Math.max(1e-12, ...frame.mass),
    layer = frame.layer;
  for (let cell = 0; cell < scene.cells; cell++) {
    const [x, y] = g.place(cell),
      letter = scene.walls ? scene.walls[Math.floor(cell / g.columns)][cell % g.columns] : ".";
    if (letter === "#") {
      pen.rect(x, y, g.wide + 0.5, g.high + 0.5, { fill: colours.wall });
      continue;
    }
    const share = layer ? layer[cell] : Math.pow(frame.mass[cell] / most, GAMMA);
    pen.rect(x + gap / 2, y + gap / 2, g.wide - gap, g.high - gap, {
      fill: shade(colours, frame.mass[cell] > 0 || layer ? share : 0),
      radius,
    });
    if (letter !== ".") ground(pen, letter, x, y, g, colours, share);
    const mark = scene.marks && scene.marks[cell];
    if (mark && g.wide > 14)
      pen.text(x + g.wide / 2, y + g.high / 2, { S: "start", G: "goal", O: "hole" }[mark], {
        size: Math.min(13, g.wide / 4),
        fill: share > 0.55 ? colours.glow : colours.faint,
        align: "center",
      });
  }
  if (kind === "plane") frameAxes(pen, scene, g, colours);
  const centre = (cell) => {
    const [x, y] = g.place(cell);
    return [x + g.wide / 2, y + g.high / 2];
  };
  const exact = g.plane && frame.state ? inPlane(scene, g, frame.state) : null;
  const size = Math.max(3, Math.min(g.wide, g.high) * 0.3);
  if (frame.trail.length > 1 && kind !== "matrix")
    pen.line(frame.trail.map(centre), {
      stroke: colours.agent,
      width: Math.max(1.2, size * 0.22),
      dash: [1, Math.max(3, size * 0.4)],
    });
  if (frame.ghost !== null && frame.ghost !== undefined)
    pen.circle(...centre(frame.ghost), size * 0.95, { stroke: colours.accent, width: Math.max(1.5, size * 0.2) });
  if (frame.cell !== null)
    agent(pen, ...(exact || centre(frame.cell)), exact ? Math.max(5, size * 0.55) : size, scene, frame, colours);
}

function agent(pen, x, y, size, scene, frame, colours) {
  pen.circle(x, y, size, { fill: colours.agent, stroke: colours.glow, width: Math.max(1.5, size * 0.16) });
  const way = frame.action === null || frame.action === undefined ? null : WAYS[scene.actions[frame.action]];
  if (way && size > 5) {
    const [dx, dy] = way,
      k = size * 0.5;
    pen.line(
      [
        [x + dx * k, y + dy * k],
        [x + (-dy * 0.8 - dx * 0.35) * k, y + (dx * 0.8 - dy * 0.35) * k],
        [x + (dy * 0.8 - dx * 0.35) * k, y + (-dx * 0.8 - dy * 0.35) * k],
      ],
      { fill: colours.glow },
      true,
    );
  }
}

const WAYS = {
  up: [0, -1],
  right: [1, 0],
  down: [0, 1],
  left: [-1, 0],
  north: [0, -1],
  east: [1, 0],
  south: [0, 1],
  west: [-1, 0],
};
const ARROWS = { "^": WAYS.up, ">": WAYS.right, v: WAYS.down, "<": WAYS.left };

export function ground(pen, letter, x, y, g, colours, share = 0) {
  const ink = share > 0.55 ? colours.glow : colours.soft,
    [mx, my] = [x + g.wide / 2, y + g.high / 2],
    k = g.wide / 2;
  if (letter === "~") {
    for (const dy of [-0.42, 0, 0.42])
      pen.line(
        [-0.6, -0.3, 0, 0.3, 0.6].map((u, i) => [mx + u * k, my + dy * k + (i % 2 ? -0.1 : 0.1) * k]),
        { stroke: ink, width: Math.max(0.8, k * 0.07) },
      );
  } else if (ARROWS[letter]) {
    const [dx, dy] = ARROWS[letter];
    pen.rect(x + g.wide * 0.06, y + g.high * 0.06, g.wide * 0.88, g.high * 0.88, {
      stroke: ink,
      width: Math.max(1, k * 0.07),
      radius: k * 0.3,
    });
    pen.line(
      [
        [mx + (dx * 0.1 - dy * 0.4) * k, my + (dy * 0.1 + dx * 0.4) * k].map((v, i) => v - [dx, dy][i] * k * 0.3),
        [mx + dx * 0.35 * k, my + dy * 0.35 * k],
        [mx + (dx * 0.1 + dy * 0.4) * k, my + (dy * 0.1 - dx * 0.4) * k].map((v, i) => v - [dx, dy][i] * k * 0.3),
      ],
      { stroke: ink, width: Math.max(1.2, k * 0.13) },
    );
  }
}

export function divided(scene) {
  return scene.ranges ? scene.ranges.map((range, k) => [range, k]).filter(([range]) => range.bins > 1) : [];
}

function inPlane(scene, g, state) {
  const dims = divided(scene);
  if (dims.length !== 2) return null;
  const share = dims.map(([range, k]) => Math.min(1, Math.max(0, (state[k] - range.low) / (range.high - range.low))));
  return [g.left + share[0] * g.columns * g.wide, g.top + (1 - share[1]) * g.rows * g.high];
}

function frameAxes(pen, scene, g, colours) {
  const style = { size: 12, fill: colours.soft },
    bottom = g.top + g.rows * g.high;
  pen.text(g.left + (g.columns * g.wide) / 2, bottom + 13, `${scene.axes[0]} →`, { ...style, align: "center" });
  pen.text(g.left, g.top - 12, `↑ ${scene.axes[1]}`, style);
}

function graph(pen, scene, frame, colours) {
  const n = scene.cells,
    r = Math.min(pen.width, pen.height) * (n > 12 ? 0.38 : 0.32),
    up = n % 2 ? (r * (1 - Math.cos(Math.PI / n))) / 2 : 0, // odd rings reach higher than low
    [mx, my] = [pen.width / 2, pen.height / 2 + up];
  const size = Math.max(6, Math.min(34, (2.2 * r) / n, r * 0.3)),
    names = Array.from({ length: n }, (_, k) => (scene.names ? short(scene.names[k], 14) : String(k))),
    inside = (name) => name.length < 4 || size > 30,
    loops = scene.edges.some(([s, , to]) => s === to),
    out = loops ? size * 1.8 : size, // names stand beyond the loops
    beside = n <= 14 ? Math.max(0, ...names.filter((name) => !inside(name)).map((name) => pen.measure(name, 12) + 10)) : 0,
    wide = Math.min(r * Math.min(1.35, pen.width / pen.height), Math.max(r * 0.6, pen.width / 2 - out - beside));
  const at = (k) => [mx + wide * Math.sin((2 * Math.PI * k) / n), my - r * Math.cos((2 * Math.PI * k) / n)];
  const most = Math.max(1e-12, ...frame.mass),
    seen = new Map();
  for (const [s, a, to, p] of scene.edges) {
    const key = `${s} ${to}`,
      now = s === frame.cell && a === frame.action;
    const old = seen.get(key) || { s, to, p: 0, now: 0 };
    seen.set(key, { s, to, p: Math.max(old.p, p), now: Math.max(old.now, now ? p : 0) });
  }
  const dense = seen.size > 5 * n;
  for (const { s, to, p, now } of [...seen.values()].sort((x, y) => x.now - y.now)) {
    if (dense && s === to && !now) continue;
    const [x0, y0] = at(s),
      [x1, y1] = at(to),
      style = now
        ? { stroke: colours.agent, width: 1.5 + 3 * now }
        : { stroke: dense ? colours.line : colours.edge, width: dense ? 0.4 + p : 0.8 + 2 * p };
    if (s === to) {
      const [ux, uy] = [(x0 - mx) / (r || 1), (y0 - my) / (r || 1)],
        k = Math.hypot(ux, uy) || 1;
      pen.circle(x0 + (ux / k) * size * 1.15, y0 + (uy / k) * size * 1.15, size * 0.62, style);
    } else {
      const [dx, dy] = [x1 - x0, y1 - y0],
        bend = 0.16,
        [cx, cy] = [(x0 + x1) / 2 - dy * bend, (y0 + y1) / 2 + dx * bend];
      pen.curve([x0, y0, cx, cy, x1, y1], style);
      if (dense && !now) continue;
      const [vx, vy] = [x1 - cx, y1 - cy],
        length = Math.hypot(vx, vy) || 1,
        tip = [x1 - (vx / length) * (size + 2), y1 - (vy / length) * (size + 2)],
        w = Math.max(4, size * 0.22);
      pen.line(
        [
          tip,
          [tip[0] - (vx / length) * w * 1.6 + (vy / length) * w, tip[1] - (vy / length) * w * 1.6 - (vx / length) * w],
          [tip[0] - (vx / length) * w * 1.6 - (vy / length) * w, tip[1] - (vy / length) * w * 1.6 + (vx / length) * w],
        ],
        { fill: now ? colours.agent : colours.faint },
        true,
      );
    }
  }
  for (let k = 0; k < n; k++) {
    const [x, y] = at(k),
      share = Math.pow(frame.mass[k] / most, GAMMA),
      here = k === frame.cell;
    pen.circle(x, y, size, {
      fill: shade(colours, frame.mass[k] > 0 ? share : 0),
      stroke: here ? colours.agent : colours.line,
      width: here ? 4 : 1,
    });
    if (frame.ghost === k) pen.circle(x, y, size * 0.72, { stroke: colours.accent, width: 2 });
    const name = names[k];
    if (inside(name))
      pen.text(x, y, name, {
        size: Math.min(14, size * 0.7),
        fill: share > 0.55 ? colours.glow : colours.ink,
        align: "center",
      });
    else if (n <= 14) {
      const [ux, uy] = [(x - mx) / (Math.hypot(x - mx, y - my) || 1), (y - my) / (Math.hypot(x - mx, y - my) || 1)];
      pen.text(x + ux * (out + 8), y + uy * (out + 10), name, {
        size: 12,
        fill: colours.soft,
        align: Math.abs(ux) < 0.3 ? "center" : ux > 0 ? "left" : "right",
      });
    }
  }
}

// --- in words, for those who can't see it ---

function nameOf(scene, cell) {
  if (scene.names) return scene.names[cell];
  return scene.grid && !scene.axes
    ? `row ${Math.floor(cell / scene.grid[1])}, column ${cell % scene.grid[1]}`
    : `state ${cell}`;
}

export function cellAt(scene, x, y, width, height) {
  // the square at a place of the picture, or null
  if (["graph", "none"].includes(kindOf(scene))) return null;
  const g = geometry(scene, width, height),
    column = Math.floor((x - g.left) / g.wide),
    row = Math.floor((y - g.top) / g.high);
  if (column < 0 || row < 0 || column >= g.columns || row >= g.rows) return null;
  const cell = g.plane ? column * g.rows + (g.rows - 1 - row) : row * g.columns + column;
  return cell < scene.cells ? cell : null;
}

export function tellCell(scene, mass, cell) {
  const total = mass.reduce((a, b) => a + b, 0);
  return `${nameOf(scene, cell)}${total > 0 ? `: ${Number(((100 * mass[cell]) / total).toPrecision(2))} % of the time` : ""}`;
}

export function describe(scene, frame, t) {
  const name = (cell) => nameOf(scene, cell);
  const seen = frame.mass.reduce((n, x) => n + (x > 0 ? 1 : 0), 0),
    busiest = frame.mass.reduce((best, x, k) => (x > frame.mass[best] ? k : best), 0),
    total = frame.mass.reduce((a, b) => a + b, 0);
  const where = frame.cell === null ? "" : `At step ${t}: ${name(frame.cell)}. `;
  return `${where}${seen} of ${scene.cells} places were visited.${total > 0 ? ` Most time was spent at ${name(busiest)}: ${Math.round((100 * frame.mass[busiest]) / total)} %.` : ""}`;
}
