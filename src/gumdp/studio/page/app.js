// The page: views, what they share, and the keyboard.
import { Link } from "./link.js";
import { readAddress, writeAddress, fragment } from "./address.js";
import { h, dialog } from "./dom.js";
import { Watch } from "./watch.js";
import { Race } from "./race.js";
import { Paint } from "./paint.js";
import { Results } from "./results.js";

const VIEWS = { watch: "Watch", race: "Race", paint: "Paint", results: "Results" };
const KEYS = [
  ["Space", "play or pause"],
  ["→", "one step"],
  ["←", "a step back"],
  ["1 … 9", "take an action"],
  ["arrows", "drive, with the wheel in your hands"],
  ["W", "take the wheel, or give it back"],
  ["R", "from the start again"],
  ["H", "take it home"],
  ["?", "this list"],
];

class App {
  constructor() {
    this.state = readAddress();
    this.asked = 0; // questions for bounds and certificates
    this.setting = null; // { problem: { name, options, code }, planner: { name, options }, seed, trial }
    this.theme(localStorage.getItem("gumdp-theme"));
    this.link = new Link();
    this.link.on("hello", (hello) => this.begin(hello));
    this.link.on("error", ({ text }) => this.error(text));
    this.link.on("status", ({ text }) => this.status(text));
    this.link.on("lost", () => this.error("The studio does not answer. Is it still running? The page tries again."));
    const tabs = document.querySelector(".tabs");
    for (const [view, title] of Object.entries(VIEWS))
      tabs.append(h("button", { type: "button", "data-view": view, onclick: () => this.show(view) }, title));
    document.getElementById("theme").addEventListener("click", () => this.turn());
    document.getElementById("keys").addEventListener("click", () => this.help());
    document.addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
      this.theme(localStorage.getItem("gumdp-theme")),
    );
    addEventListener("resize", () => this.redraw());
  }

  begin(hello) {
    const again = Boolean(this.hello);
    this.hello = hello;
    this.error("");
    if (again) {
      this.views.watch.open(true);
      return;
    } // the server came back: where we were
    const first =
      hello.first && hello.first !== "results" ? hello.first : hello.given ? "@given" : "frozenlake-entropy";
    this.setting = this.state.setting || {
      problem: { name: first, options: {} },
      planner: { name: "mcts", options: { iterations: 1000 } },
      seed: 0,
      trial: 0,
    };
    this.views = { watch: new Watch(this), race: new Race(this), paint: new Paint(this), results: new Results(this) };
    const { world } = this.setting.problem.options;
    if (world && JSON.parse(world).objective?.kind === "function") {
      this.setting.problem = { name: "painted", options: {} }; // its function is never in an address
      this.state = { ...this.state, view: "paint", at: 0 };
      this.status("This world has a function: look at it, then plan it again.");
    }
    this.show(this.state.view in VIEWS ? this.state.view : hello.first === "results" ? "results" : "watch");
    this.views.watch.restore(this.state);
    document.documentElement.dataset.ready = "yes";
  }

  show(view) {
    this.view = view;
    for (const name of Object.keys(VIEWS)) document.getElementById(name).hidden = name !== view;
    for (const button of document.querySelectorAll(".tabs button"))
      button.dataset.view === view
        ? button.setAttribute("aria-current", "page")
        : button.removeAttribute("aria-current");
    if (this.views) {
      this.views[view].shown();
      this.redraw();
      this.save();
    }
  }

  redraw() {
    if (this.views) this.views[this.view].redraw();
  }
  saved() {
    const { problem, ...rest } = this.setting;
    const { code, ...safe } = problem; // code is never put into an address
    const views = Object.values(this.views).map((view) => view.saved());
    return Object.assign({ view: this.view, setting: { ...rest, problem: safe } }, ...views);
  }
  save() {
    if (this.views) writeAddress(this.saved());
  }
  address() {
    return new URL(fragment(this.saved()), location.href).href;
  }

  error(text) {
    const place = document.getElementById("error");
    place.textContent = text;
    place.hidden = !text;
    if (text) this.status("");
  }
  status(text) {
    document.getElementById("status").textContent = text;
  }

  theme(chosen) {
    document.documentElement.dataset.theme =
      chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.redraw();
  }
  turn() {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("gumdp-theme", next);
    this.theme(next);
  }
  help() {
    dialog(
      "Keyboard",
      h(
        "dl",
        { class: "keys" },
        KEYS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]),
      ),
    );
  }
  key(event) {
    const typing = event.target.closest("textarea, input:not([type=range]):not([type=checkbox]), select, dialog");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") this.help();
    else if (this.views && this.views[this.view].key && this.views[this.view].key(event)) event.preventDefault();
  }

  // Ask for a bound or a certificate; answers to older questions are not for us any more.
  prove(what, facts) {
    this.error("");
    this.link.send(what, { ...facts, run: ++this.asked });
  }
  proved(ear) {
    return (message) => {
      if (message.run === this.asked) ear(message);
    };
  }

  planner(name) {
    return this.hello.planners.find((planner) => planner.name === name);
  }
  searches(name) {
    const planner = this.planner(name);
    const budget = planner && planner.options.some((option) => option.name === "iterations");
    return Boolean(budget) && name !== "dual"; // whose iterations are those of a solver
  }
}

window.studio = new App(); // for those who look inside
