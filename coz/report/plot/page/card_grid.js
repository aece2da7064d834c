// Small plots in a grid. Only the cards in view exist, so that 5,000 lines cost no more than twenty.

const CARD_HEIGHT = 312;
const CARD_GAP = 14;
const CARD_MIN_WIDTH = 286;

const grid = {
  shown: [],
  made: new Map(),  // index → element
  columns: 1,
  cardWidth: 0,
  domain: [-0.1, 0.2],
  current: 0,        // the card that Tab reaches
  selected: null,    // the line in the details
  onOpen: () => {},

  start(onOpen) {
    this.onOpen = onOpen;
    addEventListener('scroll', () => this.schedule(), {passive: true});
    new ResizeObserver(() => this.layout()).observe(byId('cards'));
    byId('cards').addEventListener('keydown', (event) => this.key(event));
  },

  show(list, domain) {
    this.shown = list;
    this.domain = domain;
    this.current = Math.max(0, list.indexOf(this.selected));
    this.clear();
    this.layout();
  },

  clear() {
    for (const card of this.made.values()) card.remove();
    this.made.clear();
  },

  layout() {
    const width = byId('cards').clientWidth;
    if (width === 0) return;
    const columns = Math.max(1, Math.floor((width + CARD_GAP) / (CARD_MIN_WIDTH + CARD_GAP)));
    const cardWidth = Math.floor((width - CARD_GAP * (columns - 1)) / columns);
    if (columns !== this.columns || cardWidth !== this.cardWidth) this.clear();
    this.columns = columns;
    this.cardWidth = cardWidth;
    const rows = Math.ceil(this.shown.length / columns);
    byId('cards').style.height = `${Math.max(0, rows * (CARD_HEIGHT + CARD_GAP) - CARD_GAP)}px`;
    this.render();
  },

  schedule() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.render(); });
  },

  render() {
    const top = byId('cards').getBoundingClientRect().top;
    const pitch = CARD_HEIGHT + CARD_GAP;
    const first = Math.max(0, Math.floor(-top / pitch) - 1) * this.columns;
    const last = Math.min(this.shown.length, (Math.ceil((innerHeight - top) / pitch) + 1) * this.columns);
    for (const [index, card] of this.made) {
      const focused = card.contains(document.activeElement);
      if ((index < first || index >= last) && !focused) { card.remove(); this.made.delete(index); }
    }
    const list = byId('cards');
    for (let index = first; index < last; ++index) {
      if (this.made.has(index)) continue;
      const card = this.card(index);
      this.made.set(index, card);
      const next = [...list.children].find((other) => Number(other.dataset.index) > index);
      list.insertBefore(card, next || null);
    }
  },

  card(index) {
    const line = this.shown[index];
    const {unit} = line;
    const item = element('li', {class: `card ${line.verdict}`, 'data-kind': unit.kind, 'data-index': index, 'aria-setsize': this.shown.length, 'aria-posinset': index + 1});
    item.style.width = `${this.cardWidth}px`;
    item.style.height = `${CARD_HEIGHT}px`;
    const column = index % this.columns;
    item.style.transform = `translate(${column * (this.cardWidth + CARD_GAP)}px, ${Math.floor(index / this.columns) * (CARD_HEIGHT + CARD_GAP)}px)`;
    const button = element('button', {type: 'button', class: 'card-button', tabindex: index === this.current ? '0' : '-1',
      'aria-label': `${unit.place} ${unit.under}: ${verdictWord(line)}. ${line.sentence}`,
      onclick: () => this.open(index, true)});
    button.append(
      element('span', {class: 'card-head'},
        element('span', {class: 'place', title: unit.path || unit.place}, element('bdi', {dir: 'ltr'}, unit.place)), verdictBadge(line)),
      element('span', {class: 'function', title: unit.under}, unit.under || '\u00a0'),
      this.source(unit),
      this.plot(line),
      element('span', {class: 'sentence'}, ...sentence(line.sentence)),
      this.figures(line));
    item.append(button);
    if (this.selected === line) item.classList.add('selected');
    return item;
  },

  source({text, isChanged}) {
    if (!text) return '';
    if (!isChanged) return element('span', {class: 'source'}, text);
    return element('span', {class: 'source', title: CHANGED_SINCE}, element('span', {class: 'changed'}, 'changed since'), ' ', text);
  },

  plot(line) {
    if (!line.curve.length) return element('span', {class: 'no-plot', 'aria-hidden': 'true'}, line.limit === null ? 'no figure' : 'needs no experiments');
    // Without source text there is more room for the plot.
    return new CurvePlot(line, {width: this.cardWidth - 26, height: line.unit.text ? 138 : 165, domain: this.domain}).draw();
  },

  figures(line) {
    const parts = [];
    if (line.gain !== null) parts.push(element('span', {title: meaningOf('gain')}, element('b', {}, figures(line.gain.replace(/ \(.*\)/, ''))), line.gain.includes(' at ') ? '' : ` at ${percent(QUOTED_SPEEDUP)}`));
    parts.push(element('span', {title: meaningOf('samples')}, element('b', {}, percent(line.unit.share, {digits: 1})), ' samples'));
    return element('span', {class: 'figures'}, ...parts);
  },

  open(index, focusDetails) {
    this.makeCurrent(index);
    this.select(this.shown[index]);
    this.onOpen(this.shown[index], focusDetails);
  },

  select(line) {
    this.selected = line;
    for (const [index, card] of this.made) card.classList.toggle('selected', this.shown[index] === line);
  },

  makeCurrent(index) {
    const old = this.made.get(this.current);
    if (old) old.firstChild.tabIndex = -1;
    this.current = index;
    const card = this.made.get(index);
    if (card) card.firstChild.tabIndex = 0;
  },

  focus(index) {
    if (index < 0 || index >= this.shown.length) return;
    const pitch = CARD_HEIGHT + CARD_GAP;
    const top = byId('cards').getBoundingClientRect().top + Math.floor(index / this.columns) * pitch;
    const toolbar = document.querySelector('.toolbar').getBoundingClientRect();
    const ceiling = Math.max(0, toolbar.bottom) + CARD_GAP;
    if (top < ceiling) scrollBy(0, top - ceiling);
    else if (top + CARD_HEIGHT > innerHeight) scrollBy(0, top + CARD_HEIGHT - innerHeight + CARD_GAP);
    this.render();
    this.makeCurrent(index);
    this.made.get(index)?.firstChild.focus({preventScroll: true});
  },

  key(event) {
    const steps = {ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns,
      Home: -this.shown.length, End: this.shown.length, PageDown: 3 * this.columns, PageUp: -3 * this.columns};
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.focus(Math.max(0, Math.min(this.shown.length - 1, this.current + step)));
  },
};
