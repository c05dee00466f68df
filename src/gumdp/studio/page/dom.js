// Elements, made without ever parsing text: whatever stands in a name stays a name.
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const PATHS = {
  play: "M7 4.5v15l12.5-7.5z",
  pause: "M6 4.5h4.2v15H6zM13.8 4.5H18v15h-4.2z",
  step: "M5 4.5v15l9.5-7.5zM16 4.5h3v15h-3z",
  back: "M19 4.5v15L9.5 12zM5 4.5h3v15H5z",
  restart:
    "M12 5a7 7 0 1 0 6.7 9h-2.4A4.8 4.8 0 1 1 12 7.2c1.3 0 2.4.5 3.3 1.4L12.6 11H20V3.8l-2.9 2.7A7 7 0 0 0 12 5z",
  stop: "M6 6h12v12H6z",
};

export function icon(name, label, props = {}) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "path"));
  svg.firstChild.setAttribute("d", PATHS[name]);
  const { class: more, ...rest } = props;
  return h(
    "button",
    { type: "button", class: `icon ${more || "plain"}`, "aria-label": label, title: label, ...rest },
    svg,
  );
}

export function setIcon(button, name, label) {
  button.querySelector("path").setAttribute("d", PATHS[name]);
  button.setAttribute("aria-label", label);
  button.title = label;
}

export function field(label, input, out = null) {
  return h("label", { class: "field" }, h("span", {}, label, out ? " " : null, out), input);
}

export function number(x, digits = 4) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  return size >= 1e5 || size < 1e-4
    ? x.toExponential(Math.max(0, Math.min(2, digits - 1)))
    : String(Number(x.toPrecision(digits)));
}

export function count(n) {
  return n === null || n === undefined
    ? "–"
    : n < 10000
      ? String(n)
      : n < 1e6
        ? `${Number((n / 1e3).toPrecision(3))} k`
        : `${Number((n / 1e6).toPrecision(3))} M`;
}

export function seconds(s) {
  return s < 90 ? `${Math.ceil(s)} s` : s < 5400 ? `${Math.round(s / 60)} min` : `${(s / 3600).toFixed(1)} h`;
}

export function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export function dialog(title, ...content) {
  const close = h("button", { type: "button", class: "quiet", "aria-label": "Close" }, "✕");
  const box = h("dialog", { "aria-label": title }, h("header", {}, h("h2", {}, title), close), ...content);
  close.addEventListener("click", () => box.close());
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => {
    if (event.target === box) box.close();
  });
  document.body.append(box);
  box.showModal();
  return box;
}

export const CELL_LETTERS = 28;
export function short(text, most = CELL_LETTERS) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
