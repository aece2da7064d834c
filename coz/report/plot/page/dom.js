// Elements without markup: text never becomes HTML, whatever a file or a progress point is called.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') made.className = value;
    else if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function byId(id) { return document.getElementById(id); }

// A path may be broken after a slash, a name after ::.
function breakable(text) {
  const parts = text.split(/(?<=\/|::|,)/);
  return parts.flatMap((part, i) => (i === 0 ? [part] : [element('wbr'), part]));
}

// Figures as on the axes: with a real minus, and never apart from their percent sign.
function figures(text) {
  return text.replace(/(^|[\s(])-(?=[\d.])/g, '$1−').replace(/(\d) %/g, '$1\u00a0%');
}

// `names in backquotes` in the sentences become code.
function sentence(text) {
  return text.split(/(`[^`]*`)/).filter(Boolean).map((part) =>
    (part.length > 1 && part.startsWith('`') && part.endsWith('`') ? element('code', {}, part.slice(1, -1)) : figures(part)));
}

function verdictWord({verdict, sure}) {
  return VERDICTS[verdict].word + (sure || verdict === 'cannot_tell' ? '' : '?');
}

function verdictBadge(line) {
  const {verdict} = line;
  const {mark} = VERDICTS[verdict];
  return element('span', {class: `verdict ${verdict}`}, element('span', {class: 'mark', 'aria-hidden': 'true'}, mark), verdictWord(line));
}

// Cells are texts or lists of texts and elements. On narrow screens each row becomes a list, in which its cells carry their heads (page.css).
function table(heads, rows) {
  const content = (cell) => (Array.isArray(cell) ? cell : [cell]);
  return element('table', {class: 'stacks'}, element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', {scope: 'col'}, head)))),
    element('tbody', {}, ...rows.map(([first, ...rest]) => element('tr', {}, element('th', {scope: 'row'}, ...content(first)),
      ...rest.map((cell, i) => element('td', {'data-head': heads[i + 1]}, element('span', {}, ...content(cell).map((part) => (typeof part === 'string' ? figures(part) : part)))))))));
}

// A command with a button that copies it; where the browser forbids that, the text is selected.
function commandBox(command) {
  const code = element('code', {tabindex: '0'}, command);
  const button = element('button', {type: 'button', class: 'copy', 'aria-label': 'Copy the command'}, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  return element('div', {class: 'command'}, code, button);
}

const tooltip = {
  show(event, content) {
    const box = byId('tooltip');
    box.replaceChildren(...content);
    box.hidden = false;
    const x = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
    const y = event.clientY + 18 + box.offsetHeight > innerHeight ? event.clientY - box.offsetHeight - 10 : event.clientY + 18;
    box.style.transform = `translate(${Math.max(4, x)}px, ${y}px)`;
  },
  hide() { byId('tooltip').hidden = true; },
};
