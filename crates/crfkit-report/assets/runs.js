// The runs: their results, learning curves and settings.

// What the reader has chosen; it outlives every redrawing.
const chosen = { x: "passes", objective: "log", hidden: new Set(), onlyDifferences: false };

const ACROSS = {
  passes: { title: "passes", scale: "log", of: point => point.passes },
  seconds: { title: "seconds", scale: "linear", of: point => point.seconds },
  // A pass computes the gradient of every sequence once.
  gradients: { title: "gradient evaluations (of one sequence)", scale: "log", of: (point, run) => point.passes * run.start?.sequences },
};

const bestEval = run => run.evals.filter(e => e.best).at(-1) ?? run.evals.at(-1);
const lastStep = run => run.stop ?? run.progress.at(-1);

const hundredths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const objective = x => Math.abs(x) >= 100 && Number.isFinite(x) ? hundredths.format(x) : number(x);

function stateOf(run) {
  if (!run.start) return "waiting for the first line of its log";
  return run.stop ? run.stop.reason : page.live ? "running" : "no end in its log";
}

// What decides which problem a run solves. Objectives of different problems cannot be compared.
const PROBLEM = {
  settings: ["objective", "sigma", "sigma_pairs", "sigma_of", "prior_mean", "l1", "pieces", "features", "min_count", "boundaries", "inference",
    "preset", "template", "template_text", "label_column", "columns"],
  facts: ["sequences", "tokens", "labels", "observations"],
};
const WORDS = { sigma: "σ", sigma_pairs: "σ of pairs", sigma_of: "σ of types", l1: "the L1 penalty", template_text: "the template" };
const inSettings = name => run => JSON.stringify(run.start?.settings[name] ?? null);
const inFacts = name => run => JSON.stringify(run.start?.[name] ?? null);
const problemOf = run => [...PROBLEM.settings.map(inSettings), ...PROBLEM.facts.map(inFacts)].map(of => of(run)).join();

// In which respects the runs solve different problems, in words.
function differentProblems(runs) {
  const begun = runs.filter(run => run.start);
  const differ = of => new Set(begun.map(of)).size > 1;
  const names = [
    ...PROBLEM.settings.filter(name => differ(inSettings(name))),
    ...PROBLEM.facts.filter(name => differ(inFacts(name))),
  ];
  return [...new Set(names.map(name => WORDS[name] ?? name.replaceAll("_", " ")))];
}

// The run with the best score on the development data: by F1, or by accuracy where there is none; by data of one name only.
function bestRun(runs) {
  const scored = runs.map(bestEval);
  if (runs.length < 2 || scored.some(e => !e || e.data !== scored[0].data)) return null;
  const score = e => scored.every(e => e.f1 != null) ? e.f1 : e.accuracy ?? -1;
  return scored.reduce((best, e, i) => score(e) > score(scored[best]) ? i : best, 0);
}

function resultsSection({ runs }) {
  const first = bestRun(runs);
  const rows = runs.map((run, index) => {
    const [last, best] = [lastStep(run), bestEval(run)];
    const mark = index === first ? el("span", { class: "badge" }, "best") : null;
    return { class: mark ? "best" : null, cells: [
      el("th", { scope: "row", class: "name", title: run.name }, swatch(index), " ", run.name, mark && " ", mark),
      percent(best?.f1), percent(best?.accuracy), objective(last?.objective),
      number(last?.passes, 4), last ? last.seconds.toFixed(2) : MISSING,
      run.start?.settings.optimizer ?? MISSING,
      number(run.stop?.active_features ?? run.start?.features), size(run.stop?.model_bytes),
      el("td", { class: "wide" }, stateOf(run)), run.start?.model ?? MISSING,
    ] };
  });
  const head = ["run", "best F1", "accuracy", "objective", "passes", "seconds", "method", "weights", "file size", "ended", "model"];
  const different = differentProblems(runs);
  return [
    table(head, rows, { caption: "Results of the runs" }),
    runs.some(run => run.evals.length) ? note("F1 and accuracy in per cent, on the development data"
      + (first == null ? "." : "; the best run is marked.")) : null,
    different.length ? note(`The objectives cannot be compared: the runs differ in ${different.join(", ")}.`) : null,
  ];
}

function size(bytes) {
  if (bytes == null) return MISSING;
  const [unit, name] = [[1e6, "MB"], [1e3, "kB"], [1, "B"]].find(([unit]) => bytes >= unit) ?? [1, "B"];
  return `${number(bytes / unit, 3)} ${name}`;
}

function curvesSection({ runs }) {
  const charts = el("div", { class: "charts" });
  const redraw = () => charts.replaceChildren(...curves(runs));
  const change = name => value => { chosen[name] = value; redraw(); };
  const switches = runs.map((run, index) => el("label", {},
    el("input", {
      type: "checkbox", checked: !chosen.hidden.has(run.name),
      onchange: event => { chosen.hidden[event.target.checked ? "delete" : "add"](run.name); redraw(); },
    }), swatch(index), run.name));
  redraw();
  return [
    el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Runs"), ...switches),
      choice("Against", [["passes", "passes (log)"], ["seconds", "seconds"], ["gradients", "gradient evaluations (log)"]],
        chosen.x, change("x")),
      choice("Objective", [["log", "log"], ["linear", "linear"], ["excess", "above the lowest (log)"]],
        chosen.objective, change("objective"))),
    charts,
    runs.some(run => run.evals.length) ? null : note("For curves of F1 and error, train with --dev FILE."),
  ];
}

function curves(runs) {
  const x = ACROSS[chosen.x];
  const shown = runs.map((run, index) => ({ run, index })).filter(({ run }) => !chosen.hidden.has(run.name));
  const lines = (points, value) => shown.map(({ run, index }) =>
    ({ index, name: run.name, points: points(run).map(point => [x.of(point, run), value(point)]) }));
  // Evaluations on one data set only: those of another are another curve.
  const evals = run => run.evals.filter(e => e.data === run.evals[0].data);
  const chart = (title, y, points, value) => lineChart({ title, x, y, series: lines(points, value) });

  // The lowest of the runs that solve the same problem.
  const lowest = new Map();
  for (const run of runs) {
    const all = [...run.progress, ...(run.stop ? [run.stop] : [])].map(p => p.objective ?? Infinity);
    lowest.set(problemOf(run), Math.min(lowest.get(problemOf(run)) ?? Infinity, ...all));
  }
  const excess = chosen.objective === "excess";
  const steps = run => run.progress.map(p => ({ ...p, lowest: lowest.get(problemOf(run)) }));
  const single = lowest.size === 1 ? `, ${objective([...lowest.values()][0])}` : " of the same problem";
  const different = differentProblems(runs);
  const charts = [chart(
    (excess ? `objective above the lowest${single}` : "objective") + (different.length ? ` (runs differ in ${different.join(", ")})` : ""),
    { scale: chosen.objective === "linear" ? "linear" : "log", format: objective },
    steps,
    p => p.objective == null ? null : excess ? p.objective - p.lowest : p.objective)];
  if (runs.some(run => run.evals.length)) {
    charts.push(
      chart("F1, per cent (the axis is logarithmic in 100 − F1)", { scale: "score", format: percent }, evals, e => e.f1),
      chart("token error, per cent (logarithmic axis)", { scale: "log", format: percent }, evals, e => e.accuracy == null ? null : 100 - e.accuracy));
  }
  return charts;
}

// "features" is a setting, too: which ones; the number is that of the weights.
const FACTS = { version: "crfkit", vector_unit: "vector unit", features: "weights" };

function settingsSection({ runs }) {
  const settings = [...new Set(runs.flatMap(run => Object.keys(run.start?.settings ?? {})))];
  const facts = [...new Set(runs.flatMap(run => Object.keys(run.start ?? {})))]
    .filter(name => !["settings", "format", "resumed"].includes(name));
  const row = (name, title, value) => {
    const values = runs.map(run => run.start ? value(run.start)[name] : undefined);
    const texts = values.map(v => v === undefined ? MISSING : v === null ? "none" : typeof v === "object" ? JSON.stringify(v) : String(v));
    // Templates are long: their text is there for whoever opens it.
    const cells = texts.map(text => text.includes("\n")
      ? el("td", {}, folded(`${text.trim().split("\n").length} lines`, () => el("pre", {}, text))) : text);
    return { cells: [title, ...cells], class: new Set(texts).size > 1 ? "differs" : null };
  };
  const rows = [
    ...settings.map(name => row(name, name.replaceAll("_", " "), start => start.settings)),
    ...facts.map(name => row(name, FACTS[name] ?? name, start => start)),
  ];
  const place = el("div");
  const draw = () => {
    const kept = rows.filter(row => !chosen.onlyDifferences || row.class);
    place.replaceChildren(table(["setting", ...runs.map(run => run.name)], kept, { class: "left", caption: "Settings of the runs" }));
  };
  draw();
  if (runs.length < 2) return [place];
  const only = el("input", {
    type: "checkbox", checked: chosen.onlyDifferences,
    onchange: event => { chosen.onlyDifferences = event.target.checked; draw(); },
  });
  return [
    el("div", { class: "controls" }, el("fieldset", {}, el("label", {}, only, "differences only"))),
    place,
    note("Rows that differ between the runs are marked ≠."),
  ];
}
