// Watch it think: one run, step by step or flowing, and the wheel for whoever wants it.
import { takeHome } from "./home.js";
import { iterationsAt, speedAt } from "./scales.js";
import { count } from "./dom.js";
import { drawing } from "./watch_drawing.js";
import { parts } from "./watch_page.js";

const KEPT_TOPS = 400; // steps of which the tree is remembered
const DRIVE = {
  ArrowUp: ["up", "north"],
  ArrowRight: ["right", "east", "push right"],
  ArrowDown: ["down", "south", "coast"],
  ArrowLeft: ["left", "west", "push left"],
};

export class Watch {
  constructor(app) {
    this.app = app;
    this.run = 0;
    this.clear();
    this.build();
    const mine = (ear) => (message) => {
      if (message.run === this.run) ear(message);
    };
    app.link.on(
      "scene",
      mine((scene) => this.setScene(scene)),
    );
    app.link.on(
      "ready",
      mine((message) => {
        this.place = message.next;
        this.searches = message.searches;
        this.settings();
        this.redraw();
      }),
    );
    app.link.on(
      "step",
      mine((step) => this.onStep(step)),
    );
    app.link.on(
      "think",
      mine((evidence) => {
        this.thought = evidence;
        this.later();
      }),
    );
    app.link.on(
      "asks",
      mine((evidence) => {
        this.thought = this.asked = evidence;
        this.later();
      }),
    );
    app.link.on(
      "over",
      mine((end) => {
        this.end = end;
        this.playing = false;
        this.later();
      }),
    );
    app.link.on(
      "rewound",
      mine(({ step }) => this.cut(step)),
    );
    app.link.on(
      "budget",
      mine(({ step, iterations }) => {
        this.budgets[step] = iterations;
        this.save();
      }),
    );
    app.link.on("side", (side) => {
      if (app.sideFor === "watch") {
        if (side.sorry) return app.error(side.sorry);
        this.rival = side;
        this.later();
      }
    });
    app.link.on(
      "floors",
      mine(({ values }) => {
        values.forEach((value, k) => {
          if (this.steps[k]) this.steps[k].floor = value;
        });
        this.later();
      }),
    );
    app.link.on(
      "bound",
      app.proved((bound) => {
        this.bound = bound;
        if (bound.last) this.bounding = false;
        this.later();
      }),
    );
    app.link.on(
      "certificate",
      app.proved((message) => {
        this.certificate = message;
        this.certifying = message.phase !== "end";
        this.later();
      }),
    );
    for (const kind of ["error", "lost"])
      app.link.on(kind, () => {
        this.bounding = this.certifying = this.playing = false;
        if (this.certificate?.phase !== "end") this.certificate = null;
        this.later();
      });
  }

  clear() {
    this.steps = [];
    this.at = 0; // the step that is shown
    [this.place, this.thought, this.asked, this.end, this.rival] = [null, null, null, null, null];
    [this.hands, this.budgets] = [{}, {}];
    this.playing = false;
    this.massAt = null;
  }

  // --- the page ---

  shown() {}

  // --- beginning ---

  restore(state) {
    this.pending = { actions: state.actions || {}, iterations: state.iterations || {}, until: state.at || 0 };
    this.open(true);
  }

  open(keep = false) {
    const again = keep
      ? this.pending || { actions: this.hands, iterations: this.budgets, until: this.steps.length }
      : {};
    this.pending = null;
    this.clear();
    this.run++;
    this.wheel = keep && this.wheel;
    this.target = again.until || 0; // where it will be again, when the same steps were played
    [this.hands, this.budgets] = [{ ...(again.actions || {}) }, { ...(again.iterations || {}) }];
    this.app.error("");
    if (this.certified !== this.subject() && this.certificate) this.stopProof();
    this.settings();
    const { problem, planner, seed, trial } = this.app.setting;
    this.app.link.send("speed", { value: speedAt(Number(this.$.speed.value)) });
    this.app.link.send("wheel", { on: false });
    this.app.link.send("open", {
      run: this.run,
      problem,
      planner,
      seed,
      trial,
      actions: this.hands,
      iterations: this.budgets,
      until: again.until || 0,
    });
    if (this.wheel) this.app.link.send("wheel", { on: true });
    this.wheelLook();
    this.save();
  }

  setPlanner(name) {
    this.app.setting.planner = {
      name,
      options: this.app.searches(name) ? { iterations: iterationsAt(Number(this.$.budget.value)) } : {},
    };
    this.open();
  }
  showBudget() {
    this.$.budgetOut.textContent = count(iterationsAt(Number(this.$.budget.value)));
  }
  setBudget() {
    const iterations = iterationsAt(Number(this.$.budget.value));
    if (this.steps.length === 0 && !this.thought) {
      this.app.setting.planner.options.iterations = iterations;
      this.open();
    } else this.app.link.send("budget", { iterations });
  }
  setSeed() {
    const whole = (text) => Math.max(0, Math.floor(Number(text)) || 0);
    [this.app.setting.seed, this.app.setting.trial] = [whole(this.$.seed.value), whole(this.$.trial.value)];
    this.open();
  }

  // --- going ---

  toggle() {
    this.playing ? this.pause() : this.start();
  }
  start() {
    if (!this.scene || (this.end && this.at >= this.steps.length)) {
      this.open();
      this.playing = true;
      this.app.link.send("play");
      this.redraw();
      return;
    }
    this.playing = true;
    if (this.at < this.steps.length) this.replay();
    else this.app.link.send("play");
    this.redraw();
  }
  replay() {
    // what is known already is shown again at the same speed, then the run itself goes on
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => {
        if (!this.playing) return;
        if (this.at < this.steps.length) {
          this.at++;
          this.redraw();
          this.replay();
        } else if (!this.end) this.app.link.send("play");
        else {
          this.playing = false;
          this.redraw();
        }
      },
      1000 / speedAt(Number(this.$.speed.value)),
    );
  }
  pause() {
    this.playing = false;
    clearTimeout(this.timer);
    this.app.link.send("pause");
    this.redraw();
    this.save();
  }
  forward() {
    if (this.playing) this.pause();
    if (this.at < this.steps.length) this.goTo(this.at + 1);
    else if (!this.end) this.app.link.send("step");
  }
  goTo(step) {
    if (this.playing) this.pause();
    this.at = Math.max(0, Math.min(this.steps.length, step));
    this.redraw();
    this.save();
  }
  onStep(step) {
    const live = this.at === this.steps.length;
    this.steps.push(step);
    if (step.hand) this.hands[step.t] = step.action;
    const old = this.steps[this.steps.length - 1 - KEPT_TOPS];
    if (old) old.top = null;
    this.place = step.next;
    this.thought = this.asked = null;
    if (live) this.at = this.steps.length;
    this.later();
    this.save();
  }
  cut(step) {
    this.steps.length = step;
    for (const t of Object.keys(this.hands)) if (Number(t) >= step) delete this.hands[t];
    for (const t of Object.keys(this.budgets)) if (Number(t) > step) delete this.budgets[t];
    [this.thought, this.asked, this.end, this.massAt] = [null, null, null, null];
    this.at = step;
    this.later();
  }

  // --- how far from the best ---

  findBound() {
    this.bounding = true;
    this.app.prove("bound", { problem: this.app.setting.problem, seconds: this.proofSeconds() });
    this.redraw();
  }
  certify() {
    const { problem, planner, seed } = this.app.setting,
      trials = Math.max(2, Math.min(10000, Math.floor(Number(this.$.certifyTrials.value)) || 100));
    [this.certifying, this.certificate] = [true, { phase: "bound" }];
    this.certified = this.subject();
    this.app.prove("certify", { problem, planner, seed, trials, seconds: this.proofSeconds() });
    this.redraw();
  }
  proofSeconds() {
    return Math.max(1, Math.min(60, Number(this.$.proofSeconds.value) || 20));
  }
  stopProof() {
    if (this.bounding) this.app.link.send("stop", { what: "bound" });
    if (this.certifying) this.app.link.send("stop", { what: "certify" });
    this.app.asked++;
    [this.bounding, this.certifying, this.certificate] = [false, false, null];
    this.app.status("");
    this.redraw();
  }
  subject() {
    // what a certificate is about
    return JSON.stringify([this.app.setting.problem, this.app.setting.planner]);
  }

  // --- the wheel ---

  takeWheel(on) {
    this.wheel = on;
    if (on && this.playing) this.pause();
    if (on && this.at < this.steps.length) this.app.link.send("back", { step: this.at });
    this.app.link.send("wheel", { on });
    this.wheelLook();
    this.redraw();
  }
  wheelLook() {
    this.$.wheel.setAttribute("aria-pressed", String(Boolean(this.wheel)));
    this.$.wheel.textContent = this.wheel ? "Give it back" : "Take the wheel";
    this.$.blindLabel.hidden = !this.wheel;
  }
  versus() {
    this.open();
    this.takeWheel(true);
    this.app.sideFor = "watch";
    const { problem, planner, seed, trial } = this.app.setting;
    this.app.link.send("side", { problem, planners: [planner], seed, trial });
  }
  choose(action) {
    if (!this.scene || (this.end && this.at >= this.steps.length)) return;
    const t = this.at,
      allowed = t < this.steps.length ? null : this.place && this.place.allowed;
    if (allowed && !allowed.includes(action)) return;
    this.app.link.send("choose", { step: t, action });
  }
  key(event) {
    if (event.target.closest("input[type=range]")) return false;
    if (this.wheel && DRIVE[event.key] && this.scene) {
      const a = this.scene.actions.findIndex((name) => DRIVE[event.key].includes(name));
      if (a >= 0) {
        this.choose(a);
        return true;
      }
    }
    const digit = Number(event.key);
    if (event.key === " " && !event.target.closest("button")) this.toggle();
    else if (event.key === "ArrowRight") this.forward();
    else if (event.key === "ArrowLeft") this.goTo(this.at - 1);
    else if (event.key.toLowerCase() === "w") this.takeWheel(!this.wheel);
    else if (event.key.toLowerCase() === "r") this.open();
    else if (event.key.toLowerCase() === "h") takeHome(this.app);
    else if (digit >= 1 && this.scene && digit <= this.scene.actions.length) this.choose(digit - 1);
    else return false;
    return true;
  }

  saved() {
    return {
      at: Math.max(this.at, this.target > this.steps.length ? this.target : 0),
      actions: this.hands,
      iterations: this.budgets,
    };
  }
  save() {
    this.app.save();
  }

  // --- drawing ---
}

Object.assign(Watch.prototype, parts, drawing);
