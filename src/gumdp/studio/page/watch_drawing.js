// What the view of a run draws: the map, the decision, the tree, the curves.
import { h, setIcon, number, count, seconds } from "./dom.js";
import { CanvasPen, theme, shade } from "./pen.js";
import { draw, describe, cellAt, tellCell } from "./pictures.js";
import { drawMover } from "./movers.js";
import { lines, proof, tree } from "./charts.js";

const TRAIL = 14; // steps that are drawn as a path

// The end of a gauge: 1, 2 or 5 times a power of ten, so that it does not move with every step.
function roundUp(most) {
  const power = 10 ** Math.floor(Math.log10(most) - 1e-9);
  return [1, 2, 5, 10].find((k) => k * power >= most) * power;
}

export const drawing = {
  later() {
    if (!this.due) {
      this.due = true;
      requestAnimationFrame(() => {
        this.due = false;
        this.redraw();
      });
    }
  },

  frame(at = this.at) {
    if (!this.massAt || this.massAt.at > at || this.massAt.mass.length !== this.scene.cells)
      this.massAt = { at: 0, mass: new Float64Array(this.scene.cells) };
    const { mass } = this.massAt,
      weights = this.scene.weights;
    for (let k = this.massAt.at; k < at; k++) mass[this.steps[k].cell] += weights[Math.min(k, weights.length - 1)];
    this.massAt.at = at;
    const here = at < this.steps.length ? this.steps[at] : this.place,
      trail = [];
    for (let k = Math.max(0, at - TRAIL); k < at; k++) trail.push(this.steps[k].cell);
    if (here) trail.push(here.cell);
    const action =
      at < this.steps.length
        ? this.steps[at].action
        : this.asked
          ? null
          : this.thought
            ? this.thought.advice
            : at
              ? this.steps[at - 1].action
              : null;
    const ghost = this.rival && at < this.rival.cells.length ? this.rival.cells[at] : null;
    return { mass, cell: here ? here.cell : null, state: here ? here.state : null, trail, action, ghost };
  },

  shownLayer() {
    const chosen = this.$.layer.value;
    if (chosen === "" || !this.scene.layers[Number(chosen)]) return null;
    const values = this.scene.layers[Number(chosen)].values,
      low = Math.min(...values),
      high = Math.max(...values);
    return values.map((v) => (v - low) / (high - low || 1));
  },

  redraw() {
    if (this.app.view !== "watch" || !this.scene) return;
    const colours = theme(),
      frame = { ...this.frame(), layer: this.shownLayer() },
      $ = this.$;
    if (!$.picture.hidden) draw(new CanvasPen($.picture), this.scene, frame, colours);
    if (!$.mover.hidden) drawMover(new CanvasPen($.mover), this.scene, frame, colours);
    const words = describe(this.scene, frame, this.at);
    for (const canvas of [$.picture, $.mover]) canvas.setAttribute("aria-label", words);
    $.words.textContent = words;
    const ramp = new CanvasPen($.ramp);
    for (let k = 0; k < 32; k++)
      ramp.rect((k * ramp.width) / 32, 0, ramp.width / 32 + 1, ramp.height, { fill: shade(colours, k / 31) });
    this.transport();
    this.gauges();
    this.decision(colours);
    this.curves(colours);
  },

  pointAt({ offsetX, offsetY }) {
    // what is under the pointer, as the picture's title
    const { picture } = this.$,
      cell = this.scene ? cellAt(this.scene, offsetX, offsetY, picture.clientWidth, picture.clientHeight) : null;
    picture.title = cell === null ? "" : tellCell(this.scene, this.frame().mass, cell);
  },

  transport() {
    const $ = this.$,
      live = this.at >= this.steps.length;
    setIcon($.play, this.playing ? "pause" : "play", this.playing ? "Pause (space)" : "Play (space)");
    $.back.disabled = this.at === 0;
    $.step.disabled = live && Boolean(this.end);
    if (document.activeElement !== $.scrub) $.scrub.value = String(this.at);
    $.where.textContent = `${this.at} of ${this.scene.steps}`;
    document.documentElement.dataset.step = String(this.at);
    document.documentElement.dataset.over = String(Boolean(this.end));
    this.announce(live);
  },

  gauges() {
    // totals of the run, where the problem counts some
    const { $ } = this,
      names = this.scene.totals,
      last = this.at ? this.steps[this.at - 1].totals : {};
    $.gauges.hidden = !names.length;
    if (!names.length) return;
    const most = names.map((name) =>
      this.steps.reduce((m, step) => Math.max(m, Math.abs(step.totals[name] || 0)), 1e-12),
    );
    $.gauges.replaceChildren(
      ...names.slice(0, 12).map((name, k) => {
        const bar = h("i"),
          value = last[name] || 0,
          end = roundUp(most[k]);
        bar.style.transform = `scaleX(${Math.abs(value) / end})`;
        return h(
          "div",
          { class: `gauge ${value < 0 ? "minus" : ""}` },
          h("span", {}, name),
          h("span", { class: "lane", "aria-hidden": "true" }, bar),
          h("span", { class: "value" }, number(value), h("small", {}, ` of ${value < 0 ? "−" : ""}${number(end)}`)),
        );
      }),
    );
  },

  announce(live) {
    const $ = this.$,
      banner = $.banner;
    banner.hidden = true;
    if (this.end && live) {
      const hands = Object.keys(this.hands).length,
        mine = this.end.value,
        theirs = this.rival ? this.rival.value : null;
      banner.className = "banner over";
      const parts = Object.entries(this.end.parts || {}),
        gap = theirs === null ? 0 : mine - theirs;
      banner.replaceChildren(
        h(
          "div",
          { class: "score" },
          h(
            "span",
            {},
            theirs !== null ? "You " : this.scene.maximised ? "The run is worth " : "The run cost ",
            h("b", { class: theirs === null ? "" : "you", id: "final" }, number(this.scene.maximised && theirs === null ? -mine : mine, 6)),
          ),
          theirs === null ? null : h("span", {}, "the planner ", h("b", {}, number(theirs, 6))),
          theirs === null
            ? null
            : h(
                "span",
                {},
                Math.abs(gap) < 1e-12
                  ? "a draw"
                  : gap < 0
                    ? `you were better by ${number(-gap, 3)}`
                    : `the planner was better by ${number(gap, 3)}`,
              ),
        ),
        h(
          "p",
          { class: "note" },
          [
            hands ? `${hands} ${hands === 1 ? "step was" : "steps were"} taken by hand${this.handPrice()}. ` : "",
            parts.filter(([name]) => name !== "constant").length > 1
              ? parts.map(([name, value]) => `${name}: ${number(value)}`).join(" · ")
              : this.scene.maximised
                ? "Higher is better. The cost, here and in the charts, is minus this: lower is better."
                : "Lower is better.",
          ].join(""),
        ),
      );
      banner.hidden = false;
      banner.dataset.value = String(mine);
    } else if (this.wheel && live && this.asked) {
      banner.className = "banner";
      banner.replaceChildren(
        h("b", { class: "you" }, "Your turn: "),
        "choose an action, with a click, the number keys or the arrows.",
      );
      banner.hidden = false;
    } else if (!live) {
      const step = this.steps[this.at];
      if (step.hand && step.price !== null) {
        banner.className = "banner";
        banner.replaceChildren(
          h(
            "span",
            {},
            h("b", { class: "you" }, `${this.scene.actions[step.action]} `),
            `was chosen by hand. By the planner's estimate it ${step.price > 0 ? `costs ${number(step.price, 3)} more than the best` : "is as good as the best"}.`,
          ),
        );
        banner.hidden = false;
      }
    } else if (this.at && this.steps[this.at - 1].hand && this.steps[this.at - 1].price !== null && !this.playing) {
      const step = this.steps[this.at - 1];
      banner.className = "banner";
      banner.replaceChildren(
        h(
          "span",
          {},
          h("b", { class: "you" }, `${this.scene.actions[step.action]}: `),
          step.price > 0
            ? `by the planner's estimate this cost ${number(step.price, 3)} more than the best.`
            : "as good as the best, by the planner's estimate.",
        ),
      );
      banner.hidden = false;
    }
  },

  handPrice() {
    // what all choices by hand cost, by the planner's own estimates
    const prices = this.steps.filter((step) => step.hand && step.price !== null).map((step) => step.price),
      total = prices.reduce((a, b) => a + b, 0);
    if (!prices.length) return "";
    return total > 0 ? `, at ${number(total, 3)} more than the best by the planner's estimates` : ", as the planner would";
  },

  evidence() {
    // what the panel shows: the step that is looked at, the one being thought about, or the last one
    if (this.at < this.steps.length) return [this.steps[this.at], this.at];
    if (this.thought) return [this.thought, this.thought.t];
    return this.steps.length ? [this.steps[this.steps.length - 1], this.steps.length - 1] : [null, 0];
  },

  decision(colours) {
    const $ = this.$,
      [found, t] = this.evidence(),
      blind = this.wheel && $.blind.checked && this.asked && this.at >= this.steps.length;
    $.when.textContent = found ? `step ${t + 1}` : "";
    $.effort.textContent =
      found && found.iterations
        ? `${count(found.iterations)} ${found.iterations === 1 ? "iteration" : "iterations"} · ${count(found.nodes)} ${found.nodes === 1 ? "node" : "nodes"} · depth ${found.depth}`
        : "";
    const why = found ? (blind ? "What would you do?" : found.why) : "Press play, and watch it think.";
    const [name, ...rest] = why.split(": ");
    $.why.replaceChildren(...(rest.length ? [h("b", {}, `${name}: `), rest.join(": ")] : [why]));
    const values = found && !blind && found.values ? found.values : null,
      finite = (values || []).filter((v) => v !== null);
    const errors = (found && found.errors) || [],
      spread = finite.map((v) => v),
      allVisits =
        found && found.visits
          ? Math.max(
              1,
              found.visits.reduce((a, b) => a + b, 0),
            )
          : 1;
    values &&
      values.forEach((v, a) => {
        if (v !== null && errors[a]) spread.push(v - errors[a], v + errors[a]);
      });
    let [low, high] = [Math.min(...spread), Math.max(...spread)];
    if (!(high - low > 1e-12 * Math.abs(high))) [low, high] = [low - 1, high + 1];
    const X = (v) => 4 + 92 * Math.min(1, Math.max(0, (v - low) / (high - low))),
      allowed = this.at < this.steps.length ? null : this.place && this.place.allowed;
    [...$.actions.children].forEach((row, a) => {
      const { bar, whisker, dot, value, visits } = row.parts,
        v = values ? values[a] : null,
        e = errors[a],
        taken = found && !blind && (found.action === undefined ? found.advice : found.action) === a;
      row.classList.toggle("taken", Boolean(taken));
      row.classList.toggle("hand", Boolean(taken && found.hand));
      row.classList.toggle("barred", Boolean(allowed && !allowed.includes(a)));
      row.disabled = Boolean(this.end && this.at >= this.steps.length) || Boolean(allowed && !allowed.includes(a));
      const n = found && found.visits && !blind ? found.visits[a] : null;
      bar.style.transform = `scaleX(${n === null ? 0 : n / allVisits})`;
      dot.hidden = v === null;
      whisker.hidden = v === null || !e;
      if (v !== null) dot.style.left = `${X(v)}%`;
      if (v !== null && e) {
        whisker.style.left = `${X(v - e)}%`;
        whisker.style.width = `${X(v + e) - X(v - e)}%`;
      }
      value.replaceChildren(v === null ? "" : number(v, 4), e && v !== null ? h("small", {}, ` ±${number(e, 1)}`) : "");
      visits.textContent = n === null ? "" : count(n);
      row.setAttribute(
        "aria-label",
        `${this.scene.actions[a]}${v === null ? "" : `: expected cost ${number(v)}${e ? ` plus or minus ${number(e, 2)}` : ""}, ${n} visits`}${taken ? ", chosen" : ""}`,
      );
    });
    const top = found && !blind ? found.top : null;
    $.treeCard.hidden = !top;
    if (top) {
      tree(new CanvasPen($.tree), top, this.scene, found.action === undefined ? found.advice : found.action, colours);
      $.tree.setAttribute(
        "aria-label",
        `The top of the search tree: ${top.map((edge) => `${this.scene.actions[edge.a]} ${edge.n} visits`).join(", ")}.`,
      );
    }
  },

  proved(colours) {
    // a lower bound, and the certificate that compares the planner with it
    const $ = this.$,
      { certificate: c, bound } = this,
      busy = Boolean(this.bounding || this.certifying),
      done = c && c.phase === "end" ? c : null;
    $.prove.disabled = busy;
    $.certify.disabled = busy;
    $.stopProof.hidden = !busy;
    const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    const words = done
      ? sentence(done.text)
      : this.certifying && c && c.phase === "trials"
        ? `${c.done} of ${c.trials} trials${c.left === null ? "" : `, about ${seconds(c.left)} left`}.`
        : this.certifying && c && c.phase === "compile"
        ? "Getting ready for the trials…"
        : this.bounding || this.certifying
          ? bound && !bound.last
            ? `${sentence(bound.text)} Looking for a higher one…`
            : "Looking for a lower bound…"
          : bound
            ? sentence(bound.text)
            : "A lower bound is what no policy can beat on average. A certificate says how far from it this planner is at most.";
    if ($.proofWords.textContent !== words) $.proofWords.textContent = words;
    $.proofWords.className = done || bound ? "" : "note";
    $.proof.hidden = !done;
    if (done) {
      const run = this.end ? this.end.value : null;
      proof(new CanvasPen($.proof), { ...done, run }, colours);
      $.proof.setAttribute(
        "aria-label",
        `Between ${number(done.lower)} and ${number(done.upper)}, the mean of the trials at ${number(done.mean)}.`,
      );
    }
  },

  curves(colours, pen = new CanvasPen(this.$.chart)) {
    const at = this.at,
      series = [
        {
          values: this.steps.map((step) => step.cost),
          colour: colours.accent,
          label: "cost so far, as if it ended here",
        },
        {
          values: this.steps.map((step) => step.forecast),
          colour: colours.hand,
          dash: [5, 4],
          label: "forecast of the final cost",
        },
        {
          values: this.steps.map((step) => step.floor),
          colour: colours.good,
          width: 1.5,
          label: "no policy can end below, on average from here",
        },
      ];
    if (this.rival)
      series.push({
        values: this.rival.costs,
        colour: colours.faint,
        width: 1.5,
        label: "the planner on the same random numbers",
      });
    const used = series.filter((s) => s.values.some((v) => v !== null && Number.isFinite(v)));
    const levels = this.bound
      ? [{ value: this.bound.value, colour: colours.good, label: "lower bound" }]
      : [];
    lines(pen, used, levels, this.scene.steps, at ? Math.min(at, this.scene.steps) - 1 : null, colours);
    const $ = this.$,
      last = at ? this.steps[at - 1] : null;
    $.legend.replaceChildren(
      ...used.map((s) => {
        const mark = h("i");
        mark.style.borderTopColor = s.colour;
        if (s.dash) mark.style.borderTopStyle = "dashed";
        return h("span", {}, mark, s.label);
      }),
    );
    this.proved(colours);
    $.chart.setAttribute(
      "aria-label",
      last
        ? `Cost over time: ${number(last.cost)} after ${at} steps${last.forecast === null ? "" : `, forecast ${number(last.forecast)}`}${this.bound ? `, lower bound ${number(this.bound.value)}` : ""}.`
        : "Cost over time: no step was made yet.",
    );
  },
};
