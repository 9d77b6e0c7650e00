// How good a model is, and where it goes wrong.

// One evaluation after the other, each under its name where there are several.
const ofEach = make => ({ evaluations, model }) => [model ? ofModel(model) : null, ...evaluations.flatMap(evaluation =>
  [evaluations.length > 1 ? el("h3", {}, evaluation.name) : null, ...make(evaluation)])];

const scoresSection = ofEach(evaluation => {
  const s = evaluation.scores;
  const scores = [
    ...(evaluation.chunked ? [["F1", s.f1], ["precision", s.precision], ["recall", s.recall]] : []),
    ["token accuracy", s.accuracy], ["sequence accuracy", s.sequence_accuracy],
    ["accuracy on known words", s.known_accuracy], ["on unknown words", s.unknown_accuracy],
  ].filter(([, score]) => score != null);
  const head = ["label", "F1", "precision", "recall", "gold", "predicted"];
  const share = x => el("td", { class: "number bar", "--share": x / 100 }, percent(x));
  const row = r => [r.name, share(r.f1), share(r.precision), share(r.recall), number(r.gold), number(r.predicted)];
  const counted = (caption, list) => el("div", {}, el("h3", {}, caption), table(head, list.map(row), { caption }));
  return [
    note(`${evaluation.name}: ${number(s.sequences)} sequences, ${number(s.tokens)} tokens; scores in per cent.`),
    table(scores.map(([name]) => name), [scores.map(([, score]) => el("td", { class: "number" }, percent(score)))], { caption: "Scores" }),
    el("div", { class: "beside" },
      evaluation.chunked ? counted("Chunks by type", evaluation.types) : null,
      counted("Tokens by label", evaluation.labels)),
  ];
});

const confusionSection = ofEach(({ confusion }) => {
  const { labels } = confusion;
  const counts = new Map(confusion.cells.map(([gold, predicted, tokens]) => [gold * labels.length + predicted, tokens]));
  const rows = labels.map((gold, i) => {
    const row = labels.map((_, j) => counts.get(i * labels.length + j) ?? 0);
    const all = row.reduce((a, b) => a + b, 0);
    return [gold, ...row.map((tokens, j) => el("td", {
      class: i === j ? "good" : "bad",
      // The root makes rare mistakes visible.
      "--share": Math.sqrt(tokens / Math.max(all, 1)),
      title: `gold ${gold}, predicted ${labels[j]}: ${tokens} of ${all}`,
    }, tokens ? number(tokens) : ""))];
  });
  return [
    note("Tokens by gold label (row) and predicted label (column); green is right, red is wrong." + someOf(confusion)),
    table(["gold ↓ predicted →", ...labels.map(labelHead)], rows, { ...matrix(rows), caption: "Confusion matrix" }),
  ];
});

const SAMPLES_IN_SIGHT = 12;

const samplesSection = ofEach(({ samples }) => {
  const isWrong = token => token.gold !== null && token.gold !== token.predicted;
  const word = token => {
    const wrong = isWrong(token);
    const title = `P(${token.predicted}) = ${token.p.toFixed(4)}` + (wrong ? `, P(${token.gold}) = ${token.p_gold.toFixed(4)}` : "");
    return el("li", { class: wrong ? "word wrong" : "word", title },
      el("span", { class: "text" }, token.text),
      el("span", { class: "mark", "--share": 1 - token.p }, `${token.predicted} ${Math.round(100 * token.p)}%`),
      wrong ? el("span", { class: "right" }, `${token.gold} ${Math.round(100 * token.p_gold)}%`) : null);
  };
  const why = (tokens, { text, gold, predicted, reason }) => folded(
    `${text}: ${predicted} beats ${reason.rival} by ${weight(reason.difference)} (gold: ${gold})`,
    () => table(["contribution", "of", "at", "labels", "label without it"], [
      ...reason.parts.map(part => [amount(part.amount), ...[part.what, at(tokens, part), part.labels, part.without].map(words)]),
      ...(reason.others ? [[amount(reason.rest), ...[`${number(reason.others)} more`, "", "", ""].map(words)]] : []),
    ], { caption: `Why ${text} has the label ${predicted}` }));
  const at = (tokens, part) => [...new Set(part.tokens.split("–"))].map(t => tokens[t]?.text ?? t).join(" ");
  const words = text => el("td", {}, text);
  const amount = x => el("td", { class: "number" }, weight(x));
  const sentence = sample => {
    const wrong = sample.tokens.filter(isWrong).length;
    const known = sample.tokens.some(t => t.gold !== null);
    const verdict = wrong ? `${wrong} wrong` : sample.mistake >= 0 ? "wrong further on" : known ? "all right" : "no gold label";
    return el("div", { class: "sentence" },
      note(`${sample.place}: ${verdict}`),
      el("ul", { class: "words" }, ...sample.tokens.map(word),
        sample.cut ? el("li", { class: "note" }, `… ${sample.cut} more tokens`) : null),
      ...sample.tokens.filter(token => token.reason).map(token => why(sample.tokens, token)));
  };
  const scale = el("span", { class: "scale", role: "img", "aria-label": "the less certain, the stronger the colour" });
  const [first, rest] = [samples.slice(0, SAMPLES_IN_SIGHT), samples.slice(SAMPLES_IN_SIGHT)];
  return [
    el("p", { class: "note" },
      "The worst mistakes come first: those that the model was most certain of. Below each word is its label, with the model's certainty: ",
      el("span", { class: "nowrap" }, "0 ", scale, " 100 %"),
      ". A wrong label has a red frame, and the gold label below it; tokens whose gold label is not known have none. The lines below a sequence say why wrong labels beat their runners-up: what each ",
      "observation and each label pair adds to the difference of the scores, and which label the word would have without it."),
    ...first.map(sentence),
    rest.length ? folded(`${rest.length} more`, () => el("div", {}, ...rest.map(sentence))) : null,
  ];
});

function imagesSection({ images }) {
  const kinds = { input: "input", truth: "truth", prediction: "prediction", marginals: "marginals" };
  return images.map(image => el("div", {}, el("h3", {}, image.name), el("div", { class: "pictures" },
    ...Object.entries(kinds).filter(([kind]) => image[kind]).map(([kind, words]) =>
      el("figure", {}, el("img", { src: image[kind], alt: `${image.name}: ${words}` }), el("figcaption", {}, words))))));
}
