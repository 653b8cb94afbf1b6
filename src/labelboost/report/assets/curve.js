// One small chart per measure: how it changes with the number of rules.

function drawCurve() {
  const { unit, stages, series, sample } = report.curve;
  const note = `Measures on these data if only the first ${unit} are used.`;
  byId("curve-note").textContent = sample === null ? note : `${note} They are computed on a random sample of ${whole(sample)} examples.`;
  const charts = byId("curve-charts");
  for (const one of series) charts.append(chart(one, stages, unit));
  const table = new SortedTable("Learning curve", [
    { title: capital(unit), numeric: true, first: "ascending", key: (row) => stages[row], cell: (row) => whole(stages[row]) },
    ...series.map((one) => ({ title: one.title, numeric: true, key: (row) => one.values[row], cell: (row) => decimal(one.values[row], 4) })),
  ], { sort: 0, descending: false });
  table.fill(stages.map((_, index) => index));
  byId("curve-table").append(table.node);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

const FRAME = { width: 420, height: 220, left: 48, right: 12, top: 12, bottom: 34 };

function chart({ title, values, lower }, stages, unit) {
  const finite = values.filter((value) => value !== null);
  const ticks = niceTicks(Math.min(...finite), Math.max(...finite));
  const [low, high] = [ticks[0], ticks.at(-1)];
  const last = stages.at(-1);
  const { width, height, left, right, top, bottom } = FRAME;
  const x = (stage) => left + ((stage - 1) / Math.max(1, last - 1)) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  const best = values.indexOf(lower ? Math.min(...finite) : Math.max(...finite));
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0",
    "aria-label": `${title} by number of ${unit}: ${decimal(values[0])} with ${stages[0]}, ${decimal(values.at(-1))} with ${last}, best ${decimal(values[best])} with ${stages[best]}. Arrow keys read single values.` });
  for (const tick of ticks) {
    svg.append(drawn("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      drawn("text", { class: "tick", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, String(Number(tick.toPrecision(6)))));
  }
  for (const stage of last > 1 ? niceTicks(0, last).filter((tick) => tick > 0 && tick <= last && Number.isInteger(tick)) : [1]) {
    svg.append(drawn("text", { class: "tick", x: x(stage), y: height - bottom + 16, "text-anchor": "middle" }, whole(stage)));
  }
  svg.append(drawn("text", { class: "tick", x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, `number of ${unit}`));
  const points = stages.map((stage, index) => [x(stage), values[index] === null ? null : y(values[index])]).filter((point) => point[1] !== null);
  svg.append(drawn("path", { class: "line", d: points.map(([px, py], index) => `${index ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("") }));
  const cursor = drawn("circle", { class: "cursor", r: 4.5 });
  svg.append(cursor);
  const readout = element("p", { class: "small readout", "aria-live": "polite" });
  let chosen = values.length - 1;
  const read = (index) => {
    chosen = Math.max(0, Math.min(values.length - 1, index));
    cursor.setAttribute("cx", x(stages[chosen]));
    cursor.setAttribute("cy", y(values[chosen] ?? low));
    readout.textContent = `${whole(stages[chosen])} ${stages[chosen] === 1 ? unit.replace(/s$/, "") : unit}: ${decimal(values[chosen], 4)}`
      + (chosen === best ? " (best)" : "");
  };
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width) * width;
    let nearest = 0;
    stages.forEach((stage, index) => {
      if (Math.abs(x(stage) - wanted) < Math.abs(x(stages[nearest]) - wanted)) nearest = index;
    });
    read(nearest);
  });
  svg.addEventListener("keydown", (event) => {
    const target = { ArrowLeft: chosen - 1, ArrowRight: chosen + 1, Home: 0, End: values.length - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    read(target);
  });
  read(values.length - 1);
  return element("figure", { class: "chart" },
    element("figcaption", {}, element("h3", {}, title), readout), svg);
}

/** About four round numbers around a range. */
function niceTicks(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const range = high - low || Math.abs(high) || 1;
  const rough = range / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const first = Math.floor(low / step + 1e-9);
  const end = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return Array.from({ length: end - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}
