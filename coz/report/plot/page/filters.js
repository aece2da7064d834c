// Which lines are shown and in what order. The choice is kept in the page's address, so that a link shows the same.

const SORTS = {
  rank: {name: 'Worth doing first', by: (a, b) => a.rank - b.rank},
  gain: {name: figures(`Gain at ${QUOTED_SPEEDUP * 100} %`), by: (a, b) => descending(a.quoted[0], b.quoted[0])},
  certain: {name: 'Certain gain', by: (a, b) => descending(a.quoted[1], b.quoted[1])},
  hurts: {name: 'What hurts first', by: (a, b) => ascending(a.slope[0], b.slope[0])},
  samples: {name: 'Share of samples', by: (a, b) => b.unit.share - a.unit.share},
  data: {name: 'Most experiments', by: (a, b) => b.experiments - a.experiments},
  place: {name: 'File and line', by: (a, b) => comparePlaces(a.unit, b.unit)},
};

// Unknown values last, either way.
function ascending(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return a - b;
}

function descending(a, b) {
  return a === null || b === null ? ascending(a, b) : b - a;
}

const collator = new Intl.Collator('en', {numeric: true});

function comparePlaces(a, b) {
  if (a.file !== b.file) return collator.compare(a.shortFile, b.shortFile);
  return a.line - b.line;
}

const DEFAULTS = {view: 'lines', point: 0, search: '', sort: 'rank', file: '', function: '', minimum: 0, hidden: ''};

// With fewer lines all are in view, and there is nothing to search or to sort.
const FEW_LINES = 8;

// More progress points than these are offered as a menu, since buttons would fill the screen.
const MANY_POINTS = 6;

const filters = {
  state: {...DEFAULTS},
  listener: () => {},

  start(listener) {
    this.listener = listener;
    this.state = {...DEFAULTS};
    this.fromAddress();
    this.controls();
    this.show();
  },

  // All lines of the progress point.
  all() { return [...lines, ...aside].filter((line) => line.point === this.state.point); },

  passesMenus(line) {
    const {search, file, minimum} = this.state;
    if (file !== '' && line.unit.path !== file) return false;
    if (this.state.function !== '' && line.unit.name !== this.state.function) return false;
    if (line.experiments < minimum) return false;
    return search.toLowerCase().split(/\s+/).every((word) => line.unit.searchable.includes(word));
  },

  hiddenVerdicts() { return new Set(this.state.hidden.split(',').filter(Boolean)); },

  shown() {
    const hidden = this.hiddenVerdicts();
    const passing = this.all().filter((line) => !hidden.has(line.verdict) && this.passesMenus(line));
    const order = SORTS[this.state.sort].by;
    return passing.sort((a, b) => order(a, b) || a.rank - b.rank);
  },

  isFiltered() {
    return Object.keys(DEFAULTS).some((key) => !['view', 'point', 'sort'].includes(key) && this.state[key] !== DEFAULTS[key]);
  },

  set(changes) {
    Object.assign(this.state, changes);
    this.toAddress();
    this.show();
  },

  reset() {
    const {view, point, sort} = this.state;
    this.set({...DEFAULTS, view, point, sort});
    byId('search').value = '';
  },

  show() {
    for (const button of byId('points').children) {
      button.setAttribute('aria-pressed', String(Number(button.dataset.point) === this.state.point));
    }
    byId('point').value = String(this.state.point);
    this.menus();
    this.chips();
    this.offer();
    byId('sort').value = this.state.sort;
    byId('minimum').value = this.state.minimum;
    byId('reset').hidden = !this.isFiltered();
    if (document.activeElement !== byId('search')) byId('search').value = this.state.search;
    this.listener();
  },

  // Of the progress points.
  buttons() {
    return data.points.map((point, i) =>
      element('button', {type: 'button', 'data-point': i, title: `${point.name}: ${point.kind_word}, ${count(point.visits, 'visit')}`,
        onclick: () => this.choosePoint(i)},
      element('span', {class: 'point-name'}, point.name), element('small', {}, point.kind_word)));
  },

  choosePoint(point) { this.set({point, file: '', function: ''}); },

  controls() {
    if (data.points.length <= MANY_POINTS) byId('points').replaceChildren(...this.buttons());
    else byId('point').replaceChildren(...data.points.map((point, i) => element('option', {value: i}, `${point.name} (${point.kind_word})`)));
    byId('point').addEventListener('change', (event) => this.choosePoint(Number(event.target.value)));
    byId('sort').replaceChildren(...Object.entries(SORTS).map(([key, {name}]) => element('option', {value: key}, name)));
    byId('sort').addEventListener('change', (event) => this.set({sort: event.target.value}));
    byId('search').addEventListener('input', (event) => this.set({search: event.target.value}));
    byId('file').addEventListener('change', (event) => this.set({file: event.target.value, function: ''}));
    byId('function').addEventListener('change', (event) => this.set({function: event.target.value}));
    byId('minimum').addEventListener('input', (event) => this.set({minimum: Math.max(0, Number(event.target.value) || 0)}));
    byId('reset').addEventListener('click', () => this.reset());
    byId('more-filters').addEventListener('click', () => {
      const open = document.body.classList.toggle('filters-open');
      byId('more-filters').setAttribute('aria-expanded', String(open));
    });
  },

  // Only what has something to choose from. A choice that is made, by the address say, stays there to be
  // taken back.
  offer() {
    const all = this.all();
    const differ = (value) => new Set(all.map(value).filter(Boolean)).size > 1;
    const offered = {
      points: data.points.length > 1 && data.points.length <= MANY_POINTS,
      'point-field': data.points.length > MANY_POINTS,
      'search-field': all.length >= FEW_LINES || this.state.search !== '',
      'sort-field': all.length >= FEW_LINES || this.state.sort !== DEFAULTS.sort,
      'file-field': (all.length >= FEW_LINES && differ((line) => line.unit.path)) || this.state.file !== '',
      'function-field': (all.length >= FEW_LINES && differ((line) => line.unit.name)) || this.state.function !== '',
      'minimum-field': all.length >= FEW_LINES || this.state.minimum !== 0,
      verdicts: (all.length >= FEW_LINES && differ((line) => line.verdict)) || this.state.hidden !== '',
    };
    for (const [id, isOffered] of Object.entries(offered)) byId(id).hidden = !isOffered;
    const filters = ['file-field', 'function-field', 'minimum-field', 'verdicts'].some((id) => offered[id]);
    byId('filters').hidden = !filters;
    byId('more-filters').hidden = !filters;
    document.querySelector('.toolbar').hidden = !Object.values(offered).some(Boolean);
  },

  // Options with how many lines each has; rebuilt only when they change.
  menus() {
    const key = `${this.state.point} ${this.state.file}`;
    if (this.menuKey !== key) {
      this.menuKey = key;
      const all = this.all();
      this.fill('file', 'All files', all.map((line) => line.unit.path), (path) => (path.startsWith(data.folder) ? path.slice(data.folder.length) : path));
      const inFile = all.filter((line) => this.state.file === '' || line.unit.path === this.state.file);
      this.fill('function', 'All functions', inFile.map((line) => line.unit.name), (name) => name);
    }
    byId('file').value = this.state.file;
    byId('function').value = this.state.function;
  },

  fill(id, first, values, name) {
    const counts = new Map();
    for (const value of values) if (value !== '') counts.set(value, (counts.get(value) || 0) + 1);
    const sorted = [...counts.keys()].sort((a, b) => collator.compare(name(a), name(b)));
    byId(id).replaceChildren(element('option', {value: ''}, first),
      ...sorted.map((value) => element('option', {value}, `${name(value)} (${counts.get(value)})`)));
  },

  chips() {
    const hidden = this.hiddenVerdicts();
    const counts = {};
    for (const line of this.all()) if (this.passesMenus(line)) counts[line.verdict] = (counts[line.verdict] || 0) + 1;
    const focused = document.activeElement?.dataset?.verdict;
    const there = new Set(this.all().map((line) => line.verdict));
    const offered = Object.entries(VERDICTS).filter(([key]) => there.has(key) || hidden.has(key));
    byId('verdicts').replaceChildren(...offered.map(([key, {word, mark, hint}]) =>
      element('button', {type: 'button', class: `chip ${key}`, 'data-verdict': key, title: hint, 'aria-pressed': String(!hidden.has(key)),
        onclick: () => this.toggleVerdict(key)},
      element('span', {class: 'mark', 'aria-hidden': 'true'}, mark), word, element('b', {}, (counts[key] || 0).toLocaleString('en')))));
    if (focused) byId('verdicts').querySelector(`[data-verdict="${focused}"]`).focus();
  },

  toggleVerdict(key) {
    const hidden = this.hiddenVerdicts();
    if (!hidden.delete(key)) hidden.add(key);
    this.set({hidden: Object.keys(VERDICTS).filter((verdict) => hidden.has(verdict)).join(',')});
  },

  toAddress() {
    const changed = Object.entries(this.state).filter(([key, value]) => value !== DEFAULTS[key]);
    const hash = new URLSearchParams(changed).toString();
    try { history.replaceState(null, '', hash ? `#${hash}` : location.pathname + location.search); } catch { /* A page without an address. */ }
  },

  fromAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const [key, value] of given) {
      if (!(key in DEFAULTS)) continue;
      this.state[key] = typeof DEFAULTS[key] === 'number' ? Number(value) || 0 : value;
    }
    if (!(this.state.sort in SORTS)) this.state.sort = DEFAULTS.sort;
    if (!data.points[this.state.point]) this.state.point = 0;
  },
};
