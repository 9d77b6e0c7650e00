// Puts the sections on the page, and keeps a live page up to date.

const SECTIONS = [
  { id: "results", title: "Runs", has: page => page.runs.length, make: resultsSection },
  { id: "curves", title: "Learning curves", has: page => page.runs.length, make: curvesSection },
  { id: "scores", title: "Scores", has: page => page.evaluations.length, make: scoresSection },
  { id: "confusion", title: "Confusion", has: page => page.evaluations.length, make: confusionSection },
  { id: "samples", title: "Samples", has: page => page.evaluations.some(evaluation => evaluation.samples.length), make: samplesSection },
  { id: "images", title: "Images", has: page => page.images.length, make: imagesSection },
  { id: "transitions", title: "Transitions", has: page => page.model?.transitions.length, make: transitionsSection },
  { id: "features", title: "Heaviest features", has: page => page.model, make: featuresSection },
  { id: "settings", title: "Settings", has: page => page.runs.length, make: settingsSection },
];
const POLL_MILLISECONDS = 1000;

let dataText = document.getElementById("data").textContent;
let page = JSON.parse(dataText);

function render() {
  const there = SECTIONS.filter(section => section.has(page));
  document.getElementById("contents").replaceChildren(...there.map(({ id, title }) => el("a", { href: `#${id}` }, title)));
  document.getElementById("sections").replaceChildren(...there.map(({ id, title, make }) =>
    el("section", { id, "aria-labelledby": `${id}-title` },
      el("h2", { id: `${id}-title` }, title), ...make(page).filter(part => part != null))));
  document.title = `crfkit: ${page.runs.map(run => run.name).join(", ") || page.model?.name || "report"}`;
}

function say(text) {
  const status = document.getElementById("status");
  if (status.textContent !== text) status.textContent = text;
  status.hidden = !text;
}

async function poll() {
  try {
    const answer = await fetch("data", { cache: "no-store" });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    if (text !== dataText) {
      // Values must not vanish under the eyes of whoever reads them.
      if (document.querySelector(".plot:hover, .plot:focus, .tip:not(:empty)")) return say("Live: paused while you read a chart.");
      dataText = text;
      page = JSON.parse(text);
      redrawInPlace();
    }
    say(page.runs.every(run => run.stop) ? "Live: training has ended." : "Live: this page follows the training.");
  } catch (error) {
    say(`Not up to date: ${error.message}`);
  } finally {
    setTimeout(poll, POLL_MILLISECONDS);
  }
}

// Draws anew while somebody reads: what was open stays open, and the focus stays where it was.
function redrawInPlace() {
  const interactive = () => [...document.querySelectorAll("#sections :is(input, select, summary, [tabindex])")];
  const focus = interactive().indexOf(document.activeElement);
  const open = [...document.querySelectorAll("details")].map(details => details.open);
  render();
  [...document.querySelectorAll("details")].forEach((details, i) => { details.open = open[i] ?? false; });
  interactive()[focus]?.focus({ preventScroll: true });
}

document.getElementById("theme").addEventListener("change", event => {
  document.documentElement.dataset.theme = event.target.value;
});
render();
if (page.live) poll();
