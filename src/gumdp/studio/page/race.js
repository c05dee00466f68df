// Race: the same random numbers for several planners, one trial side by side, then many.
import { h, field, number, seconds } from "./dom.js";
import { chooseProblem } from "./choose.js";
import { drawing } from "./race_drawing.js";

const FIRST = ["random", "solver", "mcts-paper", "mcts"]; // chosen at first

export class Race {
  constructor(app) {
    this.app = app;
    [this.sides, this.values, this.verdict, this.labels, this.out] = [[], [], null, [], {}];
    this.at = 0;
    this.build();
    this.restore(app.state.race);
    const link = app.link;
    link.on("sides", (message) => {
      if (app.sideFor === "race") {
        this.scene = message.scene;
        this.sideLabels = message.labels;
        this.sides = [];
        this.figures();
      }
    });
    link.on("side", (side) => {
      if (app.sideFor === "race") {
        this.sides[side.k] = side;
        this.at = 0;
        this.play();
        this.redraw();
      }
    });
    link.on("race", (message) => this.hear(message));
    link.on(
      "bound",
      app.proved((bound) => {
        this.bound = bound;
        this.redraw();
      }),
    );
    link.on("lost", () => {
      this.racing = false;
      this.buttons();
    });
    link.on("error", ({ about }) => {
      if (about === "race" || about === "side") {
        this.racing = false;
        this.buttons();
      }
    });
  }

  build() {
    const $ = (this.$ = {});
    $.problem = h("span");
    $.about = h("p", { class: "note" }, "All planners get the same random numbers. Values are costs: lower is better.");
    $.lineup = h(
      "div",
      { class: "lineup" },
      this.app.hello.planners.map((planner) => this.runner(planner)),
    );
    const numbers = { type: "number", onchange: () => this.app.save() };
    $.trials = h("input", { ...numbers, min: "1", max: "10000", value: "50" });
    $.seed = h("input", { ...numbers, min: "0", value: "0" });
    $.side = h(
      "button",
      { type: "button", class: "plain", id: "side", onclick: () => this.sideBySide() },
      "One trial, side by side",
    );
    $.go = h("button", { type: "button", class: "main", id: "race-go", onclick: () => this.go() }, "Race");
    $.stop = h(
      "button",
      { type: "button", class: "plain", id: "race-stop", hidden: true, onclick: () => this.app.link.send("stop", { what: "race" }) },
      "Stop",
    );
    $.prove = h(
      "button",
      {
        type: "button",
        class: "plain",
        onclick: () => this.app.prove("bound", { problem: this.app.setting.problem }),
      },
      "Lower bound",
    );
    $.sides = h("div", { class: "sides" });
    $.step = h("input", {
      type: "range",
      min: "0",
      max: "1",
      value: "0",
      "aria-label": "Step",
      oninput: () => {
        clearTimeout(this.timer);
        this.at = Number($.step.value);
        this.redraw();
      },
    });
    $.costs = h("canvas", { class: "wide", role: "img" });
    $.legend = h("div", { class: "legend" });
    $.sideCard = h(
      "section",
      { class: "card", hidden: true, "aria-label": "One trial, side by side" },
      h(
        "header",
        {},
        h("h2", {}, "One trial, side by side"),
        h("span", { class: "grow" }),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => {
              this.at = 0;
              this.play();
            },
          },
          "again",
        ),
      ),
      $.sides,
      $.step,
      $.costs,
      $.legend,
    );
    $.bar = h("progress", { max: "1", value: "0", "aria-label": "Trials played" });
    $.left = h("span", { class: "note", id: "race-left" });
    $.strips = h("canvas", { class: "wide", role: "img" });
    $.verdict = h("div", { id: "verdict", "aria-live": "polite" });
    $.key = h("span", { class: "faint" }, "dots: trials; bars: means with 90 % intervals");
    $.raceCard = h(
      "section",
      { class: "card", hidden: true, "aria-label": "Many trials" },
      h("header", {}, h("h2", {}, "Many trials"), $.left, $.key, h("span", { class: "grow" }), $.prove, $.stop),
      $.bar,
      $.strips,
      $.verdict,
    );
    document.getElementById("race").append(
      h(
        "div",
        { class: "strip" },
        h(
          "div",
          { class: "title" },
          h(
            "h1",
            {},
            $.problem,
            h(
              "button",
              {
                type: "button",
                class: "plain",
                onclick: () =>
                  chooseProblem(this.app, () => {
                    this.app.views.watch.open();
                    this.bound = null;
                    this.shown();
                  }),
              },
              "Change…",
            ),
          ),
          $.about,
        ),
        field("Seed", $.seed),
        field("Trials", $.trials),
        $.side,
        $.go,
      ),
      h(
        "div",
        { class: "column" },
        h("section", { class: "card", "aria-label": "Who races" }, h("header", {}, h("h2", {}, "Who races")), $.lineup),
        $.sideCard,
        $.raceCard,
      ),
    );
  }

  runner(planner) {
    const searches = this.app.searches(planner.name);
    const box = h("input", {
      type: "checkbox",
      "data-planner": planner.name,
      checked: FIRST.includes(planner.name),
      onchange: () => {
        row.classList.toggle("chosen", box.checked);
        this.app.save();
      },
    });
    const budget = searches
      ? h("input", {
          type: "number",
          min: "1",
          max: "2000000",
          value: "300",
          "aria-label": `Iterations of ${planner.name}`,
          title: "Iterations per decision",
          onchange: () => this.app.save(),
        })
      : null;
    const row = h(
      "label",
      { class: box.checked ? "chosen" : "" },
      box,
      h("span", {}, h("b", {}, planner.name), h("small", {}, planner.summary)),
      budget,
    );
    return Object.assign(row, {
      planner: planner.name,
      choose: (spec) => {
        box.checked = Boolean(spec);
        row.classList.toggle("chosen", box.checked);
        if (budget && Number.isInteger(spec?.options?.iterations)) budget.value = String(spec.options.iterations);
      },
      spec: () =>
        box.checked
          ? {
              name: planner.name,
              options: budget ? { iterations: Number(budget.value) } : {},
            }
          : null,
    });
  }

  chosen() {
    return [...this.$.lineup.children]
      .map((row) => row.spec())
      .filter(Boolean)
      .slice(0, 6);
  }
  saved() {
    return { race: { planners: this.chosen(), trials: Number(this.$.trials.value), seed: Number(this.$.seed.value) } };
  }
  restore({ planners, trials, seed } = {}) {
    // who races, and how long, as a link says it
    if (Array.isArray(planners))
      for (const row of this.$.lineup.children) row.choose(planners.find((planner) => planner?.name === row.planner));
    if (Number.isInteger(trials)) this.$.trials.value = String(trials);
    if (Number.isInteger(seed)) this.$.seed.value = String(seed);
  }
  shown() {
    const { problem } = this.app.setting,
      watch = this.app.views.watch;
    this.$.problem.textContent =
      watch.scene && problem.name === "painted"
        ? watch.scene.title
        : problem.name === "@given"
          ? this.app.hello.given
          : problem.name;
  }

  sideBySide() {
    if (!this.chosen().length) return this.app.error("Choose at least one planner.");
    this.app.error("");
    this.app.sideFor = "race";
    this.app.status("playing one trial of each");
    this.app.link.send("side", {
      problem: this.app.setting.problem,
      planners: this.chosen(),
      seed: Number(this.$.seed.value) || 0,
      trial: 0,
    });
  }

  figures() {
    this.$.sideCard.hidden = false;
    this.$.step.max = String(this.scene.steps);
    this.$.sides.replaceChildren(
      ...this.sideLabels.map((label, k) => {
        const canvas = h("canvas", { role: "img" }),
          value = h("span", { class: "number" }, "…");
        return Object.assign(
          h("figure", { "data-k": String(k) }, h("figcaption", {}, h("b", {}, label), value), canvas),
          { canvas, value },
        );
      }),
    );
    this.redraw();
  }

  play() {
    clearTimeout(this.timer);
    if (this.sides.filter(Boolean).length === this.sideLabels.length) this.app.status("");
    const steps = this.scene.steps,
      tick = () => {
        if (this.app.view !== "race" || this.at >= steps) return;
        this.at++;
        this.redraw();
        this.timer = setTimeout(tick, Math.max(16, 4000 / steps));
      };
    this.timer = setTimeout(tick, 200);
  }

  go() {
    const planners = this.chosen(),
      trials = Math.max(1, Math.min(10000, Number(this.$.trials.value) || 50));
    if (!planners.length) return this.app.error("Choose at least one planner.");
    this.app.error("");
    [this.racing, this.values, this.verdict, this.folder] = [true, planners.map(() => []), null, null];
    this.out = {}; // who can't play this problem, and why
    this.$.raceCard.hidden = false;
    this.labels = planners.map((planner) => planner.name);
    this.total = trials;
    this.buttons();
    this.$.left.textContent = "preparing; the first time, compiling takes some seconds";
    this.app.link.send("race", {
      problem: this.app.setting.problem,
      planners,
      seed: Number(this.$.seed.value) || 0,
      trials,
    });
    this.redraw();
  }

  buttons() {
    this.$.stop.hidden = !this.racing;
    this.$.go.disabled = this.racing;
  }

  done() {
    // trials that all who can play have played
    return Math.min(...this.values.filter((_, k) => !this.out[k]).map((values) => values.length));
  }

  hear(message) {
    if (message.phase === "begin")
      [this.labels, this.total, this.values] = [message.labels, message.trials, message.labels.map(() => [])];
    else if (message.phase === "out") this.out[message.k] = message.text;
    else {
      message.values.forEach((more, k) => this.values[k].push(...more));
      if (message.verdict) this.verdict = message.verdict;
      const done = this.done();
      this.$.left.textContent =
        message.phase === "end"
          ? `${done} trials of each${message.stopped ? ", stopped" : ""}, ${number(message.seconds, 2)} s`
          : `${done} of ${this.total} trials${done > 1 ? `, about ${seconds(message.left)} left` : ""}`;
      if (message.phase === "end") {
        this.racing = false;
        this.folder = message.folder;
        this.buttons();
        document.documentElement.dataset.raced = String(done);
      }
    }
    this.redraw();
  }
}

Object.assign(Race.prototype, drawing);
