// One line's plot: program speedup over virtual speedup, its 95 % band, and what was measured at
// each speedup. All plots of a progress point have the same axes.

// Bounds of the vertical axis. They hold the whole curve of each line with a verdict, and nearly
// all of the bands and dots.
function verticalDomain(shown) {
  const decided = shown.filter((line) => line.verdict !== 'cannot_tell' && line.curve.length);
  const curves = [];
  const around = [];
  for (const line of decided.length ? decided : shown) {
    for (const [, value, low, high] of line.curve) {
      curves.push(value);
      if (low !== null) around.push(low, high);
    }
    for (const [, value] of line.speedups) around.push(value);
  }
  around.sort(d3.ascending);
  const low = Math.min(-0.1, d3.min(decided.length ? curves : around) ?? 0, d3.quantile(around, 0.01) ?? 0);
  const high = Math.max(0.2, d3.max(decided.length ? curves : []) ?? 0, d3.quantile(around, 0.99) ?? 0);
  return [Math.max(-1, Math.floor(low * 10) / 10), Math.min(1, Math.ceil(high * 10) / 10)];
}

class CurvePlot {
  constructor(line, {width, height, domain, large = false}) {
    this.line = line;
    this.large = large;
    this.margin = large ? {top: 14, right: 20, bottom: 40, left: 60} : {top: 8, right: 8, bottom: 20, left: 38};
    this.width = width;
    this.height = height;
    const {top, right, bottom, left} = this.margin;
    this.x = d3.scaleLinear().domain([0, 1]).range([left, width - right]);
    this.y = d3.scaleLinear().domain(domain).range([height - bottom, top]);
  }

  draw() {
    this.svg = d3.create('svg').attr('class', `plot ${this.line.verdict}`).attr('width', this.width).attr('height', this.height)
      .attr('viewBox', `0 0 ${this.width} ${this.height}`).attr('role', 'img').attr('aria-label', this.description());
    this.axes();
    const {top, right, bottom, left} = this.margin;
    // A nested viewport clips without an id, which would have to be unique on the page.
    this.inside = this.svg.append('svg').attr('x', left).attr('y', top - 4)
      .attr('width', this.width - left - right + 4).attr('height', this.height - top - bottom + 8)
      .attr('viewBox', `${left} ${top - 4} ${this.width - left - right + 4} ${this.height - top - bottom + 8}`);
    this.band();
    this.dots();
    this.curve();
    this.beyond();
    if (this.large) this.readout();
    return this.svg.node();
  }

  description() {
    const {unit, sentence: text, shape} = this.line;
    return `${unit.place}: ${text} ${shape[0].toUpperCase()}${shape.slice(1)}.`;
  }

  // The tick lines span the plot: they are its grid.
  axes() {
    const {top, right, bottom, left} = this.margin;
    this.svg.append('g').attr('class', 'axis').attr('transform', `translate(${left} 0)`)
      .call(d3.axisLeft(this.y).ticks(this.large ? 6 : 3).tickSize(left + right - this.width).tickPadding(6)
        .tickFormat((tick) => percent(tick, {sign: true, digits: 0})))
      .selectAll('.tick line').classed('zero', (tick) => tick === 0);
    const x = this.svg.append('g').attr('class', 'axis').attr('transform', `translate(0 ${this.height - bottom})`)
      .call(d3.axisBottom(this.x).ticks(this.large ? 5 : 2).tickSize(top + bottom - this.height).tickPadding(7)
        .tickFormat((tick) => percent(tick, {digits: 0})));
    if (!this.large) {
      x.select('.tick:last-child text').attr('text-anchor', 'end');
      return;
    }
    const title = (at, text) => this.svg.append('text').attr('class', 'title').attr('text-anchor', 'middle').attr('transform', at).text(text);
    title(`translate(${(left + this.width - right) / 2} ${this.height - 5})`, `this ${this.line.unit.kind} faster by`);
    title(`translate(11 ${(top + this.height - bottom) / 2}) rotate(-90)`, this.line.verticalTitle || 'program faster by');
  }

  band() {
    const known = this.line.curve.filter((p) => p[2] !== null && p[3] !== null);
    if (known.length < 2) return;
    const area = d3.area().x((p) => this.x(p[0])).y0((p) => this.y(p[2])).y1((p) => this.y(p[3]));
    this.inside.append('path').attr('class', 'band').attr('d', area(known));
  }

  curve() {
    if (this.line.curve.length < 2) return;
    const path = d3.line().x((p) => this.x(p[0])).y((p) => this.y(p[1]));
    this.inside.append('path').attr('class', 'curve').attr('d', path(this.line.curve));
    if (!hasPlacedBend(this.line)) return;
    const [place] = this.line.bend;
    this.inside.append('circle').attr('class', 'bend').attr('r', this.large ? 4.5 : 3.2)
      .attr('cx', this.x(place)).attr('cy', this.y(curveAt(this.line.curve, place)[0]));
  }

  dots() {
    const most = d3.max(this.line.speedups, (d) => d[4]) || 1;
    const group = this.inside.append('g').attr('class', 'dots');
    for (const [, value, low, high, n, achieved] of this.line.speedups) {
      const at = this.x(Math.min(1, achieved));
      if (this.large && low !== null) {
        group.append('line').attr('x1', at).attr('x2', at).attr('y1', this.y(low)).attr('y2', this.y(high));
      }
      const radius = (this.large ? 2.2 : 1.4) + (this.large ? 2.2 : 1.2) * Math.sqrt(n / most);
      group.append('circle').attr('cx', at).attr('cy', this.y(value)).attr('r', radius);
    }
  }

  // What lies outside the axes. Each dot there gets an arrow at the edge. The curve's farthest point
  // gets an arrow with its value.
  beyond() {
    const [low, high] = this.y.domain();
    const group = this.svg.append('g');
    const arrow = (speedup, value, size) => {
      const down = value < low;
      group.append('path').attr('class', 'clipped').attr('d', d3.symbol().type(d3.symbolTriangle).size(1.6 * size * size))
        .attr('transform', `translate(${this.x(Math.min(1, speedup))} ${this.y(down ? low : high)}) rotate(${down ? 180 : 0})`);
    };
    // A dot that sticks out a little is still visible.
    const margin = this.y.invert(0) - this.y.invert(4);
    const isOutside = (value) => value < low - margin || value > high + margin;
    for (const [, value, , , , achieved] of this.line.speedups) {
      if (isOutside(value)) arrow(achieved, value, this.large ? 4 : 3);
    }
    const outside = this.line.curve.filter((p) => isOutside(p[1]));
    if (!outside.length) return;
    const farthest = d3.greatest(outside, (p) => Math.abs(p[1]));
    const down = farthest[1] < low;
    arrow(farthest[0], farthest[1], this.large ? 7 : 5);
    const left = farthest[0] > 0.5;
    group.append('text').attr('class', 'beyond').attr('text-anchor', left ? 'end' : 'start').attr('x', this.x(farthest[0]) + (left ? -9 : 9))
      .attr('y', down ? this.y(low) - 3 : this.y(high) + 11).text(percent(farthest[1], {sign: true, digits: 0}));
  }

  // The curve's value under the pointer.
  readout() {
    const {top, bottom} = this.margin;
    const rule = this.svg.append('line').attr('class', 'rule').attr('y1', top).attr('y2', this.height - bottom).attr('visibility', 'hidden');
    const node = this.svg.node();
    node.addEventListener('pointermove', (event) => {
      const scale = this.width / node.getBoundingClientRect().width;
      const speedup = Math.round(this.x.invert((event.clientX - node.getBoundingClientRect().left) * scale) * 20) / 20;
      if (speedup < 0 || speedup > 1 || !this.line.curve.length) return;
      rule.attr('visibility', 'visible').attr('x1', this.x(speedup)).attr('x2', this.x(speedup));
      const value = curveAt(this.line.curve, speedup);
      const measured = this.line.speedups.find((d) => Math.abs(d[0] - speedup) < 1e-6);
      tooltip.show(event, [
        element('b', {}, `${percent(speedup)} faster → ${percent(value[0], {sign: true})}`),
        element('div', {}, `95 %: ${interval(value)}`),
        measured ? element('div', {}, `measured ${percent(measured[1], {sign: true})} in ${count(measured[4], 'experiment')}`) : '',
      ]);
    });
    node.addEventListener('pointerleave', () => { rule.attr('visibility', 'hidden'); tooltip.hide(); });
  }
}
