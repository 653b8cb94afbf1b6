// What the page shows: JSON, with arrays of numbers as little-endian bytes in base64.

const report = JSON.parse(document.getElementById("content").textContent);

const ARRAYS = {
  u1: Uint8Array, i1: Int8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array,
};

function unpack(packed) {
  const text = atob(packed.bytes);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new ARRAYS[packed.type](bytes.buffer);
}

const labelNames = report.labels.names;
const featureNames = report.features;
const nLabels = labelNames.length;

/** A matrix of flags, a whole number of bytes per row. */
class Bits {
  constructor(packed, columns) {
    this.bytes = unpack(packed);
    this.stride = Math.ceil(columns / 8);
    this.columns = columns;
  }

  has(row, column) {
    return ((this.bytes[row * this.stride + (column >> 3)] >> (column & 7)) & 1) === 1;
  }

  members(row) {
    const found = [];
    for (let column = 0; column < this.columns; column++) if (this.has(row, column)) found.push(column);
    return found;
  }
}

/** All rules: the first one has no conditions and covers everything. */
const ruleBase = (() => {
  const packed = report.rules;
  const coverage = unpack(packed.coverage);
  const ends = unpack(packed.ends);
  const features = unpack(packed.features);
  const wordings = unpack(packed.wordings);
  const scores = unpackHeads(packed.heads, coverage.length);
  return {
    count: coverage.length,
    coverage,
    here: unpack(packed.here),
    conditions: unpack(packed.conditions),
    head: (rule) => scores.subarray(rule * nLabels, (rule + 1) * nLabels),
    /** One part per feature: which one, and the words before and after its name. */
    parts(rule) {
      const parts = [];
      for (let i = ends[rule]; i < ends[rule + 1]; i++) {
        parts.push({ feature: features[i], words: packed.texts[wordings[i]].split(packed.mark) });
      }
      return parts;
    },
    uses(rule, feature) {
      for (let i = ends[rule]; i < ends[rule + 1]; i++) if (features[i] === feature) return true;
      return false;
    },
  };
})();

function unpackHeads(packed, count) {
  if (packed.scores) return unpack(packed.scores);
  const palette = unpack(packed.palette);
  const sizes = unpack(packed.sizes);
  const codes = unpack(packed.codes);
  const scores = new Float32Array(count * nLabels);
  for (let rule = 0, start = 0; rule < count; start += sizes[rule], rule++) {
    for (let i = rule * nLabels; i < (rule + 1) * nLabels; i++) scores[i] = palette[start + codes[i]];
  }
  return scores;
}

/** Sum of absolute scores of each rule. */
const effectOf = Float64Array.from({ length: ruleBase.count }, (_, rule) =>
  ruleBase.head(rule).reduce((sum, score) => sum + Math.abs(score), 0));
