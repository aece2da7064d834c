// What ran when: experiments, visits and the busiest lines over the time of the profile. A phase of
// the program shows as a change of shade from left to right.

// Columns without an experiment, of 240: so many are a pause between two experiments; more of them
// are a part of the run in which nothing was measured.
const PAUSE_COLUMNS = 2;

// A line with less than this of the largest share would be an empty row.
const VISIBLE_SHARE = 1 / 20;

// A pause between experiments gets what was before it, so that it is not taken for a stop of the
// program. What remains null was not measured.
function withoutPauses(values) {
  const filled = [...values];
  for (let i = 0; i < values.length;) {
    if (values[i] !== null) { ++i; continue; }
    let end = i;
    while (end < values.length && values[end] === null) ++end;
    const value = i > 0 ? values[i - 1] : end < values.length ? values[end] : null;
    if (end - i <= PAUSE_COLUMNS) filled.fill(value, i, end);
    i = end;
  }
  return filled;
}

const timeline = {
  made: false,

  show() {
    const panel = byId('view-timeline');
    if (!this.made) this.make(panel);
    this.draw();
  },

  make(panel) {
    this.made = true;
    const {seconds: length, experiments, points, more} = data.timeline;
    panel.append(element('h2', {}, 'Time line'));
    if (!experiments.length) {
      panel.append(element('p', {class: 'muted'}, `${data.nothing ? data.nothing.what : 'No experiment was made'}, so there is nothing to show over time.`));
      return;
    }
    panel.append(element('p', {class: 'lead'}, 'Each column is a moment of the run. Where the shades change from left to right, the program went from one phase to another; a line counts only for the part of the run in which it was active. Between two experiments lies a short pause.'));
    this.rows = [];
    const table = element('div', {class: 'timeline', role: 'list'});
    const row = (name, hint, kind, values, label) => {
      const canvas = element('canvas', {role: 'img', 'aria-label': label});
      const entry = {canvas, kind, values: kind === 'experiments' ? values : withoutPauses(values)};
      canvas.addEventListener('pointermove', (event) => this.hover(event, entry, hint || name));
      canvas.addEventListener('pointerleave', () => tooltip.hide());
      table.append(element('div', {class: `timeline-row ${kind}`, role: 'listitem'}, element('div', {class: 'timeline-name', title: hint}, element('bdi', {dir: 'ltr'}, name)), canvas));
      this.rows.push(entry);
    };
    row('Experiments', null, 'experiments', experiments, `${count(experiments.length, 'experiment')} over ${seconds(length)}`);
    for (const [point, ...rates] of points) {
      const known = rates.filter((v) => v !== null);
      row(data.points[point].name, `${data.points[point].name}, visits per second`, 'rate', rates, `visits to ${data.points[point].name} per second, from ${fixed(d3.min(known) ?? null, 0)} to ${fixed(d3.max(known) ?? null, 0)}`);
    }
    const most = d3.max(data.timeline.units, ([, ...shares]) => d3.max(shares)) || 1;
    const busiest = data.timeline.units.filter(([, ...shares]) => d3.max(shares) >= most * VISIBLE_SHARE);
    for (const [unit, ...shares] of busiest) {
      const known = shares.filter((v) => v !== null);
      row(units[unit].place, `${units[unit].place} ${units[unit].name}`, 'share', shares, `share of samples in ${units[unit].place}: from ${percent(d3.min(known) ?? null)} to ${percent(d3.max(known) ?? null)}`);
      this.rows[this.rows.length - 1].most = most;
    }
    this.axis = d3.create('svg').attr('class', 'timeline-axis').attr('aria-hidden', 'true');
    table.append(element('div', {class: 'timeline-row axis'}, element('div', {class: 'timeline-name'}), this.axis.node()));
    panel.append(table, element('p', {class: 'legend'}, element('span', {class: 'swatch baseline'}), ' baseline ', element('span', {class: 'swatch speedup'}), ' speedup (height: how much) ',
      element('span', {class: 'swatch unused'}), ' not used ', element('span', {class: 'swatch ramp'}), ` share of samples, 0 to ${percent(most)}`,
      ...(this.rows.some(({values}) => values.includes(null)) ? [element('span', {class: 'swatch unmeasured'}), ' nothing was measured'] : [])));
    if (more > 0) panel.append(element('p', {class: 'muted'}, `Of the experiments the first ${experiments.length.toLocaleString('en')} are drawn; ${more.toLocaleString('en')} more are in the shades and figures.`));
    new ResizeObserver(() => this.draw()).observe(table);
    theme.listeners.push(() => this.draw());
  },

  colours() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    return {accent: colour('--faster'), muted: colour('--faint'), warn: colour('--slower'), cell: colour('--cell'), ink: colour('--ink')};
  },

  draw() {
    if (!this.rows || byId('view-timeline').hidden) return;
    const colours = this.colours();
    for (const row of this.rows) {
      const width = row.canvas.clientWidth;
      const height = row.canvas.clientHeight;
      if (width === 0) continue;
      const ratio = devicePixelRatio || 1;
      row.canvas.width = Math.round(width * ratio);
      row.canvas.height = Math.round(height * ratio);
      const context = row.canvas.getContext('2d');
      context.scale(ratio, ratio);
      this[row.kind](context, row, width, height, colours);
      this.sessionMarks(context, width, height, colours);
    }
    this.drawAxis();
  },

  experiments(context, {values}, width, height, {accent, muted, warn}) {
    const x = d3.scaleLinear().domain([0, data.timeline.seconds]).range([0, width]);
    for (const [start, end, , speedup, used] of values) {
      const left = x(start);
      const wide = Math.max(1, x(end) - left - (x(end) - left > 4 ? 1 : 0));
      const tall = speedup === 0 ? 3 : 3 + (height - 5) * speedup;
      context.fillStyle = used ? (speedup === 0 ? muted : accent) : warn;
      context.fillRect(left, height - tall, wide, tall);
    }
  },

  // Whole pixels, so that neighbours neither overlap nor leave a gap.
  column(i, n, width) {
    const left = Math.round(i * width / n);
    return [left, Math.round((i + 1) * width / n) - left];
  },

  // Where nothing was measured: hatched, so that it is neither 0 nor a fault.
  unmeasured(context, values, width, height, {muted}) {
    context.save();
    context.beginPath();
    values.forEach((value, i) => {
      const [left, wide] = this.column(i, values.length, width);
      if (value === null) context.rect(left, 1, wide, height - 2);
    });
    context.clip();
    context.strokeStyle = muted;
    context.globalAlpha = 0.6;
    context.beginPath();
    for (let x = -height; x < width; x += 6) { context.moveTo(x, height); context.lineTo(x + height, 0); }
    context.stroke();
    context.restore();
  },

  rate(context, {values}, width, height, colours) {
    const {accent} = colours;
    this.unmeasured(context, values, width, height, colours);
    // An experiment near 100 % leaves hardly any effective time, so its rate is an outlier. It must
    // not set the scale.
    const most = (d3.quantile(values.filter((v) => v !== null).sort(d3.ascending), 0.9) || 1) * 1.15;
    context.fillStyle = accent;
    context.globalAlpha = 0.75;
    values.forEach((value, i) => {
      if (value === null) return;
      const tall = value === 0 ? 1 : Math.min(height, Math.max(1, (height - 2) * value / most));
      const [left, wide] = this.column(i, values.length, width);
      context.fillRect(left, height - tall, wide, tall);
    });
    context.globalAlpha = 1;
  },

  share(context, {values, most}, width, height, colours) {
    const {accent, cell} = colours;
    this.unmeasured(context, values, width, height, colours);
    values.forEach((value, i) => {
      if (value === null) return;
      const [left, wide] = this.column(i, values.length, width);
      context.globalAlpha = 1;
      context.fillStyle = cell;
      context.fillRect(left, 1, wide, height - 2);
      // The eye sees shades about as the root of the ink.
      context.globalAlpha = Math.pow(Math.min(1, value / most), 0.75);
      context.fillStyle = accent;
      context.fillRect(left, 1, wide, height - 2);
    });
    context.globalAlpha = 1;
  },

  sessionMarks(context, width, height, {ink}) {
    context.fillStyle = ink;
    for (const start of data.timeline.sessions.slice(1)) context.fillRect(width * start / data.timeline.seconds, 0, 1, height);
  },

  drawAxis() {
    const width = this.axis.node().clientWidth;
    const [unit, size] = data.timeline.seconds > 7200 ? ['h', 3600] : data.timeline.seconds > 180 ? ['min', 60] : ['s', 1];
    const x = d3.scaleLinear().domain([0, data.timeline.seconds / size]).range([0, width]);
    this.axis.call(d3.axisBottom(x).ticks(Math.max(2, Math.floor(width / 110))).tickSize(0).tickFormat((tick) => `${tick} ${unit}`))
      .selectAll('text').attr('text-anchor', (tick) => (x(tick) > width - 30 ? 'end' : tick === 0 ? 'start' : 'middle'));
  },

  hover(event, row, name) {
    const box = row.canvas.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width;
    const time = at * data.timeline.seconds;
    if (row.kind === 'experiments') {
      const found = row.values.find(([start, end]) => start <= time && time < end);
      if (!found) { tooltip.hide(); return; }
      tooltip.show(event, [element('b', {}, units[found[2]].place), element('div', {}, found[3] === 0 ? 'baseline' : `${percent(found[3])} faster`),
        element('div', {}, `${fixed(found[0], 1)} to ${fixed(found[1], 1)} s${found[4] ? '' : ', not used'}`)]);
      return;
    }
    const value = row.values[Math.min(row.values.length - 1, Math.max(0, Math.floor(at * row.values.length)))];
    tooltip.show(event, [element('b', {}, name), element('div', {}, value === null ? 'nothing was measured' : row.kind === 'share' ? `${percent(value, {digits: 1})} of samples` : `${value.toPrecision(3)} per second`),
      element('div', {}, `at ${fixed(time, 1)} s`)]);
  },
};
