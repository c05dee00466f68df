// What the easel draws.
import { CanvasPen, theme, shade } from "./pen.js";
import { ground } from "./pictures.js";

const NOTES = {
  explore: "Be on every square alike, in this run.",
  imitate: "Spend the time as the target says: paint shares with the target brush.",
  worst: "An adversary who saw the whole run picks cost A, B or C: keep the largest of them small.",
  budget: "See all squares, but spend at most the budget on each painted cost, in this run.",
  cost: "The painted costs, added up.",
  function: "It gets the occupancy d, an array [squares, 5 actions] that sums to 1, and returns a cost.",
};

export const drawing = {
  geometry() {
    const canvas = this.$.canvas,
      rows = this.world.map.length,
      columns = this.world.map[0].length,
      pad = 8;
    const wide = Math.min((canvas.clientWidth - 2 * pad) / columns, (canvas.clientHeight - 2 * pad) / rows);
    return {
      rows,
      columns,
      wide,
      high: wide,
      left: (canvas.clientWidth - wide * columns) / 2,
      top: (canvas.clientHeight - wide * rows) / 2,
    };
  },

  look() {
    const $ = this.$,
      world = this.world,
      { kind } = world.objective,
      layered = this.tool === "target" || this.tool.startsWith("cost");
    for (const button of $.tools.children)
      button.setAttribute("aria-checked", String(button.dataset.tool === this.tool));
    $.levelField.hidden = !layered;
    $.levelOut.textContent = `${this.level} of 9`;
    [$.name.value, $.rows.value, $.columns.value, $.slip.value, $.horizon.value, $.discount.value, $.goal.value] = [
      world.name,
      world.map.length,
      world.map[0].length,
      world.slip,
      world.horizon,
      world.discount,
      kind,
    ].map(String);
    $.note.textContent = NOTES[kind];
    $.budgetField.hidden = $.penaltyField.hidden = kind !== "budget";
    if (kind === "budget")
      [$.budget.value, $.penalty.value] = [world.objective.budget, world.objective.penalty].map((v) => String(v ?? ""));
    $.codeField.hidden = kind !== "function";
    if ($.code.value !== this.code) $.code.value = this.code;
    $.undo.disabled = !this.past.length;
    $.redo.disabled = !this.future.length;
    this.app.save();
    this.redraw();
  },

  redraw() {
    if (this.app.view !== "paint") return;
    this.$.canvas.style.aspectRatio = String(
      Math.max(0.7, Math.min(1.6, this.world.map[0].length / this.world.map.length)),
    );
    const pen = new CanvasPen(this.$.canvas),
      colours = theme(),
      g = this.geometry(),
      world = this.world,
      gap = Math.min(2, g.wide * 0.06),
      layers = [
        ...world.costs.map((rows, k) => [rows, colours.series[[1, 3, 4][k]], "ABC"[k]]),
        ...(world.target ? [[world.target, colours.series[2], "T"]] : []),
      ];
    for (let r = 0; r < g.rows; r++)
      for (let c = 0; c < g.columns; c++) {
        const [x, y] = [g.left + c * g.wide, g.top + r * g.high],
          letter = world.map[r][c];
        if (letter === "#") pen.rect(x, y, g.wide + 0.5, g.high + 0.5, { fill: colours.wall });
        else {
          pen.rect(x + gap / 2, y + gap / 2, g.wide - gap, g.high - gap, {
            fill: shade(colours, 0),
            radius: Math.min(5, g.wide * 0.14),
          });
          ground(pen, letter, x, y, g, colours);
        }
        layers.forEach(([rows, colour, name], k) => {
          const level = Number(rows[r][c]);
          if (!level) return;
          const size = g.wide * 0.42,
            [lx, ly] = [x + (k % 2 ? g.wide - size - gap : gap), y + (k > 1 ? g.high - size - gap : gap)];
          pen.rect(lx, ly, size, size, {
            fill: `${colour}${Math.round(50 + level * 22)
              .toString(16)
              .padStart(2, "0")}`,
            radius: size * 0.3,
          });
          if (size > 12)
            pen.text(lx + size / 2, ly + size / 2, `${name}${level}`, {
              size: Math.min(12, size * 0.5),
              fill: level > 4 ? colours.glow : colours.ink,
              align: "center",
              weight: 600,
            });
        });
        if (world.starts.some(([a, b]) => a === r && b === c))
          pen.circle(x + g.wide / 2, y + g.high / 2, g.wide * 0.24, {
            fill: colours.agent,
            stroke: colours.glow,
            width: 2,
          });
      }
    if (document.activeElement === this.$.canvas)
      pen.rect(g.left + this.cursor[1] * g.wide + 1, g.top + this.cursor[0] * g.high + 1, g.wide - 2, g.high - 2, {
        stroke: colours.accent,
        width: 2.5,
        radius: 4,
      });
    this.$.canvas.setAttribute(
      "aria-label",
      `A world of ${g.rows} rows and ${g.columns} columns; arrows move the brush, space paints`,
    );
  },
};
