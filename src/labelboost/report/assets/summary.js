// Measures of quality, facts about data and model, and the tables of labels and features.

const LOSSES = {
  example_logistic: "example-wise logistic loss (aims at whole label sets)",
  label_logistic: "label-wise logistic loss (aims at single labels)",
  labelset_softmax: "softmax over the label sets seen in training (aims at whole label sets)",
};
const DECODINGS = {
  known: "the best of the label sets seen in training",
  sign: "all labels with a positive score",
};

function drawSummary() {
  const { data, model } = report;
  byId("title").textContent = report.title;
  const units = model.unit === "rules" ? "" : ` in ${whole(model.stages)} ${model.unit}`;
  byId("subtitle").textContent = `${whole(ruleBase.count)} ${ruleBase.count === 1 ? "rule" : "rules"}${units}, `
    + `measured on ${whole(data.examples)} ${data.examples === 1 ? "example" : "examples"} with ${whole(nLabels)} ${nLabels === 1 ? "label" : "labels"}`;
  if (data.training) {
    byId("notices").append(element("p", { class: "notice" },
      "Every rule covers exactly as many examples here as it did in training, so these are most likely the training data. Measured on them, a model looks better than it is."));
  }
  byId("measures").append(...report.measures.map(drawMeasure));
  byId("baseline-note").textContent = "Baseline: what one gets by always predicting the most frequent label set of these data (and, for ranks and probabilities, the frequencies of the labels).";
  const known = data.unseen === null ? [] : [["examples whose label set training never saw",
    `${whole(data.unseen)} (${percent(data.unseen / data.examples)})`]];
  byId("facts").append(
    facts("Data", [["name", named(data.name)], ["examples", whole(data.examples)],
      ["features", whole(data.features)], ["labels", whole(data.labels)],
      ["labels per example", decimal(data.cardinality, 2)], ["distinct label sets", whole(data.sets)], ...known]),
    facts("Model", [["kind", model.estimator], ["trained on", `${whole(model.trained)} examples`],
      ["loss", LOSSES[model.loss]], ["predicts", DECODINGS[model.decoding]],
      [model.unit, whole(model.stages)],
      ["features used", whole(featureNames.length)],
      ...(model.sets === null ? [] : [["label sets seen in training", whole(model.sets)]])]));
  byId("parameters").append(definitions(Object.entries(model.parameters)));
}

function drawMeasure(measure) {
  return element("div", { class: "tile" },
    element("h3", {}, measure.title),
    element("p", { class: "figure" }, decimal(measure.value), " ",
      element("span", { class: "muted small" }, measure.lower ? "\u2193 lower is better" : "\u2191 higher is better")),
    element("p", { class: "small" }, `Baseline: ${decimal(measure.baseline)}`),
    element("p", { class: "muted small" }, measure.meaning));
}

function facts(title, entries) {
  return element("div", {}, element("h3", {}, title), definitions(entries));
}

function definitions(entries) {
  return element("dl", {}, entries.map(([term, value]) =>
    element("div", {}, element("dt", {}, term), element("dd", {}, value))));
}

function drawLabels() {
  const { true: applies, predicted, hits, raised, lowered } = report.labels;
  const ratio = (part, total) => (total > 0 ? part / total : NaN);
  const rows = labelNames.map((name, label) => ({
    label, name,
    applies: applies[label], predicted: predicted[label],
    precision: ratio(hits[label], predicted[label]),
    recall: ratio(hits[label], applies[label]),
    f1: ratio(2 * hits[label], applies[label] + predicted[label]),
    raised: raised[label], lowered: lowered[label],
  }));
  const measured = (key, title) => ({
    title, numeric: true, key: (row) => row[key],
    cell: (row) => (Number.isNaN(row[key]) ? "\u2013" : [decimal(row[key]), bar(row[key])]),
  });
  const counted = (key, title, share) => ({
    title, numeric: true, key: (row) => row[key],
    cell: (row) => [whole(row[key]), share ? element("span", { class: "muted" }, ` (${percent(row[key] / report.data.examples)})`) : null],
  });
  const table = new SortedTable("Labels", [
    { title: "Label", key: (row) => row.name, cell: (row) => jump(labelName(row.label), () => showRules({ label: row.label })) },
    counted("applies", "Frequency", true), counted("predicted", "Predicted"),
    measured("precision", "Precision"), measured("recall", "Recall"), measured("f1", "F1"),
    counted("raised", "Rules that raise it"), counted("lowered", "Rules that lower it"),
  ], { sort: 1 });
  searchable(table, rows, "label-search");
  byId("label-table").append(table.node);
}

function drawFeatures() {
  byId("importance-note").textContent = report.importance.definition;
  const importance = report.importance.values;
  const counts = new Uint32Array(featureNames.length);
  for (let rule = 0; rule < ruleBase.count; rule++) {
    for (const { feature } of ruleBase.parts(rule)) counts[feature]++;
  }
  const largest = Math.max(...importance, 0);
  const table = new SortedTable("Features", [
    { title: "Feature", key: (row) => row.name, cell: (row) => jump(featureName(row.feature), () => showRules({ feature: row.feature })) },
    { title: "Importance", numeric: true, key: (row) => row.importance,
      cell: (row) => [`${(100 * row.importance).toFixed(2)} %`, bar(largest > 0 ? row.importance / largest : 0)] },
    { title: "Rules", numeric: true, key: (row) => row.count, cell: (row) => whole(row.count) },
  ], { sort: 1 });
  const rows = featureNames.map((name, feature) => ({ name, feature, importance: importance[feature], count: counts[feature] }));
  searchable(table, rows, "feature-search");
  byId("feature-table").append(table.node);
  if (rows.length === 0) byId("importance-note").textContent = "No rule has a condition, so no feature matters.";
}

function jump(content, action) {
  return element("button", { type: "button", class: "link", onclick: action }, content);
}

function searchable(table, rows, id) {
  const input = byId(id);
  const filter = () => {
    const wanted = input.value.trim().toLowerCase();
    table.fill(rows.filter((row) => row.name.toLowerCase().includes(wanted)));
  };
  input.addEventListener("input", debounced(filter));
  filter();
}
