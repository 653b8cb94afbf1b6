// Single examples: true and predicted labels, the rules that fired, and what each of them added.

function readExamples() {
  const packed = report.examples;
  const likely = unpack(packed.likely);
  const rows = unpack(packed.rows);
  const chances = unpack(packed.chances);
  const probabilities = unpack(packed.probabilities);
  const fired = new Bits(packed.fired, ruleBase.count);
  const [truth, predicted] = [unpack(packed.true), unpack(packed.predicted)];
  const top = rows.length > 0 ? likely.length / rows.length : 0;
  const seen = packed.seen && unpack(packed.seen);
  return {
    count: rows.length,
    rows,
    sets: new Bits(packed.sets, nLabels),
    truth,
    predicted,
    fired: (example) => fired.members(example),
    probability: (example, label) => probabilities[example * nLabels + label] / 65535,
    /** Label sets with the probabilities that the model gives them. */
    likely: (example) => Array.from({ length: top }, (_, index) => ({
      set: likely[example * top + index], chance: chances[example * top + index] })),
    wasSeen: (set) => (seen ? seen[set] === 1 : null),
    value: valueReader(packed),
  };
}

function valueReader({ values, categories }) {
  const text = (feature, value) => categories[feature]?.[value]
    ?? (Number.isNaN(value) ? "missing" : String(Number.isInteger(value) ? value : Number(value.toPrecision(5))));
  if (values.dense) {
    const dense = unpack(values.dense);
    return (example, feature) => text(feature, dense[example * featureNames.length + feature]);
  }
  const [ends, features, stored] = [unpack(values.ends), unpack(values.features), unpack(values.stored)];
  return (example, feature) => {
    const position = features.subarray(ends[example], ends[example + 1]).indexOf(feature);
    return text(feature, position < 0 ? 0 : stored[ends[example] + position]);
  };
}

/** The sum of the heads of all rules that fired. */
function scoresOf(fired) {
  const scores = new Float64Array(nLabels);
  for (const rule of fired) {
    const head = ruleBase.head(rule);
    for (let label = 0; label < nLabels; label++) scores[label] += head[label];
  }
  return scores;
}

/** The loss of a label set at some scores; null for the softmax, which needs all sets. */
function lossOf(scores, has) {
  const signs = Array.from(scores, (score, label) => (has(label) ? -score : score));
  const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
  if (report.model.loss === "label_logistic") return signs.reduce((sum, x) => sum + softplus(x), 0);
  if (report.model.loss !== "example_logistic") return null;
  const largest = Math.max(0, ...signs);
  return largest + Math.log(signs.reduce((sum, x) => sum + Math.exp(x - largest), Math.exp(-largest)));
}

class ExampleExplorer {
  constructor(place) {
    this.all = readExamples();
    this.label = null; // chosen by the user; null: whatever is most telling
    this.list = element("div", { id: "example-list", class: "example-list", role: "listbox", tabindex: "0", "aria-label": "Examples",
      onkeydown: (event) => this.press(event) });
    this.detail = element("div", { id: "example-detail", class: "example-detail" });
    this.outcome = element("select", { id: "example-outcome" }, ["all", "right", "wrong"].map((value) =>
      element("option", { value }, { all: "all", right: "exactly right", wrong: "not exactly right" }[value])));
    this.filterLabel = element("select", { id: "example-label" });
    options(this.filterLabel, labelNames.map((name, label) => [label, name]), "any label");
    this.number = element("input", { id: "example-number", type: "number", min: "1", inputmode: "numeric" });
    this.status = element("p", { class: "small", role: "status" });
    for (const input of [this.outcome, this.filterLabel, this.number]) input.addEventListener("input", debounced(() => this.filter()));
    const all = this.all.count === report.data.examples;
    place.append(
      element("p", { class: "muted" }, `${all ? "All" : `A random sample of ${whole(this.all.count)} of`} ${whole(report.data.examples)} examples, by their position in the data, counted from 1.`),
      element("div", { class: "filters" }, element("label", {}, "Predicted set", this.outcome),
        element("label", {}, "True or predicted label", this.filterLabel), element("label", { class: "narrow" }, "Position", this.number)),
      this.status, element("div", { class: "explorer" }, this.list, this.detail));
    this.filter();
  }

  isRight(example) {
    return this.all.truth[example] === this.all.predicted[example];
  }

  filter() {
    const label = this.filterLabel.value === "" ? null : Number(this.filterLabel.value);
    const { sets, truth, predicted, rows } = this.all;
    this.found = Array.from(rows.keys()).filter((example) =>
      (this.outcome.value === "all" || this.isRight(example) === (this.outcome.value === "right"))
      && (label === null || sets.has(truth[example], label) || sets.has(predicted[example], label))
      && (this.number.value === "" || String(rows[example] + 1).startsWith(this.number.value)));
    this.status.textContent = `${whole(this.found.length)} of ${whole(this.all.count)} examples`;
    this.list.replaceChildren(...this.found.map((example) => this.option(example)));
    if (this.found.length > 0) this.choose(this.found.includes(this.chosen) ? this.chosen : this.found[0], false);
    else this.detail.replaceChildren(element("p", { class: "muted" }, "No example is left; change the filters."));
  }

  option(example) {
    const right = this.isRight(example);
    const names = this.all.sets.members(this.all.truth[example]).map((label) => labelNames[label]);
    return element("div", { role: "option", id: `example-${example}`, "aria-selected": "false", onclick: () => this.choose(example) },
      element("span", { class: right ? "mark right" : "mark wrong", "aria-hidden": "true" }, right ? "\u2713" : "\u2717"),
      element("span", { class: "hidden" }, right ? "right:" : "wrong:"),
      element("span", { class: "position" }, whole(this.all.rows[example] + 1)),
      element("bdi", { class: "muted ellipsis" }, names.length > 0 ? names.join(", ") : "no label"));
  }

  press(event) {
    const at = this.found.indexOf(this.chosen);
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: this.found.length - 1 }[event.key];
    if (target === undefined || this.found.length === 0) return;
    event.preventDefault();
    this.choose(this.found[Math.max(0, Math.min(this.found.length - 1, target))]);
  }

  choose(example, scroll = true) {
    byId(`example-${this.chosen}`)?.setAttribute("aria-selected", "false");
    this.chosen = example;
    const option = byId(`example-${example}`) ?? this.list.querySelector(`#example-${example}`);
    option?.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", `example-${example}`);
    if (scroll && option) {
      // Not scrollIntoView, which would move the page as well.
      if (option.offsetTop < this.list.scrollTop) this.list.scrollTop = option.offsetTop;
      const below = option.offsetTop + option.offsetHeight - this.list.clientHeight;
      if (below > this.list.scrollTop) this.list.scrollTop = below;
    }
    this.draw();
  }

  draw() {
    const { sets, truth, predicted, rows } = this.all;
    const [right, guess] = [truth[this.chosen], predicted[this.chosen]];
    const fired = this.all.fired(this.chosen);
    const scores = scoresOf(fired);
    const wrong = labelNames.filter((_, label) => sets.has(right, label) !== sets.has(guess, label)).length;
    const verdict = wrong === 0 ? "predicted exactly" : `${wrong} of ${nLabels} ${nLabels === 1 ? "label" : "labels"} wrong`;
    this.detail.replaceChildren(
      element("h3", {}, `Example ${whole(rows[this.chosen] + 1)} `,
        element("span", { class: wrong === 0 ? "badge right" : "badge wrong" }, verdict)),
      this.setLine("True labels", right, guess, "missed"), this.setLine("Predicted labels", guess, right, "wrong"),
      element("h4", {}, "How the label set was chosen"), this.decoding(scores),
      element("h4", {}, "Scores of the labels"), this.scoreTable(scores, right, guess),
      this.contributions(fired, scores, right, guess));
  }

  setLine(title, set, other, otherwise) {
    const labels = this.all.sets.members(set);
    const line = element("p", {}, element("strong", {}, `${title}: `));
    if (labels.length === 0) line.append(element("span", { class: "muted" }, "none"));
    for (const label of labels) {
      const both = this.all.sets.has(other, label);
      line.append(element("span", { class: both ? "chip right" : "chip wrong" },
        element("span", { "aria-hidden": "true" }, both ? "\u2713 " : "\u2717 "), labelName(label),
        both ? null : element("span", { class: "small" }, ` ${otherwise}`)), " ");
    }
    return line;
  }

  decoding(scores) {
    const { sets, truth, predicted } = this.all;
    const [right, guess] = [truth[this.chosen], predicted[this.chosen]];
    const likely = this.all.likely(this.chosen);
    for (const set of [guess, right]) if (!likely.some((row) => row.set === set)) likely.push({ set, chance: null });
    const losses = new Map(likely.map(({ set }) => [set, lossOf(scores, (label) => sets.has(set, label))]));
    const known = report.model.loss !== "label_logistic";
    for (const row of likely) {
      if (row.chance !== null || losses.get(row.set) === null || (known && !this.all.wasSeen(row.set))) continue;
      row.chance = known ? likely[0].chance * Math.exp(losses.get(likely[0].set) - losses.get(row.set)) : Math.exp(-losses.get(row.set));
    }
    const withLoss = report.model.loss !== "labelset_softmax";
    const rows = likely.map(({ set, chance }) => {
      const notes = [set === guess ? "predicted" : null, set === right ? "true" : null,
        this.all.wasSeen(set) === false ? "never seen in training" : null].filter((note) => note !== null);
      const labels = sets.members(set).flatMap((label, index) => [index > 0 ? ", " : null, labelName(label)]);
      return element("tr", { class: set === guess ? "chosen" : null },
        element("th", { scope: "row" }, labels.length > 0 ? labels : "no label", notes.map((note) => [" ", element("span", { class: "note" }, note)]).flat()),
        element("td", { class: "numeric" }, chance === null ? "\u2013" : percent(chance)),
        withLoss ? element("td", { class: "numeric" }, decimal(losses.get(set))) : null);
    });
    const how = known
      ? "Of the label sets seen in training, these fit the scores best. A set\u2019s probability is its share among all of them."
      : "The likeliest label sets if every label is decided on its own.";
    const sign = report.model.decoding === "sign" ? " Predicted are the labels with a positive score." : " Predicted is the best set that training has seen.";
    return element("div", {}, element("p", { class: "muted small" }, how + sign),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Likely label sets" }, element("table", { id: "example-sets" },
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Label set"), element("th", { scope: "col", class: "numeric" }, "Probability"),
          withLoss ? element("th", { scope: "col", class: "numeric" }, "Loss") : null)), element("tbody", {}, rows))));
  }

  scoreTable(scores, right, guess) {
    const { sets } = this.all;
    const largest = Math.max(...scores.map(Math.abs));
    const yes = (set, label) => (sets.has(set, label) ? "yes" : "");
    const table = new SortedTable("Scores of the labels", [
      { title: "Label", key: (label) => labelNames[label], cell: (label) => jump(labelName(label), () => this.chooseLabel(label)) },
      { title: "Score", numeric: true, key: (label) => scores[label], cell: (label) => [signed(scores[label]), divergingBar(scores[label], largest)] },
      { title: "Probability", numeric: true, key: (label) => this.all.probability(this.chosen, label), cell: (label) => percent(this.all.probability(this.chosen, label)) },
      { title: "True", key: (label) => Number(sets.has(right, label)), first: "descending", cell: (label) => yes(right, label) },
      { title: "Predicted", key: (label) => Number(sets.has(guess, label)), first: "descending", cell: (label) => yes(guess, label) },
    ], { sort: 1, size: 8 });
    table.fill(labelNames.map((_, label) => label));
    return table.node;
  }

  /** The label whose score is explained: the user's choice, or one that went wrong, or the highest. */
  explained(scores, right, guess) {
    if (this.label !== null) return this.label;
    const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a]);
    return order.find((label) => this.all.sets.has(right, label) !== this.all.sets.has(guess, label)) ?? order[0];
  }

  chooseLabel(label) {
    this.label = label;
    this.draw();
    byId("example-explained").focus();
  }

  contributions(fired, scores, right, guess) {
    const label = this.explained(scores, right, guess);
    const select = element("select", { id: "example-explained" });
    options(select, labelNames.map((name, index) => [index, name]), "all labels");
    select.value = label < 0 ? "" : label;
    select.addEventListener("change", () => this.chooseLabel(select.value === "" ? -1 : Number(select.value)));
    const adds = (rule) => (label < 0 ? effectOf[rule] : ruleBase.head(rule)[label]);
    const rules = fired.filter((rule) => adds(rule) !== 0);
    const largest = Math.max(...rules.map((rule) => Math.abs(adds(rule))), 0);
    const table = new SortedTable("Rules that fired", [
      { title: "Rule", key: (rule) => rule, numeric: true, first: "ascending",
        cell: (rule) => jump(rule === 0 ? "default" : String(rule), () => showRules({ rule })) },
      { title: "Conditions, with the values of this example", cell: (rule) => conditionsOf(rule, 5, (feature) => this.all.value(this.chosen, feature)) },
      label < 0
        ? { title: "Scores", key: adds, first: "descending", cell: (rule) => headOf(rule, 4) }
        : { title: "Adds", numeric: true, key: (rule) => Math.abs(adds(rule)), cell: (rule) => [signed(adds(rule)), divergingBar(adds(rule), largest)] },
    ], { sort: 2, size: 10, stacked: true });
    table.fill(rules);
    const sum = label < 0
      ? `${whole(rules.length)} rules fired; the scores above are the sums of what they add.`
      : `${whole(rules.length)} rules that fired move this label; they add up to its score, ${signed(scores[label])}.`;
    return element("div", {}, element("h4", {}, "What the fired rules add"),
      element("div", { class: "filters" }, element("label", {}, "to the score of", select)),
      element("p", { id: "example-sum", class: "small" }, sum), table.node);
  }
}

function drawExamples() {
  const place = byId("example-content");
  if (report.examples === null) place.append(element("p", {}, "This page was written without examples."));
  else new ExampleExplorer(place);
}
