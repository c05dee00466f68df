// Choosing a problem and its options.
import { h, field, dialog } from "./dom.js";

export function chooseProblem(app, done = () => app.views.watch.open()) {
  const { hello, setting } = app;
  let chosen = { name: setting.problem.name, options: { ...setting.problem.options } };
  const list = h("div", { class: "choices" }),
    form = h("div", { class: "form" });
  const search = h("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": "Filter the problems",
    oninput: () => show(),
  });
  const entries = [
    ...(hello.given
      ? [{ name: "@given", title: hello.given, summary: "the problem that the studio was started with", options: {} }]
      : []),
    ...hello.problems.filter((entry) => entry.name !== "painted"),
  ];
  const fill = () => {
    const entry = entries.find((one) => one.name === chosen.name);
    form.replaceChildren(...Object.entries(entry ? entry.options : {}).map(([key, own]) => option(key, own, chosen)));
  };
  const show = () => {
    const words = search.value.toLowerCase();
    list.replaceChildren(
      ...entries
        .filter((entry) => `${entry.name} ${entry.summary} ${entry.objective}`.toLowerCase().includes(words))
        .map((entry) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(entry.name === chosen.name),
              onclick: () => {
                chosen = { name: entry.name, options: {} };
                show();
                fill();
              },
              ondblclick: () => take(),
            },
            h("b", {}, entry.title || entry.name),
            h("small", {}, entry.summary),
          ),
        ),
    );
  };
  const take = () => {
    setting.problem = chosen;
    box.close();
    done();
  };
  show();
  fill();
  const box = dialog(
    "Choose a problem",
    search,
    list,
    form,
    h(
      "div",
      { class: "row", "data-end": "" },
      h("span", { class: "grow" }),
      h("button", { type: "button", class: "main", id: "take-problem", onclick: take }, "Open"),
    ),
  );
  list.querySelector("[aria-pressed=true]")?.scrollIntoView({ block: "center" });
  search.focus();
}

function option(key, own, chosen) {
  const now = key in chosen.options ? chosen.options[key] : own;
  const set = (value) => {
    if (value === own) delete chosen.options[key];
    else chosen.options[key] = value;
  };
  if (typeof own === "boolean")
    return h(
      "label",
      { class: "note" },
      h("input", { type: "checkbox", checked: now, onchange: (event) => set(event.target.checked) }),
      ` ${key}`,
    );
  if (typeof own === "number")
    return field(
      key,
      h("input", {
        type: "number",
        step: "any",
        value: String(now),
        onchange: (event) => set(Number(event.target.value)),
      }),
    );
  return field(
    key,
    h("input", {
      type: "text",
      value: now === null ? "" : String(now),
      onchange: (event) => set(event.target.value === "" ? own : guess(event.target.value)),
    }),
  );
}

function guess(text) {
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}
