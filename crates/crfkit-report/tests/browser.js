// Uses the page as a reader would, and tells the page around it what went wrong.
const problems = [];
const check = (what, right) => { if (!right) problems.push(what); };
const all = selector => [...document.querySelectorAll(selector)];
const one = selector => document.querySelector(selector);
const soon = () => new Promise(done => setTimeout(done, 100));
addEventListener("error", event => problems.push(`error: ${event.message}`));
addEventListener("securitypolicyviolation", event => problems.push(`request: ${event.blockedURI}`));

function pick(select, value) {
  select.value = value;
  select.dispatchEvent(new Event("change"));
}

function sections() {
  const expected = ["results", "curves", "scores", "confusion", "samples", "images", "transitions", "features", "settings"];
  check("sections", all("main > section").map(s => s.id).join() === expected.join());
  check("contents", all("nav a").every(a => one(a.getAttribute("href"))));
  check("pictures", all(".pictures img").length === 4 && all(".pictures img").every(img => img.complete && img.naturalWidth === 1));
}

async function hostileText() {
  one(".sentence details").open = true;
  await soon();
  const why = all(".sentence details[open] tbody tr");
  check("the reason for a mistake", why.length === 2 && why[0].textContent.includes("−0.50") && why[1].textContent.includes("2 more"));
  check("an observation as text", [...why[0].cells].some(e => e.textContent === HOSTILE));
  check("token as text", all(".word .text").some(e => e.textContent === HOSTILE));
  check("run's name as text", all("#results th").some(e => e.textContent.includes(HOSTILE)));
  check("label as text", all("#features h3").some(e => e.textContent === HOSTILE));
  check("no markup from data", !one("img[src='x']") && !window.broken);
}

async function switches() {
  const curves = () => all(".curve").length;
  check("six curves", curves() === 6);
  const [first] = all("#curves input");
  first.click();
  check("a run off", curves() === 3);
  first.click();
  check("a run on", curves() === 6);
  const [x, objective] = all("#curves select");
  for (const [value, title] of [["seconds", "seconds"], ["gradients", "gradient evaluations"], ["passes", "passes"]]) {
    pick(x, value);
    check(`against ${value}`, curves() === 6 && all(".plot text").some(t => t.textContent.startsWith(title)));
  }
  for (const value of ["linear", "excess", "log"]) {
    pick(objective, value);
    check(`objective ${value}`, curves() === 6);
  }
  await soon();
}

async function values() {
  const plot = one(".plot"), tip = one(".tip");
  const key = name => plot.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
  plot.focus();
  key("Home");
  check("first value", tip.textContent.includes("passes 1") && tip.textContent.includes("500"));
  check("the values stand beside the curves", tip.clientHeight < plot.clientHeight && tip.clientWidth < plot.clientWidth);
  key("End");
  check("last value", tip.textContent.includes("passes 3") && tip.textContent.includes("125"));
  key("Escape");
  check("no value", tip.textContent === "");
  const box = plot.getBoundingClientRect();
  plot.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2 }));
  check("value under the pointer", tip.textContent.includes("passes 2"));
  plot.dispatchEvent(new PointerEvent("pointerleave"));
  check("pointer gone", tip.textContent === "");
  const touch = name => plot.dispatchEvent(
    new PointerEvent(name, { clientX: box.left + box.width / 2, pointerType: "touch", bubbles: true }));
  ["pointerdown", "pointerup", "pointerleave"].forEach(touch);
  check("value after a tap", tip.textContent.includes("passes 2"));
  one("h1").dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  check("a tap elsewhere", tip.textContent === "");
  one(".charts details").open = true;
  await soon();
  check("table behind the chart", all(".charts details[open] tbody tr").length === 6);
}

function settings() {
  const rows = () => all("#settings tbody tr").length;
  check("differences", all("#settings tr.differs").length === 1 && one("tr.differs th").textContent === "sigma");
  check("all settings", rows() > 1);
  const names = all("#settings tbody th").map(th => th.textContent);
  check("each setting once", new Set(names).size === names.length);
  one("#settings input").click();
  check("only differences", rows() === 1);
}

// What the page says about what it compares.
function comparisons() {
  const results = one("#results").textContent;
  check("the best run is marked, and no other", all("#results tr.best .badge").length === 1 && all("#results .badge").length === 1);
  check("objectives of different problems", results.includes("cannot be compared") && results.includes("σ"));
  const captions = all("#curves figcaption").map(e => e.textContent).join();
  check("the scale of F1 is told", captions.includes("logarithmic in 100 − F1") && captions.includes("differ in σ"));
  check("the model is named", ["transitions", "features", "scores", "confusion"].every(id => one(`#${id}`).textContent.includes(`Model: ${HOSTILE}`)));
  const heads = all("#results thead th").map(th => th.textContent);
  check("F1 comes first", heads.slice(0, 3).join() === "run,best F1,accuracy");
}

// On a phone F1 is in sight without scrolling; bars leave their numbers alone; columns of a matrix are equally wide.
function shapes() {
  const frame = one("#results .frame").getBoundingClientRect();
  const f1 = one("#results tbody td").getBoundingClientRect();
  check(`F1 in sight: ${f1.right} of ${frame.right}`, f1.right <= frame.right);
  for (const cell of all(".bar")) {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const [box, text] = [cell.getBoundingClientRect(), range.getBoundingClientRect()];
    const em = parseFloat(getComputedStyle(cell).fontSize);
    check(`a bar ends before its number: ${cell.textContent}`, text.left >= box.right - 5 * em);
  }
  for (const matrix of all(".matrix")) {
    const widths = [...matrix.querySelectorAll("tbody tr:first-child td")].map(td => td.getBoundingClientRect().width);
    check(`equal columns: ${widths}`, Math.max(...widths) - Math.min(...widths) < 1);
  }
}

// WCAG 2: contrast of two colours.
function contrast(a, b) {
  const light = colour => {
    const unit = colour.startsWith("color(srgb") ? 1 : 255; // mixed colours are of 0 to 1
    const [r, g, b] = colour.match(/[\d.]+/g).map(x => x / unit).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [high, low] = [light(a), light(b)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

function themes() {
  const style = (selector, property) => getComputedStyle(one(selector))[property];
  const backgrounds = new Set();
  for (const theme of ["light", "dark"]) {
    pick(one("#theme"), theme);
    const card = style("section", "backgroundColor");
    backgrounds.add(card);
    for (const selector of ["section h2", ".note", "nav a", "summary", "thead th"]) {
      check(`contrast of ${selector}, ${theme}`, contrast(style(selector, "color"), card) >= 4.5);
    }
    const mark = one(".mark");
    for (const share of [0, 0.5, 1]) {
      mark.style.setProperty("--share", share);
      check(`contrast of a mark, ${theme}, ${share}`, contrast(style(".mark", "color"), style(".mark", "backgroundColor")) >= 4.5);
    }
    for (const curve of all(".curve")) check(`contrast of a curve, ${theme}`, contrast(getComputedStyle(curve).stroke, card) >= 3);
  }
  check("two themes", backgrounds.size === 2);
}

// Where the first scores are far below the others, the others have the room and the ticks.
function ticksNearTheScores() {
  const scores = [0, 3, 60, 80, 90, 92, 93, 93.5, 93.8, 94, 94.1, 94.2];
  const { ticks, at } = axis(scores, "score", 200, 10, 35);
  check(`ticks near the scores: ${ticks}`, ticks.filter(tick => tick >= 92 && tick <= 95).length >= 2 && at(0) > 200 && at(94.2) >= 10);
  check("what is kept is inside", axis(scores, "score", 200, 10, 35, [60]).at(60) <= 200);
}

// A frame that is too narrow says that it scrolls; labels are never broken.
function tables() {
  const frame = one("#scores .beside .frame");
  const scroll = () => frame.dispatchEvent(new Event("scroll"));
  frame.style.width = "90px";
  scroll();
  check("a hint that it scrolls", frame.matches(".scrolls.more"));
  frame.scrollLeft = 10_000;
  scroll();
  check("nothing more on the right", frame.matches(".scrolls:not(.more)"));
  frame.style.width = "";
  scroll();
  check("labels on one line", all("tbody th").every(th => getComputedStyle(th).whiteSpace === "nowrap"));
}

(async () => {
  try {
    await soon();
    sections();
    await hostileText();
    await switches();
    await values();
    ticksNearTheScores();
    tables();
    comparisons();
    shapes();
    settings();
    themes();
    check("fits the width", document.documentElement.scrollWidth <= innerWidth);
    check("no request", performance.getEntriesByType("resource").every(e => e.name.startsWith("data:")));
  } catch (error) {
    problems.push(String(error));
  }
  parent.postMessage(problems.length ? `wrong: ${problems.join("; ")}` : "all right", "*");
})();
