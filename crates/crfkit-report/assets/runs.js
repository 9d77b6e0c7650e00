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

function resultsSection({ runs }) {
  const rows = runs.map((run, index) => {
    const [last, best] = [lastStep(run), bestEval(run)];
    return [
      el("th", { scope: "row", class: "name" }, swatch(index), " ", run.name),
      run.start?.settings.optimizer ?? MISSING,
      number(last?.passes, 4), last ? last.seconds.toFixed(2) : MISSING, objective(last?.objective),
      percent(best?.f1), percent(best?.accuracy),
      number(run.stop?.active_features ?? run.start?.features), size(run.stop?.model_bytes), el("td", { class: "wide" }, stateOf(run)),
    ];
  });
  const head = ["run", "method", "passes", "seconds", "objective", "best F1", "accuracy", "weights", "file", "ended"];
  return [
    table(head, rows, { caption: "Results of the runs" }),
    runs.some(run => run.evals.length) ? note("F1 and accuracy in per cent, on the development data.") : null,
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

  const lowest = Math.min(...runs.flatMap(run => run.progress.map(p => p.objective ?? Infinity)));
  const excess = chosen.objective === "excess";
  const charts = [chart(
    excess ? `objective above the lowest, ${objective(lowest)}` : "objective",
    { scale: chosen.objective === "linear" ? "linear" : "log", format: objective },
    run => run.progress,
    p => p.objective == null ? null : excess ? p.objective - lowest : p.objective)];
  if (runs.some(run => run.evals.length)) {
    charts.push(
      chart("F1, per cent", { scale: "score", format: percent }, evals, e => e.f1),
      chart("token error, per cent", { scale: "log", format: percent }, evals, e => e.accuracy == null ? null : 100 - e.accuracy));
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
    return { cells: [title, ...texts], class: new Set(texts).size > 1 ? "differs" : null };
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
