// Puts the parts together: headings, views, keys.

const VIEWS = {lines: () => grid.layout(), paths: () => pathTree.show(), timeline: () => timeline.show(), run: () => runPage.show(), meaning: () => meaning.show()};
let domain = [-0.1, 0.2];

// Those that the profile has something for.
function tabs() { return [...byId('views').children].filter((tab) => !tab.hidden); }

function showView(name) {
  for (const tab of tabs()) {
    const chosen = tab.dataset.view === name;
    tab.setAttribute('aria-selected', String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(`view-${tab.dataset.view}`).hidden = !chosen;
  }
  tooltip.hide();
  filters.state.view = name;
  filters.toAddress();
  VIEWS[name]();
}

function openLine(line, takeFocus) {
  details.show(line, domain, takeFocus);
  grid.select(line);
  grid.layout();
  details.plot();
}

function showLines() {
  const point = data.points[filters.state.point];
  const all = filters.all();
  domain = verticalDomain(all);
  const shown = filters.shown();
  byId('count').textContent = shown.length === all.length ? count(all.length, noun) : `${shown.length.toLocaleString('en')} of ${count(all.length, noun)}`;
  byId('empty').hidden = shown.length > 0;
  byId('empty').replaceChildren(...emptyText(all));
  // One or two cards need no wide column; the details take the room.
  document.body.classList.toggle('few', shown.length < 3);
  headline(all);
  legend(point, all);
  grid.show(shown, domain);
  if (details.line && details.line.point !== filters.state.point) {
    const same = all.find((line) => line.unit === details.line.unit);
    if (same) openLine(same, false); else details.close();
  }
}

// What the reader came for, in a sentence or two: the line that is worth most, and how many others are.
function headline(all) {
  const box = byId('headline');
  box.hidden = !all.length || data.nothing !== null;
  if (box.hidden) return;
  const worth = all.filter((line) => line.verdict === 'faster');
  const hurting = all.filter((line) => line.verdict === 'slower');
  const open = all.filter((line) => line.verdict === 'cannot_tell' || line.verdict === 'aside');
  const first = worth[0] || hurting[0];
  const name = (line) => element('button', {type: 'button', class: 'link place', onclick: () => openLine(line, true)}, ...breakable(line.unit.place));
  const parts = first ? named(first.sentence, name(first)) : [`No ${noun} is known to be worth making faster.`];
  if (worth.length > 1) parts.push(` ${count(worth.length - 1, `other ${noun}`)} ${worth.length === 2 ? 'is' : 'are'} worth it, too.`);
  if (worth.length && hurting.length) parts.push(` ${count(hurting.length, noun)} would hurt.`);
  if (open.length) parts.push(` Of ${count(open.length, noun)} it is not yet known.`);
  const {spread, untried} = data.points[filters.state.point];
  for (const text of [spread, untried]) {
    if (text) parts.push(' ', ...sentence(`${text}.`));
  }
  box.replaceChildren(...parts);
}

// The sentence of a line with its name in place of "this", where it says "this".
function named(text, name) {
  const at = text.search(/\bthis\b/);
  if (at < 0) return [name, ': ', ...sentence(text)];
  return [...sentence(text.slice(0, at)), name, ...sentence(text.slice(at + 'this'.length))];
}

function emptyText(all) {
  if (data.nothing) return [element('h2', {}, 'Nothing was measured'), element('p', {}, `${data.nothing.what}.`), element('p', {}, ...sentence(data.nothing.remedy))];
  if (!all.length) return [element('h2', {}, 'No figure at this progress point'), element('p', {}, 'No experiment that can be used saw it. The notes of the run say why.')];
  return [element('h2', {}, `No ${noun} passes these filters`), element('p', {}, 'Take one back, or show all.')];
}

function legend(point, all) {
  if (!point) return;
  const timed = point.kind === 'latency' || point.kind === 'end_to_end';
  const across = `this ${noun} faster`;
  const up = timed ? 'shorter' : 'faster';
  const bends = all.some(hasPlacedBend);
  byId('legend').replaceChildren(
    element('span', {}, element('span', {class: 'key-curve'}), figures(' effect with its 95 % band')),
    element('span', {}, element('span', {class: 'key-dot'}), ' measured at one speedup'),
    ...(bends ? [element('span', {}, element('span', {class: 'key-ring'}), ' bend')] : []),
    element('span', {}, `→ ${across}`), element('span', {}, '↑ ', element('code', {class: 'legend-name', title: point.name}, point.name), ` ${up}`),
    element('button', {type: 'button', class: 'link', onclick: () => meaning.open('gain')}, 'What it all means'));
}

function headings() {
  const {facts, sessions} = data;
  const program = data.title.split(' ')[0].split('/').pop();
  byId('title').textContent = program + data.title.slice(data.title.split(' ')[0].length);
  byId('title').title = data.title;
  document.title = `${program}: causal profile`;
  const parts = [seconds(facts.seconds), count(facts.experiments, 'experiment')];
  if (sessions.length > 1) parts.push(count(sessions.length, 'run'));
  else if (sessions.length) parts.push(sessions[0].start.replace(/-/g, '\u2011'));
  byId('tab-lines').textContent = plural(noun)[0].toUpperCase() + plural(noun).slice(1);
  byId('subtitle').textContent = parts.join(' · ');
  byId('licences').textContent = byId('licence-text').textContent.trim();
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === 'Escape') {
    if (typing) event.target.blur();
    else if (!byId('details').hidden) details.close();
    return;
  }
  if (typing) return;
  const tab = tabs()[Number(event.key) - 1];
  if (tab) showView(tab.dataset.view);
  else if (event.key === 't' || event.key === 'T') theme.toggle();
  else if (event.key === '/') {
    event.preventDefault();
    showView('lines');
    byId('search').focus();
    byId('search').select();
  }
}

function tabKeys(event) {
  const all = tabs();
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!step) return;
  const next = all[(all.indexOf(event.target) + step + all.length) % all.length];
  showView(next.dataset.view);
  next.focus();
}

// What sticks below the toolbar has to know where that ends.
function followToolbar() {
  const toolbar = document.querySelector('.toolbar');
  new ResizeObserver(() => document.documentElement.style.setProperty('--toolbar', `${toolbar.offsetHeight}px`)).observe(toolbar);
}

function start() {
  theme.start();
  followToolbar();
  headings();
  pathTree.start((line) => { showView('lines'); openLine(line, true); });
  byId('views').addEventListener('click', (event) => { if (event.target.dataset.view) showView(event.target.dataset.view); });
  byId('views').addEventListener('keydown', tabKeys);
  document.addEventListener('keydown', keys);
  addEventListener('resize', () => details.plot());
  grid.start(openLine);
  filters.start(showLines);
  showView(tabs().some((tab) => tab.dataset.view === filters.state.view) ? filters.state.view : 'lines');
  const first = filters.shown()[0];
  if (first && innerWidth > 1100) openLine(first, false);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
}

start();
