// Paint a world: walls, slippery floor, doors, costs, a target, and what to do in it.
import { h, dialog } from "./dom.js";
import { drawing } from "./paint_drawing.js";
import { parts, TOOLS } from "./paint_page.js";

const CODE = "def cost(d):\n    m = d.sum(axis=1)  # the share of the time on each square\n    return (m ** 2).sum()\n";
const UNDO = 200;

export class Paint {
  constructor(app) {
    this.app = app;
    const kept =
      app.state.setting && app.state.setting.problem.name === "painted"
        ? app.state.setting.problem.options.world
        : null;
    this.world = complete(app.state.world || JSON.parse(kept || app.hello.world));
    this.first = JSON.stringify(this.world);
    this.code = sessionStorage.getItem("gumdp-code") || CODE;
    [this.past, this.future, this.tool, this.level, this.cursor] = [[], [], "#", 5, [0, 0]];
    this.allowed = () => {}; // what to do when a function may run
    this.build();
    app.link.on("checked", ({ world }) => this.accepted(world));
    app.link.on("allowed", () => this.allowed());
  }

  shown() {
    this.look();
  }
  saved() {
    return JSON.stringify(this.world) === this.first && !this.app.state.world ? {} : { world: this.world };
  }
  key(event) {
    if (event.key.toLowerCase() === "u") this.undo();
    else return false;
    return true;
  }

  // --- changing ---

  remember() {
    this.past.push(JSON.stringify(this.world));
    if (this.past.length > UNDO) this.past.shift();
    this.future = [];
  }
  undo() {
    if (this.past.length) {
      this.future.push(JSON.stringify(this.world));
      this.world = JSON.parse(this.past.pop());
      this.look();
    }
  }
  redo() {
    if (this.future.length) {
      this.past.push(JSON.stringify(this.world));
      this.world = JSON.parse(this.future.pop());
      this.look();
    }
  }
  change(parts) {
    this.remember();
    this.world = complete({ ...this.world, ...parts });
    this.look();
  }
  clear() {
    this.change({
      map: this.world.map.map((row) => ".".repeat(row.length)),
      starts: [[0, 0]],
      target: null,
      costs: [],
    });
  }

  resize() {
    const limit = (input) => Math.max(1, Math.min(60, Math.floor(Number(input.value)) || 1)),
      rows = limit(this.$.rows),
      columns = limit(this.$.columns);
    const fit = (layer, empty) =>
      layer && Array.from({ length: rows }, (_, r) => (layer[r] || "").padEnd(columns, empty).slice(0, columns));
    const starts = this.world.starts.filter(([r, c]) => r < rows && c < columns),
      map = fit(this.world.map, ".");
    if (!starts.length) {
      starts.push([0, 0]);
      map[0] = `.${map[0].slice(1)}`;
    }
    this.change({
      map,
      starts,
      target: fit(this.world.target, "0"),
      costs: this.world.costs.map((layer) => fit(layer, "0")),
    });
  }

  dab(event) {
    const box = this.$.canvas.getBoundingClientRect(),
      g = this.geometry();
    const c = Math.floor((event.clientX - box.left - g.left) / g.wide),
      r = Math.floor((event.clientY - box.top - g.top) / g.high);
    if (r >= 0 && c >= 0 && r < g.rows && c < g.columns) {
      this.cursor = [r, c];
      this.brush(r, c);
    }
  }

  brush(r, c) {
    const world = this.world,
      tool = this.tool,
      put = (layer, letter) => layer.map((row, k) => (k === r ? row.slice(0, c) + letter + row.slice(c + 1) : row)),
      isStart = world.starts.some(([a, b]) => a === r && b === c);
    const blank = () => world.map.map((row) => "0".repeat(row.length));
    if (tool === "start") {
      if (world.map[r][c] !== "#")
        world.starts =
          isStart && world.starts.length > 1 && !this.down
            ? world.starts.filter(([a, b]) => a !== r || b !== c)
            : this.several
              ? [...world.starts, [r, c]]
              : [[r, c]];
    } else if (tool === "target") world.target = put(world.target || blank(), String(this.level));
    else if (tool.startsWith("cost")) {
      const k = Number(tool[4]);
      while (world.costs.length <= k) world.costs.push(blank());
      world.costs[k] = put(world.costs[k], String(this.level));
    } else {
      if (tool === "#" && isStart) return;
      world.map = put(world.map, tool);
      if (tool === "." && world.target) world.target = put(world.target, "0");
      if (tool === ".") world.costs = world.costs.map((layer) => put(layer, "0"));
    }
    this.look();
  }

  keys(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (move) {
      const [rows, columns] = [this.world.map.length, this.world.map[0].length];
      this.cursor = [
        Math.max(0, Math.min(rows - 1, this.cursor[0] + move[0])),
        Math.max(0, Math.min(columns - 1, this.cursor[1] + move[1])),
      ];
      this.look();
    } else if (event.key === " " || event.key === "Enter") {
      this.remember();
      this.brush(...this.cursor);
    } else return;
    this.$.said.textContent = `row ${this.cursor[0]}, column ${this.cursor[1]}: ${(TOOLS.find(([, tool]) => tool === this.world.map[this.cursor[0]][this.cursor[1]]) || ["floor"])[0]}`;
    event.preventDefault();
    event.stopPropagation();
  }

  // --- going ---

  plan() {
    const { kind } = this.world.objective,
      text = JSON.stringify(this.world);
    if (kind === "function") {
      const problem = { name: "painted", options: { world: text }, code: this.code };
      this.confirm(this.code, () => {
        this.app.setting.problem = problem;
        this.go();
      });
    } else {
      this.planning = true;
      this.app.error("");
      this.app.link.send("check", { world: text });
    }
  }
  accepted(world) {
    if (this.planning) {
      this.planning = false;
      this.app.setting.problem = { name: "painted", options: { world } };
      this.go();
    } else {
      this.remember();
      this.world = complete(JSON.parse(world));
      this.app.error("");
      this.look();
    }
  }
  go() {
    if (!this.app.searches(this.app.setting.planner.name))
      this.app.setting.planner = { name: "mcts", options: { iterations: 1000 } };
    this.app.show("watch");
    this.app.views.watch.open();
  }
  // Show a function, and go on when it may run; it is asked for once.
  confirm(code, then) {
    this.allowed = then;
    if (this.confirmed === code) return then();
    const run = h(
      "button",
      {
        type: "button",
        class: "main",
        id: "allow",
        onclick: () => {
          this.confirmed = code;
          box.close();
          this.app.link.send("allow", { code });
        },
      },
      "Run it on this machine",
    );
    const box = dialog(
      "Run this function?",
      h(
        "p",
        {},
        "It runs as Python on this machine, with your rights: it can read and change your files. Run only what you wrote or understand.",
      ),
      h("pre", {}, code),
      h(
        "div",
        { class: "row" },
        h("span", { class: "grow" }),
        h("button", { type: "button", class: "plain", onclick: () => box.close() }, "No"),
        run,
      ),
    );
  }
  async openFile() {
    const file = this.$.file.files[0];
    this.$.file.value = "";
    if (!file) return;
    if (file.size > 200000) return this.app.error("This file is too large for a world.");
    this.planning = false;
    this.app.link.send("check", { world: await file.text() });
  }

  // --- drawing ---
}

function complete(world) {
  const objective = { kind: "explore", ...(world.objective || {}) };
  return {
    format: "gumdp-world",
    version: 1,
    name: "a painted world",
    slip: 0.2,
    target: null,
    costs: [],
    discount: 1,
    horizon: 60,
    ...world,
    objective,
  };
}

Object.assign(Paint.prototype, parts, drawing);
