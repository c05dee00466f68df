// Results: what is in a folder, sorted and filtered; any two compared; any stored trial played again.
import { h, number, short } from "./dom.js";
import { CanvasPen, theme } from "./pen.js";
import { strips } from "./charts.js";

const COLUMNS = [
  ["problem_label", "problem"],
  ["planner_label", "planner"],
  ["mean", "mean cost"],
  ["ci90", "90 % interval"],
  ["trials", "trials"],
  ["seed", "seed"],
  ["each", "s per trial"],
  ["failures", "failed"],
];

const PHONE = { seed: "seed", each: "trial-seconds" }; // columns that a phone has no room for

export class Results {
  constructor(app) {
    this.app = app;
    const { store, filter, order } = app.state.results || {},
      known = Array.isArray(order) && COLUMNS.some(([name]) => name === order[0]) && Math.abs(order[1]) === 1;
    [this.arms, this.picked, this.order] = [[], [], known ? order : ["problem_label", 1]];
    this.wanted = store;
    const $ = (this.$ = {});
    $.where = h("p", { class: "note" });
    $.store = h("select", { "aria-label": "Results", id: "store", onchange: () => this.load() });
    $.filter = h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter the rows",
      value: typeof filter === "string" ? filter : "",
      oninput: () => this.table(),
    });
    $.compare = h(
      "button",
      { type: "button", class: "plain", id: "compare", disabled: true, onclick: () => this.compare() },
      "Compare two",
    );
    $.table = h("table");
    $.said = h("div", { "aria-live": "polite" });
    $.chart = h("canvas", { class: "wide", role: "img", hidden: true });
    $.trials = h("div", { class: "trials" });
    $.card = h("section", { class: "card", hidden: true, "aria-label": "A closer look" }, $.said, $.chart, $.trials);
    document
      .getElementById("results")
      .append(
        h(
          "div",
          { class: "strip" },
          h("div", { class: "title" }, h("h1", {}, "Results"), $.where),
          $.store,
          $.filter,
          $.compare,
          h("button", { type: "button", class: "plain", onclick: () => this.shown() }, "Refresh"),
        ),
        h("div", { class: "column" }, ($.tableCard = h("section", { class: "card" }, h("div", { class: "scroll" }, $.table))), $.card),
      );
    app.link.on("stores", (message) => this.stores(message));
    app.link.on("arms", ({ arms }) => {
      this.arms = arms.map((arm, index) => ({ ...arm, index, each: arm.trials ? arm.seconds / arm.trials : null }));
      this.picked = [];
      this.table();
    });
    app.link.on("trials", (message) => this.trials(message));
    app.link.on("compared", (message) => this.compared(message));
  }

  shown() {
    this.app.link.send("stores");
  }
  saved() {
    return { results: { store: this.wanted, filter: this.$.filter.value, order: this.order } };
  }

  stores({ root, stores }) {
    this.$.where.textContent = stores.length ? root : `There are no results in ${root} yet: a race puts some there.`;
    this.$.store.replaceChildren(
      ...stores.map((name, k) => h("option", { value: String(k), selected: name === this.wanted, title: name }, short(name, 60))),
    );
    this.$.store.hidden = !stores.length;
    if (stores.length) this.load();
    else {
      this.arms = [];
      this.table();
    }
  }

  load() {
    this.$.card.hidden = true;
    this.wanted = this.$.store.selectedOptions[0]?.title;
    this.app.save();
    this.app.link.send("arms", { store: Number(this.$.store.value) });
  }

  table() {
    const words = this.$.filter.value.toLowerCase(),
      [key, way] = this.order;
    const rows = this.arms.filter((arm) =>
      `${arm.problem_label} ${arm.planner_label} ${arm.seed}`.toLowerCase().includes(words),
    );
    rows.sort(
      (a, b) =>
        way *
        (typeof a[key] === "string"
          ? a[key].localeCompare(b[key])
          : (Array.isArray(a[key]) ? a[key][0] : a[key]) - (Array.isArray(b[key]) ? b[key][0] : b[key])),
    );
    const head = h(
      "tr",
      {},
      h("th", {}, h("span", { class: "sr" }, "chosen")),
      COLUMNS.map(([name, title], k) =>
        h(
          "th",
          { class: k < 2 ? "left" : PHONE[name] || "", "aria-sort": key === name ? (way > 0 ? "ascending" : "descending") : "none" },
          h(
            "button",
            {
              type: "button",
              onclick: () => {
                this.order = [name, key === name ? -way : 1];
                this.table();
              },
            },
            `${title}${key === name ? (way > 0 ? " ↑" : " ↓") : ""}`,
          ),
        ),
      ),
      h("th", {}, ""),
    );
    this.$.table.replaceChildren(
      h("thead", {}, head),
      h(
        "tbody",
        {},
        rows.map((arm) => this.row(arm)),
      ),
    );
    this.$.tableCard.hidden = !this.arms.length;
    this.$.compare.disabled = this.picked.length !== 2;
    document.documentElement.dataset.arms = String(rows.length);
    this.app.save();
  }

  row(arm) {
    const box = h("input", {
      type: "checkbox",
      checked: this.picked.includes(arm.index),
      "aria-label": `Choose ${arm.planner_label}`,
      onchange: () => {
        this.picked = box.checked ? [...this.picked, arm.index].slice(-2) : this.picked.filter((k) => k !== arm.index);
        this.table();
      },
    });
    const look = h(
      "button",
      {
        type: "button",
        class: "quiet",
        "data-look": String(arm.index),
        onclick: () => {
          this.looking = arm;
          this.app.link.send("trials", { store: Number(this.$.store.value), arm: arm.index });
        },
      },
      "trials",
    );
    return h(
      "tr",
      {},
      h("td", {}, box),
      h("td", { class: "left name", title: arm.problem_label }, short(arm.problem_label, 44)),
      h("td", { class: "left name", title: arm.planner_label }, short(arm.planner_label, 44)),
      h("td", {}, number(arm.mean)),
      h("td", {}, `[${number(arm.ci90[0])}, ${number(arm.ci90[1])}]`),
      h("td", {}, String(arm.trials)),
      h("td", { class: PHONE.seed }, String(arm.seed)),
      h("td", { class: PHONE.each }, number(arm.each, 2)),
      h("td", {}, arm.failures ? String(arm.failures) : "–"),
      h("td", {}, look),
    );
  }

  compare() {
    this.app.link.send("compare", { store: Number(this.$.store.value), arm: this.picked[0], other: this.picked[1] });
  }
  compared(message) {
    this.$.card.hidden = false;
    this.$.trials.replaceChildren();
    this.$.said.replaceChildren(
      h("h2", {}, `${message.one} against ${message.other}`),
      h("p", { id: "compared" }, `${message.words}.`),
      h(
        "p",
        { class: "note" },
        "Each dot is a trial: the cost of the first minus that of the second, on the same random numbers. Below 0 the first is better.",
      ),
    );
    this.dots = [
      { label: "difference", values: message.differences, mean: message.difference, interval: message.interval },
    ];
    this.$.chart.hidden = false;
    this.redraw();
  }

  trials({ trials, all }) {
    const arm = this.looking;
    this.$.card.hidden = false;
    this.$.said.replaceChildren(
      h("h2", {}, `${short(arm.planner_label, 60)} on ${short(arm.problem_label, 60)}`),
      h(
        "p",
        { class: "note" },
        arm.known
          ? `${all} trials. Choose one to play it again: the same seed gives the same run.`
          : `${all} trials. Its problem or planner is not known here, so that they can't be played again.`,
      ),
    );
    this.dots = [{ label: arm.planner, values: trials.map(([, value]) => value), mean: arm.mean, interval: arm.ci90 }];
    this.$.chart.hidden = false;
    this.$.trials.replaceChildren(
      ...trials.map(([trial, value]) =>
        h(
          "button",
          { type: "button", disabled: !arm.known, "data-trial": String(trial), onclick: () => this.replay(arm, trial) },
          `${trial}: ${number(value)}`,
        ),
      ),
    );
    this.redraw();
  }

  replay(arm, trial) {
    const go = () => {
      this.app.setting = {
        problem: arm.spec,
        planner: { name: arm.planner, options: { ...arm.planner_options } },
        seed: arm.seed,
        trial,
      };
      this.app.show("watch");
      this.app.views.watch.open();
      this.app.views.watch.start();
    };
    if (arm.spec.code) this.app.views.paint.confirm(arm.spec.code, go);
    else go();
  }

  redraw() {
    if (this.app.view !== "results" || this.$.chart.hidden || !this.dots) return;
    const colours = theme();
    this.$.chart.style.aspectRatio = "auto";
    this.$.chart.style.height = "150px";
    strips(
      new CanvasPen(this.$.chart),
      this.dots.map((row) => ({ ...row, colour: colours.series[0] })),
      this.dots[0].label === "difference" ? [{ value: 0, label: "equal" }] : [],
      colours,
    );
    this.$.chart.setAttribute("aria-label", `${this.dots[0].label}: mean ${number(this.dots[0].mean)}`);
  }
}
