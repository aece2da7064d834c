// Light or dark: the system's choice until the reader makes one, which is kept where the browser allows it.

const theme = {
  listeners: [],
  system: matchMedia('(prefers-color-scheme: dark)'),

  current() { return document.documentElement.dataset.theme || (this.system.matches ? 'dark' : 'light'); },

  start() {
    try {
      const kept = localStorage.getItem('coz-theme');
      if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
    } catch { /* Storage is forbidden: the system's choice it is. */ }
    this.system.addEventListener('change', () => this.changed());
    byId('theme').addEventListener('click', () => this.toggle());
    this.changed();
  },

  toggle() {
    const next = this.current() === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem('coz-theme', next); } catch { /* Kept for this page only. */ }
    this.changed();
  },

  changed() {
    const dark = this.current() === 'dark';
    byId('theme').textContent = dark ? '☀' : '☾';
    byId('theme').setAttribute('aria-label', dark ? 'Use the light theme' : 'Use the dark theme');
    for (const listener of this.listeners) listener();
  },
};
