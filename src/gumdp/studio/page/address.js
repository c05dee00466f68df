// The state in the address: a link restores the view. No code is ever in it.
export function readAddress() {
  const params = new URLSearchParams(location.hash.slice(1));
  const view = params.get("view");
  try {
    const { setting, at, actions, iterations, race, world, results } = JSON.parse(decode(params.get("s") || ""));
    if (!sound(setting)) return { view };
    return {
      view,
      setting,
      at: Number.isInteger(at) ? at : 0,
      actions: table(actions),
      iterations: table(iterations),
      race: table(race),
      world: painted(world) ? world : null,
      results: table(results),
    };
  } catch {
    return { view }; // none, or a link that was cut off: begin afresh
  }
}

// The server checks what it gets; this is so that the page itself can read it.
function sound(setting) {
  const { problem, planner, seed, trial } = setting;
  const named = (part) => part && typeof part.name === "string" && part.options && typeof part.options === "object";
  if (!named(problem) || !named(planner) || !Number.isInteger(seed) || !Number.isInteger(trial) || problem.code)
    return false;
  return problem.options.world === undefined || painted(JSON.parse(problem.options.world));
}

// Whether a world can be drawn: rows of letters, all of the same length.
export function painted(world) {
  const rows = (layer) =>
    Array.isArray(layer) && layer.length > 0 && layer.every((row) => typeof row === "string" && row.length > 0);
  if (!world || typeof world !== "object" || !rows(world.map) || !Array.isArray(world.starts)) return false;
  const fits = (layer) =>
    rows(layer) && layer.length === world.map.length && layer.every((row) => row.length === world.map[0].length);
  const square = (start) => Array.isArray(start) && start.length === 2 && start.every(Number.isInteger);
  return (
    fits(world.map) &&
    world.starts.every(square) &&
    (!world.target || fits(world.target)) &&
    (!world.costs || (Array.isArray(world.costs) && world.costs.every(fits)))
  );
}

function table(given) {
  return given && typeof given === "object" && !Array.isArray(given) ? given : {};
}

// At once, so that a reload right after a change finds it; of many changes in a row, only some and the last.
let timer = null,
  next = null,
  written = -Infinity;
export function writeAddress(state) {
  next = state; // browsers allow only so many changes a second
  if (timer === null) timer = setTimeout(put, Math.max(0, written + 250 - performance.now()));
}

function put() {
  timer = null;
  written = performance.now();
  history.replaceState(null, "", fragment(next));
}

export function fragment({ view, ...rest }) {
  return `#view=${encodeURIComponent(view)}&s=${encode(JSON.stringify(rest))}`;
}

function encode(text) {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decode(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(Uint8Array.from(binary, (letter) => letter.charCodeAt(0)));
}
