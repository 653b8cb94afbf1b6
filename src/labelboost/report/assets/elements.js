// Elements are made by these functions only. Names become text nodes, never markup.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

/** A name by somebody else: kept apart from the direction of the text around it. */
function named(text) {
  return text.trim() === ""
    ? element("span", { class: "name muted" }, "(no name)")
    : element("bdi", { class: "name" }, text);
}

const labelName = (label) => named(labelNames[label]);
const featureName = (feature) => named(featureNames[feature]);

const whole = new Intl.NumberFormat("en").format;

function signed(score) {
  const size = Math.abs(score);
  const digits = size >= 0.0995 || size === 0 ? size.toFixed(2) : String(Number(size.toPrecision(2)));
  return (score < 0 ? "\u2212" : "+") + digits;
}

function decimal(value, digits = 3) {
  if (value === null || Number.isNaN(value)) return "\u2013";
  return value !== 0 && Math.abs(value) < 10 ** -digits
    ? value.toPrecision(2) : value.toFixed(digits);
}

function percent(share) {
  if (share === null || Number.isNaN(share)) return "\u2013";
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return `${(100 * share).toFixed(share < 0.0995 || share > 0.9895 ? 1 : 0)} %`.replace("100.0", "100");
}

/** A bar for a number from 0 to 1. The number stands beside it, so it is decoration. */
function bar(share) {
  const fill = element("span", { class: "bar-fill" });
  fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, fill);
}

/** A bar to the right for positive and to the left for negative numbers. */
function divergingBar(value, largest) {
  const share = largest > 0 ? Math.min(1, Math.abs(value) / largest) : 0;
  const fill = element("span", { class: value < 0 ? "bar-fill lowers" : "bar-fill raises" });
  fill.style.width = `${share * 50}%`;
  fill.style.left = value < 0 ? `${50 - share * 50}%` : "50%";
  return element("span", { class: "bar diverging", "aria-hidden": "true" }, fill);
}

function options(select, names, any) {
  select.append(element("option", { value: "" }, any));
  for (const [value, text] of names) {
    select.append(element("option", { value }, text.trim() === "" ? "(no name)" : text));
  }
}

/**
 * The conditions of a rule, the first ones at once, all of them on demand: they come in the order in
 * which they were found, so the first ones narrow the rule down most.
 * `value` may tell what a feature is in some example.
 */
function conditionsOf(rule, most, value) {
  const all = ruleBase.parts(rule);
  const parts = all.length > most + 1 ? all.slice(0, most) : all;
  if (parts.length === 0) return element("span", { class: "conditions" }, "in general");
  const shown = element("span", { class: "conditions" }, element("span", { class: "word" }, "if "));
  parts.forEach((part, index) => {
    if (index > 0) shown.append(element("span", { class: "word" }, " and "));
    const condition = element("span", { class: "condition" });
    part.words.forEach((words, gap) => {
      if (gap > 0) condition.append(featureName(part.feature));
      condition.append(element("bdi", {}, words));
    });
    if (value) condition.append(element("span", { class: "value" }, ` (${value(part.feature)})`));
    shown.append(condition);
  });
  if (parts.length < all.length) {
    shown.append(element("span", { class: "word" }, " and "),
      expander(`${all.length - parts.length} more conditions`, shown, () => conditionsOf(rule, all.length, value)));
  }
  return shown;
}

/** Labels with scores, the largest first; those that share a score stand together. */
function headGroups(rule) {
  const head = ruleBase.head(rule);
  const groups = new Map();
  head.forEach((score, label) => {
    if (score === 0) return;
    if (!groups.has(score)) groups.set(score, []);
    groups.get(score).push(label);
  });
  return [...groups].sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]) || b[0] - a[0]);
}

/** How many labels of each group to name: one each, then one more each, while places last. */
function shareOut(sizes, places) {
  const shown = sizes.map((_, index) => (index < places ? 1 : 0));
  let left = places - Math.min(sizes.length, places);
  for (let moved = true; left > 0 && moved;) {
    moved = false;
    for (let index = 0; index < sizes.length && left > 0; index++) {
      if (shown[index] > 0 && shown[index] < sizes[index]) {
        shown[index]++;
        left--;
        moved = true;
      }
    }
  }
  return shown;
}

function shownLabels(rule, most) {
  const groups = headGroups(rule);
  const counts = shareOut(groups.map(([, labels]) => labels.length), most);
  return groups.map(([score, labels], index) => [score, labels, counts[index]]);
}

/** What a rule does to the labels: the strongest first, all of them on demand. */
function headOf(rule, most = 6) {
  const shown = element("span", { class: "head" });
  const groups = shownLabels(rule, most);
  if (groups.length === 0) {
    shown.append(element("span", { class: "muted" }, "no effect"));
    return shown;
  }
  let hidden = 0;
  for (const [score, labels, count] of groups) {
    hidden += labels.length - count;
    if (count === 0) continue;
    const group = element("span", { class: "group" },
      element("span", { class: score < 0 ? "score lowers" : "score raises" }, signed(score)), " ");
    labels.slice(0, count).forEach((label, index) => group.append(index > 0 ? ", " : "", labelName(label)));
    if (labels.length > count) group.append(element("span", { class: "muted" }, ` and ${labels.length - count} more`));
    shown.append(group);
  }
  if (hidden > 0) {
    shown.append(expander(`show all ${hidden + most} labels`, shown, () => headOf(rule, nLabels)));
  }
  return shown;
}

/** A button that replaces something short by the whole. */
function expander(text, short, whole) {
  return element("button", {
    type: "button", class: "link",
    onclick: () => {
      const all = whole();
      short.replaceWith(all);
      all.tabIndex = -1;
      all.focus();
    },
  }, text);
}

/** Called once for many events in a row. */
function debounced(action, milliseconds = 80) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}
