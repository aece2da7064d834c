// What each figure and mark means. Their names on the page are links to here.

const MEANINGS = {
  gain: ['Gain at 30 %', 'How much faster the program gets when the line gets 30 % faster: the time saved for each visit to the progress point. +30 % means 0.7 of the time, a rate 1.43 times as high. Of a pair of marks: how much shorter the time between them gets. In brackets: the 95 % interval. All lines are compared at 30 %; where a line was tried less far, or bends before, its own speedup stands behind.'],
  slope: ['Slope', 'Of a straight curve: 0.40 means that making the line 10 % faster makes the program 4 % faster, and so on in proportion. A curve that bends has none.'],
  bend: ['Bends at', 'Up to here a faster line brings what the curve says; beyond, something else is the bottleneck, and it brings less, nothing or a loss. In brackets: the 95 % interval of that place. Where it is narrow the plot has a ring there; else the interval stands alone.'],
  end: ['At the end', 'The curve seems to bend, and a longer run is needed to be sure. This is the gain at the largest speedup that was tried.'],
  limit: ['However fast', 'The line takes so little CPU time that it cannot bring more, whatever experiments would say: its samples alone tell that it brings nothing.'],
  samples: ['Samples', 'The share of all samples that fell on the line: what an ordinary profiler shows. It does not say what a faster line would bring.'],
  verdict: ['Verdict', 'Worth it: a faster line makes the program faster. No gain: however fast it gets, the program gains less than a tenth of that. Hurts: a faster line makes the program slower. Not yet known: both may still be true. A question mark: the run itself went wrong, and the sentence says how.'],
  aside: ['Set aside', 'A line with too little data for a figure. Its card says what it lacks. A small line needs none: it takes so little CPU time that it cannot bring a tenth of what it gets faster by.'],
  speedup: ['Virtual speedup', 'While an experiment speeds a line up, every other thread is paused for a share of the time the line runs; what is left is what a faster line would bring.'],
  band: ['Line and band', 'The effect by all experiments together, and where it is with 95 % certainty. What stays however long you run is in the band, too.'],
  dots: ['Dots and bars', 'What the experiments at one speedup measured, and the 95 % interval of these few alone. A larger dot stands for more experiments.'],
  arrow: ['Arrow at the edge', 'The plot ends there, the effect goes on: to the figure beside it.'],
  experiments: ['Experiments', 'Those without a speedup that the line is compared with + those with one.'],
  luck: ['By luck', 'The q-value: of the verdicts “worth it” and “hurts” up to this one, the share that luck alone would make.'],
  phase: ['Phase factor', 'The line is active in a part of the run only. Its effect there was taken times this for the whole run.'],
};

function meaningOf(key) { return figures(MEANINGS[key][1]); }

// The name of a figure; what it means when it is followed.
function meaningLink(key) {
  const [name] = MEANINGS[key];
  return element('button', {type: 'button', class: 'term', title: meaningOf(key), onclick: () => meaning.open(key)}, figures(name));
}

const meaning = {
  made: false,

  show() {
    if (this.made) return;
    this.made = true;
    byId('view-meaning').append(element('section', {class: 'sheet'}, element('h2', {}, 'What the figures mean'), element('dl', {class: 'terms'},
      ...Object.entries(MEANINGS).flatMap(([key, [name, text]]) => [element('dt', {id: `meaning-${key}`, tabindex: '-1'}, figures(name)), element('dd', {}, figures(text))]))));
  },

  open(key) {
    if (innerWidth <= 1100) details.close();
    showView('meaning');
    const term = byId(`meaning-${key}`);
    for (const other of document.querySelectorAll('.terms .sought')) other.classList.remove('sought');
    term.classList.add('sought');
    term.scrollIntoView({block: 'center'});
    term.focus({preventScroll: true});
  },
};
