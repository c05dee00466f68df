// What the view of a race draws: the trials side by side, and the distributions.
import { h, number } from "./dom.js";
import { CanvasPen, theme } from "./pen.js";
import { draw, describe, kindOf } from "./pictures.js";
import { drawMover } from "./movers.js";
import { lines, strips } from "./charts.js";

const TRAIL = 10; // steps that are drawn as a path

function verdict({ p, difference }) {
  if (difference === 0) return "no difference";
  if (p >= 0.05) return "no clear difference";
  return "clearly better";
}

export const drawing = {
  redraw() {
    if (this.app.view !== "race") return;
    const colours = theme();
    if (this.scene && !this.$.sideCard.hidden) this.drawSides(colours);
    if (!this.$.raceCard.hidden) this.drawRace(colours);
  },

  drawSides(colours) {
    const best = Math.min(...this.sides.filter((side) => side && !side.sorry).map((side) => side.value)),
      over = this.at >= this.scene.steps;
    [...this.$.sides.children].forEach((figure, k) => {
      const side = this.sides[k];
      if (!side) return;
      if (side.sorry) {
        figure.value.textContent = "can't play this";
        figure.canvas.hidden = true;
        if (figure.children.length === 2) figure.append(h("p", { class: "note" }, side.sorry));
        return;
      }
      const at = Math.min(this.at, side.cells.length - 1),
        mass = new Float64Array(this.scene.cells);
      for (let t = 0; t < Math.min(this.at, side.cells.length); t++)
        mass[side.cells[t]] += this.scene.weights[Math.min(t, this.scene.weights.length - 1)];
      const frame = {
        mass,
        cell: side.cells[at],
        state: side.states ? side.states[at] : null,
        trail: side.cells.slice(Math.max(0, at - TRAIL), at + 1),
        action: side.actions[at],
        ghost: null,
      };
      const pen = new CanvasPen(figure.canvas);
      if (this.scene.mover && kindOf(this.scene) === "matrix") drawMover(pen, this.scene, frame, colours);
      else draw(pen, this.scene, frame, colours);
      figure.canvas.setAttribute("aria-label", describe(this.scene, frame, this.at));
      figure.value.textContent = number(
        over ? side.value : side.costs[Math.max(0, Math.min(this.at, side.costs.length) - 1)],
        4,
      );
      figure.value.className = `number ${over && side.value <= best + 1e-12 ? "best" : ""}`;
    });
    this.$.step.value = String(this.at);
    const series = this.sides
      .map(
        (side, k) =>
          side && !side.sorry && { values: side.costs.slice(0, this.at), colour: colours.series[k], label: this.sideLabels[k] },
      )
      .filter(Boolean);
    lines(new CanvasPen(this.$.costs), series, this.levels(), this.scene.steps, null, colours);
    this.$.costs.setAttribute(
      "aria-label",
      `Cost over time: ${series.map((s) => `${s.label} ${number(s.values[s.values.length - 1])}`).join(", ")}`,
    );
    this.$.legend.replaceChildren(
      ...series.map((s) => {
        const mark = h("i");
        mark.style.borderTopColor = s.colour;
        return h("span", {}, mark, s.label);
      }),
    );
  },

  levels() {
    return this.bound ? [{ value: this.bound.value, colour: theme().good, label: "lower bound" }] : [];
  },

  drawRace(colours) {
    const v = this.verdict,
      rows = this.values
        .map((values, k) => ({
        label: this.labels[k],
        values: values.length > 1500 ? values.slice(0, 1500) : values,
        mean: v ? v.means[k] : values.length ? values.reduce((a, b) => a + b, 0) / values.length : null,
        interval: v ? v.intervals[k] : null,
        colour: colours.series[k % colours.series.length],
      }))
        .filter((_, k) => !this.out[k]);
    this.$.bar.value = this.done() / this.total || 0;
    this.$.strips.style.aspectRatio = "auto";
    this.$.strips.style.height = `${rows.length * 64 + 34}px`;
    this.$.prove.hidden = Boolean(this.bound);
    strips(new CanvasPen(this.$.strips), rows, this.levels(), colours);
    this.$.strips.setAttribute(
      "aria-label",
      rows
        .map(
          (row) =>
            `${row.label}: mean ${number(row.mean)}${row.interval ? `, 90 % interval ${number(row.interval[0])} to ${number(row.interval[1])}` : ""}`,
        )
        .join(". "),
    );
    const sorry = Object.entries(this.out).map(([k, text]) =>
      h("p", { class: "note" }, h("b", {}, this.labels[k]), ` can't play this problem: ${text}`),
    );
    this.$.verdict.replaceChildren(...(v ? this.said(v) : []), ...sorry);
  },

  said(v) {
    const name = (k) => this.labels[k],
      lead = h(
        "p",
        {},
        h("b", {}, name(v.leader)),
        ` leads with a mean of ${number(v.means[v.leader])}, 90 % interval [${number(v.intervals[v.leader][0])}, ${number(v.intervals[v.leader][1])}], on the same random numbers:`,
      );
    const list = h(
      "ul",
      { class: "said" },
      v.against.map((pair) =>
        h(
          "li",
          {},
          `against ${name(pair.k)} (${number(v.means[pair.k])}): `,
          h("b", {}, verdict(pair)),
          ` (${pair.test}, p = ${number(pair.p, 2)}); lower in ${Math.round(100 * pair.wins)} % of ${v.trials} trials`,
        ),
      ),
    );
    const stored = this.folder
      ? h("p", { class: "note" }, "Every trial is stored. For a report: ", h("kbd", {}, `gumdp report ${this.folder}`))
      : this.racing
        ? null
        : h("p", { class: "note" }, "This problem has no name, so that its trials were not stored.");
    return v.against.length
      ? [lead, list, stored].filter(Boolean)
      : [
          h(
            "p",
            {},
            `${name(v.leader)}: mean ${number(v.means[v.leader])}, 90 % interval [${number(v.intervals[v.leader][0])}, ${number(v.intervals[v.leader][1])}]`,
          ),
          stored,
        ].filter(Boolean);
  },
};
