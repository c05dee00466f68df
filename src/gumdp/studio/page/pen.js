// One way to draw, on three kinds of paper: a canvas on the page, a canvas for a film, an SVG file.
const SVG = "http://www.w3.org/2000/svg";
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';

export function theme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = [
    "ink",
    "paper",
    "panel",
    "sunk",
    "soft",
    "faint",
    "line",
    "edge",
    "accent",
    "hand",
    "good",
    "bad",
    "wall",
    "agent",
    "glow",
  ];
  const found = Object.fromEntries(names.map((name) => [name, get(name)]));
  found.stops = [0, 1, 2, 3].map((k) => rgb(get(`shade-${k}`)));
  found.series =
    document.documentElement.dataset.theme === "dark"
      ? ["#5eb3f3", "#ff9d52", "#4fc39b", "#e59ac4", "#e3b341", "#b39ddb"]
      : ["#0b62a4", "#c14d00", "#00785a", "#a8447f", "#946200", "#5f4bb6"];
  return found;
}

function rgb(text) {
  return [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));
}

export function shade(colours, share) {
  const x = Math.min(1, Math.max(0, share)) * 3,
    k = Math.min(2, Math.floor(x)),
    u = x - k;
  const [a, b] = [colours.stops[k], colours.stops[k + 1]];
  return `rgb(${a.map((v, i) => Math.round(v + (b[i] - v) * u)).join(" ")})`;
}

export class CanvasPen {
  constructor(
    canvas,
    width = canvas.clientWidth,
    height = canvas.clientHeight,
    ratio = Math.min(3, devicePixelRatio || 1),
  ) {
    const [w, hh] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (canvas.width !== w || canvas.height !== hh) [canvas.width, canvas.height] = [w, hh];
    this.c = canvas.getContext("2d");
    this.c.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.c.clearRect(0, 0, width, height);
    [this.width, this.height] = [width, height];
  }
  paint({ fill, stroke, width = 1, dash }) {
    if (fill) {
      this.c.fillStyle = fill;
      this.c.fill();
    }
    if (stroke) {
      this.c.strokeStyle = stroke;
      this.c.lineWidth = width;
      this.c.setLineDash(dash || []);
      this.c.lineJoin = this.c.lineCap = "round";
      this.c.stroke();
    }
  }
  rect(x, y, w, hh, style) {
    this.c.beginPath();
    this.c.roundRect(x, y, Math.max(0, w), Math.max(0, hh), Math.max(0, style.radius || 0));
    this.paint(style);
  }
  circle(x, y, r, style) {
    this.c.beginPath();
    this.c.arc(x, y, Math.max(0, r), 0, 7);
    this.paint(style);
  }
  line(points, style, closed = false) {
    this.c.beginPath();
    points.forEach(([x, y], k) => (k ? this.c.lineTo(x, y) : this.c.moveTo(x, y)));
    if (closed) this.c.closePath();
    this.paint(style);
  }
  curve([x0, y0, cx, cy, x1, y1], style) {
    this.c.beginPath();
    this.c.moveTo(x0, y0);
    this.c.quadraticCurveTo(cx, cy, x1, y1);
    this.paint(style);
  }
  text(x, y, text, { size = 12, fill, align = "left", weight = 400, base = "middle" } = {}) {
    this.c.font = `${weight} ${size}px ${FONT}`;
    this.c.fillStyle = fill;
    this.c.textAlign = align;
    this.c.textBaseline = base;
    this.c.fillText(text, x, y);
  }
  measure(text, size) {
    this.c.font = `400 ${size}px ${FONT}`;
    return this.c.measureText(text).width;
  }
}

export class SvgPen {
  constructor(width, height) {
    [this.width, this.height] = [width, height];
    this.root = document.createElementNS(SVG, "svg");
    this.set(this.root, { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height });
  }
  set(element, attributes) {
    for (const [key, value] of Object.entries(attributes))
      if (value !== undefined && value !== null) element.setAttribute(key, value);
    return element;
  }
  add(tag, attributes, style = {}) {
    const element = this.set(document.createElementNS(SVG, tag), attributes);
    this.set(element, {
      fill: style.fill || "none",
      stroke: style.stroke,
      "stroke-width": style.stroke && (style.width || 1),
      "stroke-dasharray": style.dash && style.dash.join(" "),
      "stroke-linecap": style.stroke && "round",
      "stroke-linejoin": style.stroke && "round",
    });
    this.root.append(element);
    return element;
  }
  rect(x, y, w, hh, style) {
    this.add("rect", { x, y, width: w, height: hh, rx: style.radius }, style);
  }
  circle(cx, cy, r, style) {
    this.add("circle", { cx, cy, r }, style);
  }
  line(points, style, closed = false) {
    if (points.length)
      this.add(
        "path",
        { d: `M${points.map((p) => p.map((v) => Number(v.toFixed(2))).join(" ")).join("L")}${closed ? "Z" : ""}` },
        style,
      );
  }
  curve([x0, y0, cx, cy, x1, y1], style) {
    this.add("path", { d: `M${x0} ${y0}Q${cx} ${cy} ${x1} ${y1}` }, style);
  }
  text(x, y, text, { size = 12, fill, align = "left", weight = 400, base = "middle" } = {}) {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const line = { middle: "central", top: "hanging", bottom: "auto", alphabetic: "auto" }[base];
    this.add(
      "text",
      {
        x,
        y,
        "font-size": size,
        "font-weight": weight,
        "text-anchor": anchor,
        "dominant-baseline": line,
        "font-family": FONT,
      },
      { fill },
    ).textContent = text;
  }
  measure(text, size) {
    return text.length * size * 0.55;
  }
  toString() {
    return new XMLSerializer().serializeToString(this.root);
  }
}
