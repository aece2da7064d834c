// Call paths as a tree: each function, and below it who calls it, with the figures of each path at the
// chosen progress point.

const pathTree = {
  onOpen: () => {},

  start(onOpen) {
    this.onOpen = onOpen;
    byId('tab-paths').hidden = byId('fifth').hidden = !data.paths.length;
  },

  // Anew each time, as another progress point may have been chosen.
  show() {
    const point = filters.state.point;
    const known = new Map([...lines, ...aside].filter((line) => line.point === point).map((line) => [line.unit.index, line]));
    const rows = data.paths.map((row) => this.row(row, known.get(row[4])));
    byId('view-paths').replaceChildren(element('section', {class: 'sheet paths'}, element('h2', {}, 'Callers'),
      element('p', {class: 'lead'}, 'Each function, and below it who calls it, with its share of the samples. A function has the samples of all its paths. Effects are those at ',
        element('code', {}, data.points.length ? data.points[point].name : 'no progress point'), '.'),
      table(['Function', 'Share', 'Effect', 'Verdict'], rows)));
    this.indent();
  },

  row([, kind, name, share], line) {
    const text = {function: name, caller: `< ${name}`, none: 'called by no function in scope', threads: name}[kind];
    const shown = breakable(text);
    const cell = line ? element('button', {type: 'button', class: 'link', onclick: () => this.onOpen(line)}, ...shown) : element('span', {class: kind === 'none' ? 'muted' : null}, ...shown);
    return [cell, percent(share, {digits: 1}), line && line.gain ? line.gain : '', line ? [verdictBadge(line)] : ''];
  },

  // Not by a style attribute, which the policy of the page forbids in markup.
  indent() {
    const heads = byId('view-paths').querySelectorAll('tbody th');
    data.paths.forEach(([depth], i) => { heads[i].style.paddingLeft = `${depth * 22}px`; });
  },
};
