// The elements of the view in which a run is watched.
import { h, icon, field, count } from "./dom.js";
import { kindOf } from "./pictures.js";
import { chooseProblem } from "./choose.js";
import { takeHome } from "./home.js";
import { sliderAt, speedAt } from "./scales.js";

export const parts = {
  build() {
    const $ = (this.$ = {}),
      send = (...message) => this.app.link.send(...message);
    $.title = h("span", { class: "problem-name" });
    $.about = h("p", { class: "note" });
    $.planner = h("select", { "aria-label": "Planner", onchange: () => this.setPlanner($.planner.value) });
    $.budget = h("input", {
      type: "range",
      min: "0",
      max: "100",
      step: "1",
      "aria-label": "Iterations per decision",
      oninput: () => this.showBudget(),
      onchange: () => this.setBudget(),
    });
    $.budgetOut = h("output");
    $.seed = h("input", { type: "number", min: "0", step: "1", value: "0", onchange: () => this.setSeed() });
    $.trial = h("input", { type: "number", min: "0", step: "1", value: "0", onchange: () => this.setSeed() });
    const strip = h(
      "div",
      { class: "strip" },
      h(
        "div",
        { class: "title" },
        h(
          "h1",
          {},
          $.title,
          h(
            "button",
            { type: "button", class: "plain", id: "choose", onclick: () => chooseProblem(this.app) },
            "Change…",
          ),
        ),
        $.about,
      ),
      field("Planner", $.planner),
      h("label", { class: "field budget" }, h("span", {}, "Iterations per decision ", $.budgetOut), $.budget),
      field("Seed", $.seed),
      field("Trial", $.trial),
      h("button", { type: "button", class: "plain", id: "home", onclick: () => takeHome(this.app) }, "Take it home…"),
    );
    $.picture = h("canvas", { class: "picture", role: "img", onpointermove: (event) => this.pointAt(event) });
    $.mover = h("canvas", { class: "picture", role: "img", hidden: true });
    $.words = h("p", { class: "sr", "aria-live": "off" });
    $.layer = h("select", { "aria-label": "What the shades show", hidden: true, onchange: () => this.redraw() });
    $.ramp = h("canvas", { "aria-hidden": "true" });
    $.back = icon("back", "A step back (←)", { onclick: () => this.goTo(this.at - 1) });
    $.play = icon("play", "Play (space)", { class: "main", id: "play", onclick: () => this.toggle() });
    $.step = icon("step", "One step (→)", { id: "step", onclick: () => this.forward() });
    $.again = icon("restart", "From the start again (R)", { onclick: () => this.open() });
    $.scrub = h("input", {
      type: "range",
      min: "0",
      max: "1",
      step: "1",
      value: "0",
      class: "scrub",
      "aria-label": "Step",
      oninput: () => this.goTo(Number($.scrub.value)),
    });
    $.where = h("output");
    $.speed = h("input", {
      type: "range",
      min: "0",
      max: "100",
      step: "1",
      value: "41",
      class: "speed",
      "aria-label": "Steps per second",
      title: "Speed",
      oninput: () => send("speed", { value: speedAt(Number($.speed.value)) }),
    });
    $.banner = h("div", { class: "banner", hidden: true, "aria-live": "polite" });
    $.wheel = h(
      "button",
      {
        type: "button",
        class: "plain",
        id: "wheel",
        "aria-pressed": "false",
        onclick: () => this.takeWheel(!this.wheel),
      },
      "Take the wheel",
    );
    $.versus = h(
      "button",
      {
        type: "button",
        class: "plain",
        id: "versus",
        title: "You drive; the planner plays with the same random numbers",
        onclick: () => this.versus(),
      },
      "Play against it",
    );
    $.blind = h("input", { type: "checkbox", onchange: () => this.redraw() });
    $.blindLabel = h("label", { class: "note", hidden: true }, $.blind, " no advice");
    const map = h(
      "section",
      { class: "card map", "aria-label": "The map" },
      h(
        "header",
        {},
        h("h2", {}, "Where the time goes"),
        ($.kind = h("span", { class: "faint", hidden: true }, "a square is a state")),
        h("span", { class: "grow" }),
        $.layer,
        h("span", { class: "ramp" }, "little", $.ramp, "much"),
      ),
      (this.pictures = h("div", {}, $.picture, $.mover)),
      $.words,
      ($.gauges = h("div", { class: "gauges", hidden: true })),
      h(
        "div",
        { class: "transport" },
        $.again,
        $.back,
        $.play,
        $.step,
        $.scrub,
        $.where,
        h("label", { class: "note pace", title: "Steps per second" }, "speed ", $.speed),
      ),
      $.banner,
    );
    $.when = h("span", { class: "faint" });
    $.effort = h("span", { class: "faint" });
    $.why = h("p", { class: "why", id: "why" });
    $.actions = h("div", { class: "actions" });
    const decision = h(
      "section",
      { class: "card", "aria-label": "The decision" },
      h("header", {}, h("h2", {}, "The decision"), $.when, h("span", { class: "grow" }), $.effort),
      $.why,
      h(
        "div",
        { class: "heads", "aria-hidden": "true" },
        h("span", {}, "action"),
        h("span", {}, "expected cost ± error, visits shaded"),
        h("span", {}, "cost"),
        h("span", {}, "visits"),
      ),
      $.actions,
      h("div", { class: "row wheel" }, $.wheel, $.versus, $.blindLabel),
    );
    $.tree = h("canvas", { class: "tree", role: "img" });
    $.treeCard = h(
      "section",
      { class: "card tree-card", "aria-label": "The search tree" },
      h("header", {}, h("h2", {}, "Top of the tree"), h("span", { class: "faint" }, "width: visits")),
      $.tree,
    );
    $.chart = h("canvas", { class: "chart", role: "img" });
    $.legend = h("div", { class: "legend" });
    const chart = h(
      "section",
      { class: "card over-time", "aria-label": "Cost over time" },
      h("header", {}, h("h2", {}, "Cost over time")),
      $.chart,
      $.legend,
    );
    const proof = this.proofCard();
    document
      .getElementById("watch")
      .append(
        strip,
        h(
          "div",
          { class: "stage" },
          h("div", { class: "column" }, map, chart),
          h("div", { class: "column" }, decision, $.treeCard, proof),
        ),
      );
    for (const planner of this.app.hello.planners)
      $.planner.append(h("option", { value: planner.name, title: planner.summary }, planner.name));
  },

  proofCard() {
    const $ = this.$,
      button = (id, onclick, title) => h("button", { type: "button", class: "plain", id, onclick }, title);
    $.prove = button("prove", () => this.findBound(), "Lower bound");
    $.certify = button("certify", () => this.certify(), "Certify");
    $.stopProof = button("proof-stop", () => this.stopProof(), "Stop");
    $.stopProof.hidden = true;
    $.certifyTrials = h("input", { type: "number", min: "2", max: "10000", value: "100", id: "certify-trials" });
    $.proofSeconds = h("input", { type: "number", min: "1", max: "60", value: "20", id: "proof-seconds" });
    $.proof = h("canvas", { class: "proof", role: "img", hidden: true });
    $.proofWords = h("p", { id: "proof-words", "aria-live": "polite" });
    return h(
      "section",
      { class: "card proof-card", "aria-label": "How far from the best" },
      h("header", {}, h("h2", {}, "How far from the best?")),
      h(
        "div",
        { class: "row" },
        $.prove,
        h("label", { class: "note with" }, "in ", $.proofSeconds, " s"),
        $.certify,
        h("label", { class: "note with" }, "with ", $.certifyTrials, " trials"),
        $.stopProof,
      ),
      $.proofWords,
      $.proof,
    );
  },

  actionRow(name, a) {
    const parts = {
      bar: h("i"),
      whisker: h("u"),
      dot: h("b"),
      value: h("span", { class: "value" }),
      visits: h("span", { class: "visits" }),
    };
    const row = h(
      "button",
      { type: "button", class: "action", onclick: () => this.choose(a) },
      h("span", { class: "name" }, name),
      h("span", { class: "lane", "aria-hidden": "true" }, parts.bar, parts.whisker, parts.dot),
      parts.value,
      parts.visits,
    );
    return Object.assign(row, { parts });
  },

  setScene(scene) {
    const same =
      this.scene &&
      this.scene.title === scene.title &&
      this.scene.cells === scene.cells &&
      this.scene.about === scene.about;
    this.scene = scene;
    this.$.title.textContent = scene.title;
    const { name } = this.app.setting.problem,
      summary = name === "painted" ? "" : this.app.hello.problems.find((entry) => entry.name === name)?.summary;
    this.$.about.textContent = this.$.about.title = summary ? `${summary} (${scene.about})` : scene.about;
    document.title = `${scene.title} · gumdp studio`;
    this.$.scrub.max = String(scene.steps);
    const simple = scene.mover && kindOf(scene) === "matrix" && scene.cells <= 30; // the machine's own picture shows the places too
    this.$.mover.hidden = !scene.mover;
    this.$.picture.hidden = Boolean(simple);
    this.$.kind.hidden = simple || kindOf(scene) !== "matrix";
    this.pictures.className = scene.mover && !simple ? "two" : "";
    this.$.layer.replaceChildren(
      h("option", { value: "" }, "time spent"),
      ...scene.layers.map((layer, k) => h("option", { value: String(k) }, layer.name)),
    );
    this.$.layer.hidden = !scene.layers.length;
    this.$.actions.replaceChildren(...scene.actions.map((name, a) => this.actionRow(name, a)));
    if (!same) {
      this.bound = this.app.views.race.bound = null;
      this.stopProof();
    }
    this.redraw();
  },

  settings() {
    const { planner, seed, trial } = this.app.setting,
      $ = this.$;
    $.planner.value = planner.name;
    [$.seed.value, $.trial.value] = [String(seed), String(trial)];
    const searches = this.app.searches(planner.name);
    $.budget.disabled = !searches;
    const last = Object.keys(this.budgets)
      .map(Number)
      .sort((x, y) => x - y)
      .pop();
    $.budget.value = String(sliderAt(last === undefined ? planner.options.iterations || 1000 : this.budgets[last]));
    $.budgetOut.textContent = searches
      ? count(last === undefined ? planner.options.iterations || 1000 : this.budgets[last])
      : "none";
  },
};
