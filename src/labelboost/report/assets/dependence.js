// Which labels the rules raise and lower together: a map, and the strongest pairs as a table.

const UNKNOWN_CORRELATION = -128;

function drawDependence() {
  const place = byId("dependence-content");
  const found = report.dependence;
  if (found === null) {
    place.append(element("p", {}, nLabels === 1
      ? "There is a single label."
      : "No rule moves two labels at once, so this model tells nothing about how labels depend on each other."));
    return;
  }
  const shown = found.labels.length < nLabels ? ` Shown are the ${found.labels.length} of ${nLabels} labels that move most together.` : "";
  const source = element("select", {}, element("option", { value: "heads" }, "what the rules do"),
    element("option", { value: "truth" }, "correlation in these data"));
  const readout = element("p", { class: "readout", "aria-live": "polite" });
  const frame = element("div", { class: "map" });
  const matrices = { heads: unpack(found.heads), truth: unpack(found.truth) };
  const map = new DependenceMap(found.labels, matrices, readout);
  place.append(
    element("p", { class: "muted" }, `Blue: rules that raise one label raise the other as well. Orange: they lower it. The number is the cosine of the scores that all rules give to the two labels, weighted by coverage: 1 for labels that always move together, \u22121 for opposites, 0 where there is no relation. Correlation in the data is there to compare with.${shown}`),
    element("div", { class: "filters" }, element("label", {}, "Show", source)), legend(), frame, readout,
    element("h3", {}, "Strongest pairs"), pairTable(found.pairs));
  const draw = () => {
    if (frame.clientWidth > 0) frame.replaceChildren(map.draw(frame.clientWidth, source.value));
  };
  source.addEventListener("change", draw);
  let width = 0;
  new ResizeObserver(() => {
    if (frame.clientWidth === width) return;
    width = frame.clientWidth;
    draw();
  }).observe(frame);
}

function legend() {
  const cells = [-100, -60, -20, 20, 60, 100].map((value) => {
    const cell = element("span", { class: value < 0 ? "swatch lowers" : "swatch raises" });
    cell.style.opacity = Math.abs(value) / 100;
    return cell;
  });
  return element("p", { class: "legend small", "aria-hidden": "true" }, "opposite \u22121 ", cells, " +1 together");
}

class DependenceMap {
  constructor(labels, matrices, readout) {
    this.labels = labels;
    this.matrices = matrices;
    this.readout = readout;
    this.chosen = [0, Math.min(1, labels.length - 1)];
  }

  draw(width, source) {
    const count = this.labels.length;
    const narrow = width < 560;
    const longest = Math.max(...this.labels.map((label) => [...labelNames[label]].length));
    const side = Math.min(narrow ? 84 : 170, 14 + 6.5 * longest);
    const cell = Math.min(26, (Math.min(width, 980) - side) / count);
    const row = Math.max(14, Math.min(26, cell));
    const top = narrow || cell < 11 ? 4 : 14 + 5.4 * Math.min(18, longest);
    const values = this.matrices[source];
    const height = top + row * count + 4;
    const total = side + cell * count + (narrow ? 2 : 60);
    const svg = drawn("svg", { viewBox: `0 0 ${total} ${height}`, width: total, height, tabindex: "0", role: "application",
      "aria-label": "Map of label dependence. Arrow keys move from pair to pair; the text below reads it. The table below lists the strongest pairs." });
    this.labels.forEach((label, index) => {
      svg.append(shortened(labelNames[label], narrow ? 12 : 24, { class: "tick", x: side - 5, y: top + row * (index + 0.5) + 4, "text-anchor": "end" }));
      if (top > 10) {
        const x = side + cell * (index + 0.5);
        svg.append(shortened(labelNames[label], 18, { class: "tick", transform: `translate(${x + 3} ${top - 6}) rotate(-55)` }));
      }
    });
    for (let i = 0; i < count; i++) {
      for (let j = 0; j < count; j++) {
        const value = values[i * count + j];
        const kind = i === j ? "diagonal" : value === UNKNOWN_CORRELATION ? "unknown" : value < 0 ? "lowers" : "raises";
        svg.append(drawn("rect", { class: `cell ${kind}`, x: side + cell * j, y: top + row * i, width: cell - 0.6, height: row - 0.6,
          "fill-opacity": i === j || value === UNKNOWN_CORRELATION ? 1 : Math.abs(value) / 100 }));
      }
    }
    const outline = drawn("rect", { class: "outline", width: cell, height: row });
    svg.append(outline);
    const choose = (i, j) => {
      this.chosen = [Math.max(0, Math.min(count - 1, i)), Math.max(0, Math.min(count - 1, j))];
      outline.setAttribute("x", side + cell * this.chosen[1]);
      outline.setAttribute("y", top + row * this.chosen[0]);
      this.tell();
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const j = Math.floor((((event.clientX - box.left) / box.width) * total - side) / cell);
      const i = Math.floor((((event.clientY - box.top) / box.height) * height - top) / row);
      if (i >= 0 && j >= 0 && i < count && j < count) choose(i, j);
    });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(this.chosen[0] + step[0], this.chosen[1] + step[1]);
    });
    choose(...this.chosen);
    return svg;
  }

  tell() {
    const [i, j] = this.chosen;
    const position = i * this.labels.length + j;
    const heads = this.matrices.heads[position] / 100;
    const truth = this.matrices.truth[position];
    this.readout.replaceChildren(labelName(this.labels[i]), " and ", labelName(this.labels[j]),
      i === j ? ": the same label" : `: rules ${signed(heads)}, correlation in these data ${truth === UNKNOWN_CORRELATION ? "unknown" : signed(truth / 100)}`);
  }
}

function shortened(name, most, attributes) {
  const letters = [...name];
  const text = drawn("text", attributes, letters.length > most ? `${letters.slice(0, most - 1).join("")}\u2026` : name);
  text.append(drawn("title", {}, name));
  return text;
}

function pairTable(pairs) {
  const table = new SortedTable("Strongest pairs of labels", [
    { title: "Label", key: (row) => labelNames[pairs.first[row]], cell: (row) => labelName(pairs.first[row]) },
    { title: "and", key: (row) => labelNames[pairs.second[row]], cell: (row) => labelName(pairs.second[row]) },
    { title: "Rules (cosine)", numeric: true, key: (row) => pairs.agreement[row], cell: (row) => [signed(pairs.agreement[row]), divergingBar(pairs.agreement[row], 1)] },
    { title: "Strength", numeric: true, key: (row) => Math.abs(pairs.strength[row]), cell: (row) => signed(pairs.strength[row]) },
    { title: "Correlation in these data", numeric: true, key: (row) => pairs.correlation[row], cell: (row) => (pairs.correlation[row] === null ? "\u2013" : signed(pairs.correlation[row])) },
  ], { sort: 3, size: 10 });
  table.fill(pairs.first.map((_, index) => index));
  return element("div", {}, element("p", { class: "muted small" },
    "Strength: coverage times the product of the two scores, added up over all rules and divided by the number of training examples."), table.node);
}
