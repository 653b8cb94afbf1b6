// All rules, with search, filters and orders.

const LABELS_SHOWN = 6;
const CONDITIONS_SHOWN = 8;
let showRules = () => {};

function drawRules() {
  const field = (name) => byId(`rule-${name}`);
  const texts = new Array(ruleBase.count);
  const textOf = (rule) => {
    texts[rule] ??= ruleText(rule).toLowerCase();
    return texts[rule];
  };
  options(field("label"), labelNames.map((name, label) => [label, name]), "any label");
  options(field("feature"), featureNames.map((name, feature) => [feature, name])
    .sort((a, b) => compare(a[1], b[1])), "any feature");
  const pager = new Pager(20, (first, end) => {
    field("list").replaceChildren(...found.slice(first, end).map((rule) => ruleItem(rule)));
    field("list").start = first + 1;
  });
  field("pager").append(pager.node);
  let found = [];

  const filter = () => {
    const label = field("label").value === "" ? null : Number(field("label").value);
    const feature = field("feature").value === "" ? null : Number(field("feature").value);
    const effect = field("effect").value;
    const least = field("least").value === "" ? 0 : Number(field("least").value);
    const most = field("most").value === "" ? Infinity : Number(field("most").value);
    const words = field("search").value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    field("effect").disabled = label === null;
    field("order").options[1].disabled = label === null;
    if (label === null && field("order").value === "label") field("order").value = "learned";
    found = [];
    for (let rule = 0; rule < ruleBase.count; rule++) {
      if (ruleBase.coverage[rule] < least || ruleBase.coverage[rule] > most) continue;
      if (feature !== null && !ruleBase.uses(rule, feature)) continue;
      if (label !== null) {
        const score = ruleBase.head(rule)[label];
        if (score === 0 || (effect === "raise" && score < 0) || (effect === "lower" && score > 0)) continue;
      }
      if (words.length > 0 && !words.every((word) => textOf(rule).includes(word))) continue;
      found.push(rule);
    }
    const keys = {
      label: (rule) => -Math.abs(ruleBase.head(rule)[label]),
      effect: (rule) => -effectOf[rule],
      weight: (rule) => -effectOf[rule] * ruleBase.coverage[rule],
      widest: (rule) => -ruleBase.coverage[rule],
      rarest: (rule) => ruleBase.coverage[rule],
    };
    const key = keys[field("order").value];
    if (key) found.sort((a, b) => key(a) - key(b) || a - b);
    field("status").textContent = found.length === ruleBase.count
      ? `All ${whole(found.length)} rules` : `${whole(found.length)} of ${whole(ruleBase.count)} rules`;
    pager.reset(found.length);
  };

  field("form").addEventListener("input", debounced(filter));
  field("form").addEventListener("submit", (event) => event.preventDefault());
  field("form").addEventListener("reset", () => setTimeout(filter));
  field("label").addEventListener("change", () => {
    if (field("label").value !== "") field("order").value = "label";
  });
  showRules = ({ label, feature, rule }) => {
    field("form").reset();
    if (label !== undefined) {
      field("label").value = label;
      field("order").options[1].disabled = false;
      field("order").value = "label";
    }
    if (feature !== undefined) field("feature").value = feature;
    if (rule !== undefined) field("search").value = `#${rule}#`;
    setTimeout(filter); // after the event of the reset
    byId("rules").scrollIntoView();
    field("search").focus({ preventScroll: true });
  };
  filter();
}

/** What is searched: the number, the conditions and the labels that are shown at once. */
function ruleText(rule) {
  const conditions = ruleBase.parts(rule).map((part) => part.words.join(featureNames[part.feature]));
  const labels = shownLabels(rule, LABELS_SHOWN).flatMap(([, all, count]) => all.slice(0, count));
  return [`#${rule}#`, ...conditions, ...labels.map((label) => labelNames[label])].join("\n");
}

function ruleItem(rule) {
  const trained = ruleBase.coverage[0];
  const [covered, here] = [ruleBase.coverage[rule], ruleBase.here[rule]];
  return element("li", { "data-rule": rule },
    element("p", { class: "rule-facts small muted" },
      element("strong", {}, rule === 0 ? "Default rule" : `Rule ${rule}`),
      ` covers ${whole(covered)} training examples (${percent(trained > 0 ? covered / trained : NaN)}), here ${whole(here)} (${percent(here / report.data.examples)})`),
    element("p", {}, conditionsOf(rule, CONDITIONS_SHOWN)),
    element("p", {}, headOf(rule, LABELS_SHOWN)));
}
