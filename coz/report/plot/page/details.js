// Everything about one line: a large plot, what was measured at each speedup, the source around it, how to look closer.

const details = {
  line: null,

  show(line, domain, takeFocus) {
    this.line = line;
    this.domain = domain;
    const panel = byId('details');
    panel.hidden = false;
    document.body.classList.add('details-open');
    const heading = element('h2', {tabindex: '-1', id: 'details-heading'}, ...breakable(line.unit.place));
    const parts = [
      element('div', {class: 'details-head'}, element('div', {}, heading, element('p', {class: 'function'}, ...breakable(line.unit.under))),
        element('button', {type: 'button', class: 'icon', 'aria-label': 'Close the details', onclick: () => this.close()}, '✕')),
      element('p', {class: `sentence ${line.verdict}`}, verdictBadge(line), ' ', ...sentence(line.sentence)),
      element('div', {id: 'large-plot'}),
      line.curve.length ? this.reading(line) : null,
      this.figures(line),
      this.source(line.unit),
      this.statistics(line),
      this.elsewhere(line),
      this.closer(line.unit)];
    // Not each line has each part, and what is null would be shown as a word.
    panel.replaceChildren(...parts.filter((part) => part !== null));
    this.plot();
    panel.scrollTop = 0;
    if (takeFocus) heading.focus({preventScroll: innerWidth > 1100});
  },

  plot() {
    const box = byId('large-plot');
    if (!box || !this.line || !this.line.curve.length || box.clientWidth === 0) return;
    const point = data.points[this.line.point];
    const verticalTitle = point.kind === 'throughput' || point.kind === 'breakpoint' || point.kind === 'sampled' ? `${point.name} faster by` : `${point.name} shorter by`;
    box.replaceChildren(new CurvePlot({...this.line, verticalTitle}, {width: box.clientWidth, height: 250, domain: this.domain, large: true}).draw());
  },

  close() {
    byId('details').hidden = true;
    document.body.classList.remove('details-open');
    this.line = null;
    tooltip.hide();
    grid.layout();
    grid.focus(grid.current);
    grid.select(null);
  },

  // What the plot's marks mean, beside the plot.
  reading(line) {
    const parts = [figures('Line and band: the effect, and where it is with 95 % certainty, by all experiments together. Dots and bars: what the experiments at one speedup show, with the 95 % interval of these few alone.')];
    if (hasPlacedBend(line)) parts.push(' Ring: here the curve bends.');
    return element('p', {class: 'muted reading'}, ...parts);
  },

  figures(line) {
    const rows = [];
    const add = (term, value) => rows.push(element('div', {class: term}, element('dt', {}, meaningLink(term)), element('dd', {}, value)));
    if (line.gain !== null) add('gain', figures(line.gain));
    // The slope is said of straight curves alone.
    if (line.limit !== null) add('limit', `at most ${percent(line.limit)}`);
    else if (line.bend !== null) add('bend', figures(line.bend[1]));
    else if (line.shape !== null && line.shape.startsWith('slope ')) add('slope', figures(line.shape.replace('slope ', '')));
    else if (line.shape !== null) add('end', figures(line.shape));
    add('samples', percent(line.unit.share, {digits: 1}));
    return element('dl', {class: 'figures'}, ...rows);
  },

  source(unit) {
    const section = element('section', {}, element('h3', {}, 'Source'));
    const file = data.files[unit.file];
    if (!file || unit.line === 0) return null;
    section.append(element('p', {class: 'path'}, ...breakable(`${file.path.replace(/^\/proc\/self\/cwd\//, '')}:${unit.line}`)));
    const around = sourceLines(unit.file, unit.line - 6, unit.line + 6);
    if (!around.length) {
      section.append(element('p', {class: 'muted'}, `No text: ${file.missing || 'the file has no such line now'}. Make the report where the sources are, or name their folder with --source-path.`));
      return section;
    }
    if (file.changed) section.append(element('p', {class: 'warning'}, CHANGED_SINCE));
    const code = element('ol', {class: 'code', tabindex: '0', 'aria-label': 'Source around the line', start: around[0].number});
    for (const {number, text} of around) {
      code.append(element('li', {class: number === unit.line ? 'here' : null, 'aria-current': number === unit.line ? 'true' : null},
        element('span', {class: 'number'}, String(number)), element('code', {}, text.replace(/\t/g, '    ') || ' ')));
    }
    section.append(code);
    return section;
  },

  // For those who want to know how it was found out.
  statistics(line) {
    const rows = [];
    const add = (term, value) => rows.push(element('div', {class: term}, element('dt', {}, meaningLink(term)), element('dd', {}, value)));
    add('experiments', experimentCounts(line));
    if (line.luck !== null) add('luck', line.luck < 0.001 ? '< 0.1\u00a0%' : percent(line.luck, {digits: 1}));
    if (line.phaseFactor !== 1) add('phase', `× ${fixed(line.phaseFactor)}`);
    const parts = [element('dl', {class: 'figures'}, ...rows)];
    if (line.speedups.length) {
      const measured = table([`${line.unit.kind} faster by`, 'program', figures('95 % interval'), 'experiments'], line.speedups.map(([speedup, value, low, high, n]) =>
        [percent(speedup), percent(value, {sign: true, digits: 1}), interval([value, low, high]), String(n)]));
      measured.className = '';
      parts.push(measured);
    }
    return element('details', {}, element('summary', {}, 'Experiments and statistics'), ...parts);
  },

  // What the same line does to other progress points.
  elsewhere(line) {
    const others = [...lines, ...aside].filter((other) => other.unit === line.unit && other.point !== line.point);
    if (!others.length) return null;
    return element('section', {}, element('h3', {}, 'At other progress points'), element('ul', {class: 'elsewhere'},
      ...others.map((other) => element('li', {}, verdictBadge(other), ' ',
        element('button', {type: 'button', class: 'link', onclick: () => { filters.set({point: other.point}); openLine(other, true); }}, data.points[other.point].name),
        ' ', ...sentence(other.sentence)))));
  },

  closer(unit) {
    if (unit.kind === 'group' || !data.sessions.length) return null;
    const command = data.look_closer.replace('--fixed-line FIXED_UNIT', () => `--fixed-line ${shellWord(unit.place)}`);
    return element('section', {}, element('h3', {}, `Look closer at this ${unit.kind}`), commandBox(command));
  },
};

function shellWord(text) { return /^[\w\-+=.\/:,@%]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`; }
