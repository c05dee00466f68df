// Pictures of what moves: MountainCar, CartPole, Acrobot, Pendulum, each as people know it.
import { shade } from "./pen.js";
import { divided, GAMMA } from "./pictures.js";

export function drawMover(pen, scene, frame, colours) {
  const kind = scene.mover.kind,
    state = frame.state;
  if (state) ({ mountaincar, cartpole, acrobot, pendulum })[kind](pen, scene, state, frame, colours);
}

function mountaincar(pen, scene, [position], frame, colours) {
  const { min_position: low, max_position: high, goal_position: goal } = scene.mover,
    pad = 24;
  const X = (x) => pad + ((x - low) / (high - low)) * (pen.width - 2 * pad),
    height = (x) => Math.sin(3 * x) * 0.45 + 0.55;
  const Y = (x) => pen.height - pad - height(x) * (pen.height - 3 * pad) * 0.8,
    hill = [];
  for (let k = 0; k <= 80; k++) {
    const x = low + ((high - low) * k) / 80;
    hill.push([X(x), Y(x)]);
  }
  pen.line([...hill, [X(high), pen.height], [X(low), pen.height]], { fill: colours.sunk }, true);
  pen.line(hill, { stroke: colours.soft, width: 2 });
  pen.line(
    [
      [X(goal), Y(goal)],
      [X(goal), Y(goal) - 36],
    ],
    { stroke: colours.good, width: 2 },
  );
  pen.line(
    [
      [X(goal), Y(goal) - 36],
      [X(goal) + 18, Y(goal) - 30],
      [X(goal), Y(goal) - 24],
    ],
    { fill: colours.good },
    true,
  );
  const slope = Math.atan2(Y(position + 0.01) - Y(position - 0.01), X(position + 0.01) - X(position - 0.01)),
    turn = turned(X(position), Y(position), slope);
  for (const dx of [-9, 9]) pen.circle(...turn(dx, -5), 4.5, { fill: colours.ink });
  pen.line(
    [turn(-16, -7), turn(16, -7), turn(15, -15), turn(7, -16), turn(3, -22), turn(-9, -22), turn(-15, -15)],
    { fill: colours.agent },
    true,
  );
  push(pen, frame, scene, X(position), Y(position) - 40, colours);
}

function cartpole(pen, scene, [x, , angle], frame, colours) {
  const { x_threshold: most, length } = scene.mover,
    pad = 20,
    floor = pen.height * 0.78,
    scale = (pen.width - 2 * pad) / (2 * most),
    cx = pen.width / 2 + x * scale;
  pen.line(
    [
      [pad, floor],
      [pen.width - pad, floor],
    ],
    { stroke: colours.soft, width: 2 },
  );
  for (const end of [pad, pen.width - pad])
    pen.line(
      [
        [end, floor - 8],
        [end, floor + 8],
      ],
      { stroke: colours.soft, width: 2 },
    );
  const n = scene.cells; // places of the track, where the occupancy counts them
  if (divided(scene).length === 1)
    for (let k = 0; k < n; k++) {
      const w = (pen.width - 2 * pad) / n,
        peak = Math.max(1e-12, ...frame.mass);
      pen.rect(pad + k * w + 1, floor + 14, w - 2, 12, {
        fill: shade(colours, frame.mass[k] > 0 ? Math.pow(frame.mass[k] / peak, GAMMA) : 0),
        radius: 3,
      });
    }
  const tall = Math.min(pen.height * 0.5, 2 * length * scale * 1.6),
    tip = [cx + Math.sin(angle) * tall, floor - 20 - Math.cos(angle) * tall];
  pen.rect(cx - 24, floor - 26, 48, 20, { fill: colours.ink, radius: 4 });
  for (const dx of [-14, 14]) pen.circle(cx + dx, floor - 4, 5, { fill: colours.soft });
  pen.line([[cx, floor - 20], tip], { stroke: colours.agent, width: 7 });
  pen.circle(cx, floor - 20, 4, { fill: colours.panel });
  push(pen, frame, scene, cx, floor - 38, colours);
}

function acrobot(pen, scene, [one, two], frame, colours) {
  const r = Math.min(pen.width, pen.height) * 0.2,
    [mx, my] = [pen.width / 2, pen.height / 2];
  const elbow = [mx + r * Math.sin(one), my + r * Math.cos(one)],
    hand = [elbow[0] + r * Math.sin(one + two), elbow[1] + r * Math.cos(one + two)];
  pen.line(
    [
      [mx - 2.2 * r, my - r],
      [mx + 2.2 * r, my - r],
    ],
    { stroke: colours.good, width: 1.5, dash: [4, 5] },
  );
  pen.line([[mx, my], elbow], { stroke: colours.soft, width: 9 });
  pen.line([elbow, hand], { stroke: colours.agent, width: 9 });
  for (const p of [[mx, my], elbow]) pen.circle(...p, 5, { fill: colours.panel, stroke: colours.ink, width: 2 });
}

function pendulum(pen, scene, [angle], frame, colours) {
  const r = Math.min(pen.width, pen.height) * 0.36,
    [mx, my] = [pen.width / 2, pen.height / 2];
  pen.line(
    [
      [mx, my],
      [mx + r * Math.sin(angle), my - r * Math.cos(angle)],
    ],
    { stroke: colours.agent, width: 12 },
  );
  pen.circle(mx, my, 6, { fill: colours.panel, stroke: colours.ink, width: 2 });
}

function turned(x, y, angle) {
  return (dx, dy) => [x + dx * Math.cos(angle) - dy * Math.sin(angle), y + dx * Math.sin(angle) + dy * Math.cos(angle)];
}

function push(pen, frame, scene, x, y, colours) {
  const name = frame.action === null || frame.action === undefined ? "" : scene.actions[frame.action],
    way = /left/.test(name) ? -1 : /right/.test(name) ? 1 : 0;
  if (way) {
    pen.line(
      [
        [x - way * 12, y],
        [x + way * 12, y],
      ],
      { stroke: colours.accent, width: 3 },
    );
    pen.line(
      [
        [x + way * 6, y - 5],
        [x + way * 13, y],
        [x + way * 6, y + 5],
      ],
      { stroke: colours.accent, width: 3 },
    );
  }
}
