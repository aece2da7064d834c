// The report's data as objects, and how its figures are written.

const data = JSON.parse(document.getElementById('data').textContent);

// By the key of the verdict in `coz report --json`; the words are those of all reports.
const VERDICTS = {
  faster: {word: data.words.faster, mark: '▲', hint: 'making it faster makes the program faster'},
  slower: {word: data.words.slower, mark: '▼', hint: 'making it faster makes the program slower'},
  no_effect: {word: data.words.no_effect, mark: '●', hint: 'making it faster brings nothing, or hardly anything'},
  cannot_tell: {word: data.words.cannot_tell, mark: '?', hint: 'needs more experiments, or a calmer run'},
  small: {word: `${data.words.no_effect} (small)`, mark: '●', hint: 'takes too little CPU time to bring anything'},
  aside: {word: 'set aside', mark: '–', hint: 'too little data for a figure'},
};

// What every line is compared at, as in its verdict.
const QUOTED_SPEEDUP = 0.3;

const CHANGED_SINCE = 'The file was changed after the profile was begun, so the lines may have moved.';

function sourceLines(fileIndex, first, last) {
  const runs = (data.files[fileIndex] || {}).runs || [];
  const lines = [];
  for (const run of runs) {
    for (let i = Math.max(first, run[0]); i <= Math.min(last, run[0] + run.length - 2); ++i) {
      lines.push({number: i, text: run[i - run[0] + 1]});
    }
  }
  return lines;
}

function makeUnit([file, line, name, share, kind, threads], index) {
  const path = file < 0 ? '' : data.files[file].path;
  const shown = path.startsWith(data.folder) ? path.slice(data.folder.length) : path;
  const at = line > 0 ? `${shown}:${line}` : shown;
  const [code, under] = {
    function: [name, at],
    path: [name, at],
    group: [name, 'group'],
    file: [shown, path],
    library: [path.split('/').pop() || name, path],
  }[kind] || [at, name];
  const place = threads ? `${code}@${threads}` : code;
  const source = line > 0 && file >= 0 ? sourceLines(file, line, line) : [];
  const text = source.length ? source[0].text.trim() : '';
  return {
    index, file, line, name, share, kind, path, place, under, text, isChanged: Boolean(source.length && data.files[file].changed),
    shortFile: shown,
    searchable: `${path}:${line} ${name} ${text} ${threads ? `@${threads}` : ''}`.toLowerCase(),
  };
}

// The value of the curve between its points.
function curveAt(curve, speedup) {
  if (!curve.length) return [0, 0, 0];
  const above = curve.findIndex((p) => p[0] >= speedup);
  if (above < 0) return curve[curve.length - 1].slice(1);
  if (above === 0) return curve[0].slice(1);
  const [a, b] = [curve[above - 1], curve[above]];
  const share = (speedup - a[0]) / (b[0] - a[0]);
  return [1, 2, 3].map((i) => (a[i] === null || b[i] === null ? null : a[i] + (b[i] - a[i]) * share));
}

const units = data.units.map(makeUnit);

const lines = data.lines.map((line, rank) => ({
  unit: units[line.u], point: line.p, verdict: line.v, sure: line.y, gain: line.h[0], shape: line.h[1], limit: line.m, slope: line.s, phaseFactor: line.f, slopeActive: line.a,
  baselines: line.b, pooled: line.pb, others: line.n, experiments: line.b + line.pb + line.n,
  speedups: line.d, curve: line.c, bend: line.k, luck: line.q, sentence: line.t, rank,
  quoted: curveAt(line.c, QUOTED_SPEEDUP),
}));

// Its badge says "set aside" beside it.
function withoutBadge(text) {
  const rest = text.replace(/^Set aside: /, '');
  return rest[0].toUpperCase() + rest.slice(1);
}

const aside = data.aside.map((line, rank) => ({
  unit: units[line.u], point: line.p, verdict: line.h ? 'small' : 'aside', sure: true, gain: line.h, limit: line.m, shape: null, slope: [null, null, null], phaseFactor: 1, baselines: 0, pooled: 0,
  others: line.n, experiments: line.n, speedups: [], curve: [], bend: null, luck: null, sentence: withoutBadge(line.t),
  rank: data.lines.length + rank, quoted: [null, null, null],
}));

// What is tried in this profile: lines, functions…
const kinds = new Set([...lines, ...aside].map((line) => line.unit.kind));
const noun = kinds.size === 1 ? [...kinds][0] : kinds.size ? 'unit' : 'line';

// "12 %", "+12 %", "−3 %", "0.4 %"; "?" where it is unknown.
function percent(fraction, {sign = false, digits = null} = {}) {
  if (fraction === null || fraction === undefined) return '?';
  const value = fraction * 100;
  const places = digits === null ? (Math.abs(value) < 0.95 && Math.abs(value) >= 0.05 ? 1 : 0) : digits;
  const magnitude = Math.abs(value).toFixed(places);
  if (Number(magnitude) === 0) return '0\u00a0%';
  return `${value < 0 ? '−' : sign ? '+' : ''}${magnitude}\u00a0%`;
}

function interval([, low, high]) {
  if (low === null || high === null) return 'interval unknown';
  return `${percent(low).replace('\u00a0%', '')} to ${percent(high)}`;
}

// A bend is [place or null, the place in words].
function hasPlacedBend(line) { return line.bend !== null && line.bend[0] !== null; }

function fixed(value, digits = 2) {
  if (value === null) return '?';
  const text = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(text) !== 0 ? '−' : '') + text;
}

function plusMinus([, low, high]) {
  return low === null || high === null ? '±?' : `±${fixed((high - low) / 2)}`;
}

function words(id) { return id.replace(/_/g, ' '); }

function plural(word) { return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`; }

function count(n, word) {
  return `${n.toLocaleString('en')} ${n === 1 ? word : plural(word)}`;
}

// Without a figure of its own.
function isAside(line) { return line.verdict === 'aside' || line.verdict === 'small'; }

// As in `coz report`: baselines that count for the line + experiments with a speedup.
function experimentCounts(line) {
  return isAside(line) ? line.experiments.toLocaleString('en') : `${(line.baselines + line.pooled).toLocaleString('en')} + ${line.others.toLocaleString('en')}`;
}

function experimentsHint(line) {
  return isAside(line) ? 'experiments' : `${line.baselines} at 0\u00a0% of its own, ${line.pooled} at 0\u00a0% of other lines, ${line.others} with a speedup`;
}

function seconds(s) {
  if (s === null) return 'unknown';
  if (s < 60) return `${s.toFixed(1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}
