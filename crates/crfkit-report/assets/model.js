// What a model has learned.

const weight = x => x == null ? "" : x.toFixed(2).replace("-", "−");

function transitionsSection({ model }) {
  const begins = model.transitions.some(t => t.previous == null), ends = model.transitions.some(t => t.label == null);
  const lines = [...(begins ? [null] : []), ...model.labels], columns = [...model.labels, ...(ends ? [null] : [])];
  const key = (previous, label) => JSON.stringify([previous, label]);
  const found = new Map(model.transitions.map(t => [key(t.previous, t.label), t.weight]));
  const largest = Math.max(...model.transitions.map(t => Math.abs(t.weight)));
  const rows = lines.map(previous => [previous ?? "begin", ...columns.map(label => {
    const w = found.get(key(previous, label));
    return el("td", {
      class: w < 0 ? "minus" : null, "--share": w == null ? 0 : Math.abs(w) / largest,
      title: `${previous ?? "begin"} → ${label ?? "end"}: ${w == null ? "no weight" : weight(w)}`,
    }, weight(w));
  })]);
  return [
    ofModel(model),
    note("Weight of the label in the column after the label in the row; blue is positive, orange is negative, empty cells have no weight."
      + someOf(model)),
    table(["before ↓ after →", ...columns.map(labelHead)], rows, { ...matrix(rows), caption: "Transition weights" }),
  ];
}

function featuresSection({ model }) {
  const card = ({ of, features }) => {
    const largest = Math.max(...features.map(f => Math.abs(f.weight)));
    const rows = features.map(f => [
      el("td", {}, f.observation + (f.labels.length > 1 || !f.observation ? `  (${f.labels.join(" → ") || "labels as a whole"})` : "")),
      el("td", { class: `number bar ${f.weight < 0 ? "minus" : ""}`, "--share": Math.abs(f.weight) / largest }, weight(f.weight)),
    ]);
    return el("div", {}, el("h3", {}, of),
      features.length ? table(["observation", "weight"], rows, { caption: `Heaviest features of ${of}` }) : note("none"));
  };
  return [
    ofModel(model),
    note("Largest by absolute value; blue speaks for the label, orange against it." + someOf(model)),
    el("div", { class: "cards" }, ...model.features.map(card)),
  ];
}

const ofModel = ({ name }) => name ? note(`Model: ${name}`) : null;
// A matrix whose columns are all as wide as the widest of its numbers.
const matrix = rows => ({
  class: "matrix", "--digits": Math.max(...rows.flatMap(row => row.slice(1).map(cell => cell.textContent.length))),
});
const someOf = ({ labels, all_labels: all }) =>
  labels.length < all ? ` Of ${all} labels the ${labels.length} that matter most here are shown.` : "";
const labelHead = label => el("th", { scope: "col", class: "label" }, label ?? "end");
