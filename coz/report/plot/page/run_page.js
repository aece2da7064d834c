// The summary: what was run and how, what was measured, what was set aside and why, and how to run it again.

const runPage = {
  made: false,

  show() {
    if (this.made) return;
    this.made = true;
    byId('view-run').append(this.measured(), this.threads(), ...data.sessions.map((session, i) => this.session(session, i)), this.more(), this.notUsed());
  },

  facts(pairs) {
    return element('dl', {class: 'facts'}, ...pairs.filter(([, value]) => value !== '' && value !== null)
      .map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))));
  },

  measured() {
    const {facts} = data;
    const share = facts.samples ? facts.in_scope / facts.samples : 0;
    return element('section', {class: 'sheet'}, element('h2', {}, 'Measured'), this.facts([
      ['Duration', seconds(facts.seconds)],
      ['Experiments', `${facts.experiments.toLocaleString('en')}, of which ${facts.baselines.toLocaleString('en')} baselines`],
      ['Samples', `${facts.samples.toLocaleString('en')}, ${percent(share, {digits: 1})} in lines in scope`],
      ['Lost samples', facts.lost.toLocaleString('en')],
      ['Outside any binary', facts.unmapped.toLocaleString('en')],
      [`${plural(noun)[0].toUpperCase()}${plural(noun).slice(1)} with figures`, new Set(data.lines.map((line) => line.u)).size.toLocaleString('en')],
    ]), table(['Progress point', 'Kind', 'Visits', 'With figures', 'Set aside', 'Experiments with too few visits'], data.points.map((point, i) => [
      breakable(point.name),
      point.counted_by ? [`${point.kind_word}, counted by ${point.counted_by}`, point.cost, point.beside].filter(Boolean).join('; ') : point.kind_word,
      point.visits.toLocaleString('en'),
      String(lines.filter((line) => line.point === i).length),
      String(aside.filter((line) => line.point === i && line.verdict === 'aside').length),
      String(point.low_visits)])),
    ...data.points.filter((point) => point.there).map((point) => element('p', {}, `${point.name}: ${point.there}.`)),
    ...data.points.filter((point) => point.sampling).map((point) => element('p', {}, `${point.name}: `, ...sentence(`${point.sampling}.`))), ...this.latencies());
  },

  // Throughput and latency of pairs, as the program is.
  latencies() {
    const pairs = data.points.filter((point) => point.latency && point.latency.mean !== null);
    if (!pairs.length) return [];
    const figure = (value, unit) => value === null ? 'not known' : `${value.toLocaleString('en', {maximumSignificantDigits: 3})}${unit}`;
    const heads = ['Latency without speedup', 'Arrivals a second', 'Departures a second', 'Under way', 'Mean', 'p50', 'p99'];
    return [table(heads, pairs.map(({name, latency}) => [breakable(name), figure(latency.in, ''), figure(latency.out, ''), figure(latency.under_way, ''),
      figure(latency.mean, ' ms'), figure(latency.p50, ' ms'), figure(latency.p99, ' ms')])),
    ...pairs.filter(({latency}) => latency.error).map(({name, latency}) => element('p', {}, `${name}: `, ...sentence(`${latency.error}.`))),
    ...pairs.filter(({latency}) => latency.mismatch).map(({name, latency}) => element('p', {}, `${name}: `, ...sentence(`${latency.mismatch}.`))),
    ...pairs.filter(({latency}) => !latency.stable && !latency.mismatch).map(({name}) => element('p', {}, `${name}: arrivals outrun departures; latency grows as long as this lasts, and its figures say little.`))];
  },

  // As `coz report --threads` has them.
  threads() {
    if (!data.threads) return '';
    const {rows, more, names, tables} = data.threads;
    const heads = ['Thread', 'Threads', 'Samples', 'Share', 'In scope', 'CPU time', 'Start', 'End', 'Note'];
    return element('section', {class: 'sheet threads'}, element('h2', {}, 'Threads'), table(heads, rows),
      more ? element('p', {class: 'muted'}, `And ${count(more, 'more name')}: coz report --threads.`) : null,
      ...tables.map((counters) => table([counters.head, 'all', ...names], counters.rows)));
  },

  session(session, index) {
    const name = data.sessions.length > 1 ? `Run ${index + 1}` : 'Run';
    return element('section', {class: 'sheet'}, element('h2', {}, name), commandBox(session.command), this.facts([
      ['Folder', session.folder],
      ['Started', session.start],
      ['Duration', seconds(session.seconds)],
      ['Ended', session.end],
      ['Machine', `${session.host}, ${count(session.cpus, 'CPU')}, ${session.cpu}`],
      ['Kernel', session.kernel],
      ['Sampled by', session.sampling],
      ['Why not a better source', session.fallback],
      ['In every experiment', session.given ? `${session.given} faster` : ''],
      ['Seed', session.seed],
      ['coz', session.version],
    ]), element('h3', {}, 'Run it again with the same seed'), commandBox(session.again));
  },

  more() {
    return data.more_sessions ? element('p', {class: 'muted'}, `And ${count(data.more_sessions, 'more run')}, all of which are in the figures.`) : '';
  },

  // What is set aside, each once: at the first of its progress points.
  asideOnce() {
    const first = new Map();
    for (const line of aside) {
      if (line.verdict === 'aside' && !first.has(line.unit)) first.set(line.unit, line);
    }
    return [...first.values()];
  },

  notUsed() {
    const reasons = new Map();
    const small = new Set(aside.filter((line) => line.verdict === 'small').map((line) => line.unit)).size;
    for (const line of this.asideOnce()) {
      const words = line.sentence.replace(/, about .*|, days more.*/, '').replace(/\.$/, '');
      const reason = words[0].toLowerCase() + words.slice(1);
      reasons.set(reason, (reasons.get(reason) || 0) + 1);
    }
    const items = [
      ...[...reasons].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([words, n]) => `${count(n, noun)} set aside: ${words}`),
      ...(small ? [`${count(small, noun)} that ${small === 1 ? 'takes' : 'take'} too little CPU time to bring anything`] : []),
    ];
    return element('section', {class: 'sheet'}, element('h2', {}, 'Set aside, and notes'),
      items.length ? element('ul', {class: 'plain-list'}, ...items.map((text) => element('li', {}, ...sentence(text)))) : null,
      items.length || data.notes.length || data.nothing ? null : element('p', {class: 'muted'}, 'Every experiment, and all that was tried, is in the figures.'),
      data.notes.length ? element('ul', {class: 'plain-list notes'}, ...data.notes.map((note) => element('li', {}, ...sentence(note)))) : null);
  },
};
