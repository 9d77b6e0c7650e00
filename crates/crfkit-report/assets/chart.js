// Line charts in SVG: axes, curves, a cursor that follows pointer and arrow keys, and the table behind them.

const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
const PLOT = { left: 64, right: 12, top: 10, bottom: 40 };

const colourOf = index => `var(--run${index % 8})`;
const dashOf = index => DASHES[index % DASHES.length];

function swatch(index) {
  return svg("svg", { class: "swatch", "aria-hidden": true, "--colour": colourOf(index) },
    svg("line", { x1: 0, y1: 5, x2: 28, y2: 5, "stroke-dasharray": dashOf(index) }));
}

// How values lie along an axis. Scores crowd below 100: what is left to 100 is drawn on a log scale, down to 0.01.
const SCALES = {
  linear: { map: x => x, ticks: linearTicks },
  log: { map: Math.log10, ticks: logTicks },
  score: {
    map: x => -Math.log10(Math.max(100 - x, 0.01)),
    ticks: (low, high, count) => logTicks(-high, -low, count, [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 3, 5, 7], [1, 2, 5], [1]])
      .map(left => Number((100 - left).toPrecision(6))),
    lowest: withoutTheStart,
  },
};

// The lowest of sorted mapped values to be shown: first scores of a run, far below the others, would take all the room.
function withoutTheStart(sorted) {
  const [middle, highest] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  const room = Math.max(highest - middle, 0.3);
  return sorted.find(x => x >= middle - 1.5 * room);
}

// The axis of `values` over `from` … `to` pixels: at(value) is a pixel, ticks are values; all of `kept` are inside.
function axis(values, scale, from, to, pixelsATick, kept = []) {
  const { map, ticks } = SCALES[scale];
  const mapped = values.map(map).sort((a, b) => a - b);
  let low = Math.min(SCALES[scale].lowest?.(mapped) ?? mapped[0], ...kept.map(map)), high = mapped.at(-1);
  if (high - low < 1e-9) [low, high] = [low - 0.3, high + 0.3];
  const margin = (high - low) * 0.03;
  [low, high] = [low - margin, high + margin];
  const at = value => from + (map(value) - low) / (high - low) * (to - from);
  return { at, ticks: ticks(low, high, Math.max(2, Math.abs(to - from) / pixelsATick)) };
}

function linearTicks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * power).find(step => step >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

// From 10^low to 10^high: powers of ten, and multiples of them where there is room; where there is hardly one, round steps.
function logTicks(low, high, count, choices = [[1, 2, 5], [1]]) {
  if (high - low < 0.7) return linearTicks(10 ** low, 10 ** high, count);
  const every = Math.ceil((high - low) / count);
  const factors = choices.find(factors => (high - low) * factors.length <= count + 3) ?? [1];
  const ticks = [];
  for (let k = Math.floor(low); k <= high; k += every) {
    for (const factor of factors) {
      const tick = Math.log10(factor) + k;
      if (tick >= low && tick <= high) ticks.push(Number(`${factor}e${k}`));
    }
  }
  return ticks;
}

function shortNumber(x) {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(x) >= size) return `${Number((x / (letter === "k" ? 1e3 : size)).toPrecision(4))}${letter}`;
  }
  return String(Number(x.toPrecision(6)));
}

// The chart whose values are shown; a tap elsewhere hides them.
let shown = null;
document.addEventListener("pointerdown", event => {
  if (shown && !shown.plot.contains(event.target)) shown.hide();
});

// series: [{index, name, points: [[x, y]]}]; x: {title, scale}; y: {scale, format}.
function lineChart({ title, series, x, y }) {
  const fits = (value, { scale }) => Number.isFinite(value) && (scale !== "log" || value > 0);
  const usable = ([px, py]) => fits(px, x) && fits(py, y);
  series = series.map(s => ({ ...s, points: s.points.filter(usable) })).filter(s => s.points.length);
  const caption = el("figcaption", {}, title);
  if (!series.length) return el("figure", {}, caption, note("Nothing to draw: switch a run on, or wait for its first step."));

  const plot = el("div", {
    class: "plot", tabindex: 0, role: "group",
    "aria-label": `${title} by ${x.title}: ${series.length} curves. Arrow keys read values; the table below has all of them.`,
  });
  const tip = el("div", { class: "tip", role: "status" });
  plot.append(tip);
  let view = null;
  const draw = () => {
    view?.picture.remove();
    tip.replaceChildren();
    view = picture(series, x, y, Math.max(260, plot.clientWidth || 560));
    plot.prepend(view.picture);
  };
  const show = at => {
    showValues(plot, tip, view, series, x, y, at);
    if (at != null) shown = { plot, hide };
  };
  const hide = () => show(null);
  const steps = [...new Set(series.flatMap(s => s.points.map(p => p[0])))].sort((a, b) => a - b);
  let place = -1;
  const keys = { ArrowLeft: () => place - 1, ArrowRight: () => place + 1, Home: () => 0, End: () => steps.length - 1 };
  plot.addEventListener("keydown", event => {
    if (event.key === "Escape") return hide();
    if (!keys[event.key]) return;
    event.preventDefault();
    place = Math.min(Math.max(keys[event.key](), 0), steps.length - 1);
    show(view.across.at(steps[place]));
  });
  const point = event => {
    const box = view.picture.getBoundingClientRect();
    show((event.clientX - box.left) * view.width / box.width);
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  // A finger is lifted to see: its values stay until the next tap.
  plot.addEventListener("pointerleave", event => { if (event.pointerType !== "touch") hide(); });
  plot.addEventListener("blur", hide);
  // Drawn for its width, so that texts keep their size; in the next frame, since drawing changes the height.
  new ResizeObserver(() => requestAnimationFrame(() => {
    if (plot.clientWidth && plot.clientWidth !== view.width) draw();
  })).observe(plot);
  draw();
  return el("figure", {}, caption, plot, folded("Table", () => table(["run", x.title, title],
    series.flatMap(s => s.points.map(([px, py]) => [s.name, number(px, 4), y.format(py)])), { caption: title })));
}

function picture(series, x, y, width) {
  const height = Math.round(Math.min(340, Math.max(230, width * 0.55)));
  const [left, right, top, bottom] = [PLOT.left, width - PLOT.right, PLOT.top, height - PLOT.bottom];
  const values = k => series.flatMap(s => s.points.map(p => p[k]));
  const across = axis(values(0), x.scale, left, right, 55);
  const best = series.map(s => s.points.reduce((a, b) => b[1] > a[1] ? b : a)[1]);
  const up = axis(values(1), y.scale, bottom, top, 35, best);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": true });
  // Cuts off what is far below the others.
  const box = { x: left, y: 0, width: width - left, height: bottom };
  const inside = svg("svg", { ...box, viewBox: Object.values(box).join(" ") });
  for (const tick of up.ticks) {
    picture.append(
      svg("line", { class: "grid", x1: left, x2: right, y1: up.at(tick), y2: up.at(tick) }),
      svg("text", { x: left - 6, y: up.at(tick) + 4, "text-anchor": "end" }, shortNumber(tick)));
  }
  let free = -Infinity; // labels must not run into each other
  for (const tick of across.ticks) {
    const at = across.at(tick);
    picture.append(svg("line", { class: "grid", x1: at, x2: at, y1: bottom, y2: bottom + 5 }));
    if (at - free < 14) continue;
    picture.append(svg("text", { x: at, y: bottom + 18, "text-anchor": "middle" }, shortNumber(tick)));
    free = at + 4 * shortNumber(tick).length;
  }
  picture.append(svg("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, x.title));
  for (const s of series) {
    const path = s.points.map(([px, py], i) => `${i ? "L" : "M"}${across.at(px).toFixed(1)} ${up.at(py).toFixed(1)}`);
    inside.append(svg("path", { class: "curve", d: path.join(""), "stroke-dasharray": dashOf(s.index), "--colour": colourOf(s.index) }));
    const [px, py] = s.points.at(-1);
    inside.append(svg("circle", { class: "end", r: 2.5, cx: across.at(px), cy: up.at(py), fill: colourOf(s.index) }));
  }
  const cursor = svg("g");
  picture.append(inside, cursor);
  return { picture, cursor, across, up, width, top, bottom };
}

// Every curve's value at its point nearest to pixel `at`; nothing for null.
function showValues(plot, tip, view, series, x, y, at) {
  view.cursor.replaceChildren();
  tip.replaceChildren();
  if (at == null) return;
  const distance = point => Math.abs(view.across.at(point[0]) - at);
  const found = series.map(s => ({ s, point: s.points.reduce((a, b) => distance(b) < distance(a) ? b : a) }));
  const nearest = found.reduce((a, b) => distance(b.point) < distance(a.point) ? b : a).point[0];
  const line = view.across.at(nearest);
  view.cursor.append(svg("line", { class: "cursor", x1: line, x2: line, y1: view.top, y2: view.bottom }));
  tip.append(el("div", {}, `${x.title} ${number(nearest, 4)}`));
  for (const { s, point } of found) {
    const height = view.up.at(point[1]);
    if (height <= view.bottom) view.cursor.append(svg("circle", {
      class: "dot", r: 4.5, cx: view.across.at(point[0]), cy: height, "--colour": colourOf(s.index),
    }));
    const where = point[0] === nearest ? "" : ` (at ${number(point[0], 4)})`;
    tip.append(el("div", {}, swatch(s.index), el("span", {}, s.name + where), el("b", {}, y.format(point[1]))));
  }
  const onLeft = line > view.width / 2; // the tip stands on the other side of the cursor
  tip.style.left = onLeft ? "" : `${(line + 14) / view.width * 100}%`;
  tip.style.right = onLeft ? `${(view.width - line + 14) / view.width * 100}%` : "";
}
