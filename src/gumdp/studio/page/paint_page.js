// The elements of the view in which a world is painted.
import { h, field, download } from "./dom.js";

export const TOOLS = [
  ["floor", "."],
  ["wall", "#"],
  ["slippery", "~"],
  ["door ↑", "^"],
  ["door →", ">"],
  ["door ↓", "v"],
  ["door ←", "<"],
  ["start", "start"],
  ["target", "target"],
  ["cost A", "cost0"],
  ["cost B", "cost1"],
  ["cost C", "cost2"],
];
const GOALS = {
  explore: "explore evenly",
  imitate: "imitate the painted target",
  worst: "keep the worst of the costs small",
  budget: "explore, within a budget of costs",
  cost: "pay as little as possible",
  function: "a Python function",
};

export const parts = {
  build() {
    const $ = (this.$ = {});
    $.canvas = h("canvas", {
      tabindex: "0",
      role: "application",
      id: "easel",
      "aria-label": "The world; arrows move the brush, space paints",
    });
    $.said = h("p", { class: "sr", "aria-live": "polite" });
    $.tools = h(
      "div",
      { class: "tools", role: "radiogroup", "aria-label": "Brush" },
      TOOLS.map(([name, tool]) =>
        h(
          "button",
          {
            type: "button",
            role: "radio",
            "aria-checked": String(tool === this.tool),
            "data-tool": tool,
            onclick: () => {
              this.tool = tool;
              this.look();
            },
          },
          name,
        ),
      ),
    );
    $.level = h("input", {
      type: "range",
      min: "1",
      max: "9",
      value: "5",
      "aria-label": "Strength",
      oninput: () => {
        this.level = Number($.level.value);
        this.look();
      },
    });
    $.levelOut = h("output");
    $.levelField = h("label", { class: "field", hidden: true }, h("span", {}, "Strength ", $.levelOut), $.level);
    $.undo = h("button", { type: "button", class: "plain", id: "undo", onclick: () => this.undo() }, "Undo");
    $.redo = h("button", { type: "button", class: "plain", onclick: () => this.redo() }, "Redo");
    $.name = h("input", {
      type: "text",
      maxlength: "80",
      onchange: () => this.change({ name: $.name.value || "a painted world" }),
    });
    const size = (key) =>
      h("input", { type: "number", min: "1", max: "60", id: `world-${key}`, onchange: () => this.resize() });
    [$.rows, $.columns] = [size("rows"), size("columns")];
    $.slip = h("input", {
      type: "number",
      min: "0",
      max: "1",
      step: "0.05",
      onchange: () => this.change({ slip: Number($.slip.value) }),
    });
    $.horizon = h("input", {
      type: "number",
      min: "1",
      max: "100000",
      id: "world-horizon",
      onchange: () => this.change({ horizon: Number($.horizon.value) }),
    });
    $.discount = h("input", {
      type: "number",
      min: "0.01",
      max: "1",
      step: "0.01",
      onchange: () => this.change({ discount: Number($.discount.value) }),
    });
    $.goal = h(
      "select",
      {
        id: "goal",
        onchange: () =>
          this.change({
            objective: { kind: $.goal.value, ...($.goal.value === "budget" ? { budget: 0.1, penalty: 10 } : {}) },
          }),
      },
      Object.entries(GOALS).map(([value, name]) =>
        h("option", { value, disabled: value === "function" && !this.app.hello.code }, name),
      ),
    );
    $.note = h("p", { class: "note full" });
    $.budget = h("input", {
      type: "number",
      min: "0",
      max: "1",
      step: "0.01",
      onchange: () => this.change({ objective: { ...this.world.objective, budget: Number($.budget.value) } }),
    });
    $.penalty = h("input", {
      type: "number",
      min: "0",
      step: "1",
      onchange: () => this.change({ objective: { ...this.world.objective, penalty: Number($.penalty.value) } }),
    });
    [$.budgetField, $.penaltyField] = [
      field("Budget, share of the time", $.budget),
      field("Penalty beyond it", $.penalty),
    ];
    $.code = h("textarea", {
      rows: "7",
      spellcheck: "false",
      id: "code",
      oninput: () => {
        this.code = $.code.value;
        sessionStorage.setItem("gumdp-code", this.code);
      },
    });
    $.codeField = h(
      "label",
      { class: "field full" },
      h("span", {}, "Python; it runs on this machine, after you confirm it"),
      $.code,
    );
    $.file = h("input", {
      type: "file",
      accept: ".json,application/json",
      hidden: true,
      onchange: () => this.openFile(),
    });
    const canvas = h(
      "section",
      { class: "card", "aria-label": "The world" },
      $.tools,
      $.levelField,
      $.canvas,
      $.said,
      h("p", { class: "faint" }, "Click or drag to paint. With the keyboard: arrows and space."),
    );
    const form = h(
      "section",
      { class: "card", "aria-label": "What to do in it" },
      h("header", {}, h("h2", {}, "What to do in it")),
      h(
        "div",
        { class: "form" },
        h("label", { class: "field full" }, h("span", {}, "Name"), $.name),
        field("Rows", $.rows),
        field("Columns", $.columns),
        h("label", { class: "field full" }, h("span", {}, "Goal"), $.goal),
        $.note,
        $.budgetField,
        $.penaltyField,
        $.codeField,
        field("Steps", $.horizon),
        field("Discount", $.discount),
        field("Slipping", $.slip),
      ),
    );
    const buttons = h(
      "div",
      { class: "row" },
      h("button", { type: "button", class: "main", id: "plan", onclick: () => this.plan() }, "Plan it"),
      $.undo,
      $.redo,
      h("button", { type: "button", class: "plain", id: "clear", onclick: () => this.clear() }, "Clear"),
      h("span", { class: "grow" }),
      h(
        "button",
        {
          type: "button",
          class: "plain",
          id: "save",
          onclick: () =>
            download(
              `${this.world.name.replace(/[^\w-]+/g, "-") || "world"}.json`,
              `${JSON.stringify(this.world, null, 2)}\n`,
              "application/json",
            ),
        },
        "Save",
      ),
      h("button", { type: "button", class: "plain", onclick: () => $.file.click() }, "Open…"),
      $.file,
    );
    document
      .getElementById("paint")
      .append(h("div", { class: "easel" }, canvas, h("div", { class: "column" }, form, buttons)));
    $.canvas.addEventListener("pointerdown", (event) => {
      this.remember();
      this.down = true;
      $.canvas.setPointerCapture(event.pointerId);
      this.dab(event);
    });
    $.canvas.addEventListener("pointermove", (event) => {
      if (this.down) this.dab(event);
    });
    for (const kind of ["pointerup", "pointercancel"])
      $.canvas.addEventListener(kind, () => {
        this.down = false;
      });
    $.canvas.addEventListener("keydown", (event) => this.keys(event));
    this.look();
  },
};
