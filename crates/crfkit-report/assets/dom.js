// Elements, numbers and tables. Text is always set as text and never parsed: a name from the data cannot become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child != null));
  return element;
}

// el("p", {class: "note"}, "text", child): an element; `on…` attributes are listeners, `--…` custom properties.
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const note = text => el("p", { class: "note" }, text);

const MISSING = "–";
const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

// A number as people read it: all of its integer digits, and enough behind the point to have `digits` in all.
function number(x, digits = 6) {
  if (x == null || !Number.isFinite(x)) return MISSING;
  if (Number.isInteger(x)) return grouped.format(x);
  const integer = Math.abs(x) < 1 ? 1 : Math.floor(Math.log10(Math.abs(x))) + 1;
  if (Math.abs(x) < 1e-3) return x.toExponential(2);
  const decimals = Math.max(0, digits - integer);
  return x.toLocaleString("en-US", { minimumFractionDigits: 0, maximumFractionDigits: decimals });
}
const percent = x => x == null ? MISSING : x.toFixed(2);

// A table in a frame of its own that scrolls. A row is a list of cells, or {cells, class}; a cell is a text or an element (td
// or th); the first cell names its row. Texts that begin as numbers do stand on the right, below a heading on the right.
function table(head, rows, { caption, ...attributes } = {}) {
  const cell = (content, i) => {
    if (content instanceof HTMLTableCellElement) return content;
    if (i === 0) return el("th", { scope: "row" }, content);
    return el("td", { class: /^[\d–-]/.test(content) ? "number" : null }, content);
  };
  const body = rows.map(row => el("tr", { class: row.class }, ...(row.cells ?? row).map(cell)));
  const top = head.map((content, i) => content instanceof HTMLTableCellElement ? content :
    el("th", { scope: "col", class: body[0]?.children[i]?.classList.contains("number") ? "number" : null }, content));
  const frame = el("div", { class: "frame", tabindex: 0, role: "group", "aria-label": caption, onscroll: () => hint(frame) },
    el("table", attributes, el("thead", {}, el("tr", {}, ...top)), el("tbody", {}, ...body)));
  frames.observe(frame);
  return frame;
}

// Whether a frame scrolls sideways, and whether there is more on the right.
function hint(frame) {
  const hidden = frame.scrollWidth - frame.clientWidth;
  frame.classList.toggle("scrolls", hidden > 1);
  frame.classList.toggle("more", hidden - frame.scrollLeft > 1);
}
// In the next frame, since a hint changes the height.
const frames = new ResizeObserver(entries => requestAnimationFrame(() => entries.forEach(({ target }) => hint(target))));

// What is long is made when it is opened.
function folded(summary, make) {
  const box = el("details", {
    ontoggle() {
      if (box.open && box.childElementCount === 1) box.append(make());
    },
  }, el("summary", {}, summary));
  return box;
}

// One of several values, from a list of [value, words].
function choice(words, options, chosen, change) {
  const list = options.map(([value, text]) => el("option", { value, selected: value === chosen }, text));
  return el("label", {}, words, " ", el("select", { onchange: event => change(event.target.value) }, ...list));
}
