// Take it home: the script, the experiment, pictures, a film, a link.
import { h, dialog, download, number } from "./dom.js";
import { CanvasPen, SvgPen, theme } from "./pen.js";
import { draw, kindOf } from "./pictures.js";
import { drawMover } from "./movers.js";
import { lines } from "./charts.js";
import { encodeGif } from "./gif.js";
import { encodeMp4, encoding } from "./mp4.js";

const FRAMES = 240; // of a film
const SIZE = [520, 430]; // of a frame
const SHARP = 2; // pixels of an MP4 for each of these

let heard = false,
  fill = () => {};

export function takeHome(app) {
  const watch = app.views.watch;
  if (!heard) {
    heard = true;
    app.link.on("home", (message) => fill(message));
  }
  const { problem, planner, seed, trial } = app.setting,
    name = (watch.scene ? watch.scene.title : problem.name).replace(/[^\w-]+/g, "-");
  const script = h("pre", { id: "script", tabindex: "0" }, "…"),
    toml = h("pre", { id: "toml", tabindex: "0" }, "…"),
    progress = h("span", { class: "note", role: "status" });
  const keep = (place, file) =>
    h(
      "div",
      { class: "row" },
      h(
        "button",
        { type: "button", class: "plain", onclick: () => download(file, place.textContent, "text/plain") },
        `Save ${file}`,
      ),
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => navigator.clipboard.writeText(place.textContent) },
        "Copy",
      ),
    );
  const tomlPart = h(
    "details",
    {},
    h("summary", {}, "As an experiment, for many trials: gumdp run"),
    toml,
    keep(toml, `${name}.toml`),
  );
  const link = h("input", {
    type: "text",
    readonly: true,
    id: "link",
    "aria-label": "Link",
    value: app.address(),
    onfocus: (event) => event.target.select(),
  });
  dialog(
    "Take it home",
    h("h3", {}, "The run as a Python script"),
    h("p", { class: "note" }, "It plays the same run, to the last bit."),
    script,
    keep(script, `${name}.py`),
    tomlPart,
    h("h3", {}, "Pictures"),
    h(
      "div",
      { class: "row" },
      h(
        "button",
        {
          type: "button",
          class: "plain",
          id: "svg",
          onclick: () => download(`${name}.svg`, svg(watch), "image/svg+xml"),
        },
        "Picture (SVG)",
      ),
      ...[
        ["gif", "Film (GIF)", asGif],
        ["mp4", "Film (MP4)", asMp4],
      ].map(([id, title, make]) =>
        h(
          "button",
          { type: "button", class: "plain", id, disabled: !watch.steps.length, onclick: () => film(watch, name, progress, id, make) },
          title,
        ),
      ),
      progress,
    ),
    h("h3", {}, "A link to this view"),
    h(
      "p",
      { class: "note" },
      "For this studio while it runs. In another one, put the part from # on behind its address, or start it with gumdp studio '#…'.",
    ),
    h(
      "div",
      { class: "row" },
      link,
      h("button", { type: "button", class: "quiet", onclick: () => navigator.clipboard.writeText(link.value) }, "Copy"),
    ),
  );
  fill = (message) => {
    script.textContent = message.script;
    toml.textContent = message.toml || "";
    tomlPart.hidden = !message.toml;
  };
  const planners = app.views.race.chosen();
  app.link.send("home", {
    problem,
    planner,
    seed,
    trial,
    actions: watch.hands,
    iterations: watch.budgets,
    planners: planners.length ? planners : null,
    trials: 20,
  });
}

function picture(pen, watch, at, colours) {
  const { scene } = watch,
    frame = watch.frame(at),
    body = { width: pen.width, height: pen.height - 130 };
  pen.rect(0, 0, pen.width, pen.height, { fill: colours.panel });
  const shifted = within(pen, 0, 26, body.width, body.height - 26);
  pen.text(14, 16, scene.title, { size: 14, fill: colours.ink, weight: 600 });
  const step = at ? watch.steps[at - 1] : null;
  pen.text(pen.width - 14, 16, step ? `step ${at}, cost ${number(step.cost, 4)}` : `step ${at}`, {
    size: 13,
    fill: colours.soft,
    align: "right",
  });
  if (scene.mover && kindOf(scene) !== "plane") drawMover(shifted, scene, frame, colours);
  else draw(shifted, scene, frame, colours);
  const series = [
    { values: watch.steps.slice(0, at).map((s) => s.cost), colour: colours.accent },
    { values: watch.steps.slice(0, at).map((s) => s.forecast), colour: colours.hand, dash: [5, 4] },
  ].filter((s) => s.values.some((v) => v !== null));
  lines(
    within(pen, 6, body.height, pen.width - 12, 126),
    series,
    watch.bound ? [{ value: watch.bound.value, colour: colours.good, label: "lower bound" }] : [],
    scene.steps,
    null,
    colours,
  );
}

// A part of the paper, as paper of its own.
function within(pen, left, top, width, height) {
  const move = ([x, y]) => [x + left, y + top];
  return {
    width,
    height,
    measure: (...args) => pen.measure(...args),
    rect: (x, y, w, hh, style) => pen.rect(x + left, y + top, w, hh, style),
    circle: (x, y, r, style) => pen.circle(x + left, y + top, r, style),
    line: (points, style, closed) => pen.line(points.map(move), style, closed),
    text: (x, y, ...rest) => pen.text(x + left, y + top, ...rest),
    curve: ([a, b, c, d, e, f], style) => pen.curve([...move([a, b]), ...move([c, d]), ...move([e, f])], style),
  };
}

export function svg(watch) {
  const pen = new SvgPen(...SIZE);
  picture(pen, watch, watch.at, theme());
  return pen.toString();
}

// A film of the run: its frames are painted one by one, by whoever makes the file.
async function film(watch, name, progress, kind, make) {
  const colours = theme(),
    last = watch.steps.length,
    every = Math.max(1, Math.ceil(last / FRAMES)),
    frames = [];
  for (let at = 0; at <= last; at += every) frames.push(at);
  if (frames[frames.length - 1] !== last) frames.push(last);
  const delays = frames.map((_, k) =>
    k === frames.length - 1 ? 200 : Math.max(4, Math.min(25, Math.round(1200 / frames.length))),
  );
  const tell = (k) => (progress.textContent = `frame ${k} of ${frames.length}`);
  try {
    const bytes = await make(delays, (pen, k) => picture(pen, watch, frames[k], colours), tell);
    progress.textContent = `${frames.length} frames, ${Math.round(bytes.length / 1024)} kB`;
    document.documentElement.dataset[kind] = String(bytes.length);
    download(`${name}.${kind}`, new Blob([bytes], { type: kind === "gif" ? "image/gif" : "video/mp4" }));
  } catch (error) {
    progress.textContent = `No film: ${error.message}`;
  }
  watch.massAt = null;
}

function asGif(delays, paint, tell) {
  const canvas = document.createElement("canvas");
  canvas.getContext("2d", { willReadFrequently: true });
  const pixels = (k) => {
    const pen = new CanvasPen(canvas, ...SIZE, 1);
    paint(pen, k);
    return pen.c.getImageData(0, 0, ...SIZE).data;
  };
  return encodeGif(SIZE, delays.length, pixels, delays, tell);
}

async function asMp4(delays, paint, tell) {
  const canvas = document.createElement("canvas"),
    config = await encoding(SIZE.map((length) => length * SHARP));
  if (!config) throw new Error("this browser encodes none; take the GIF.");
  return encodeMp4(config, canvas, delays, (k) => paint(new CanvasPen(canvas, ...SIZE, SHARP), k), tell);
}
