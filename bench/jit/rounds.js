// Rounds of two functions, of which "parse" does twice the work of "render" unless it is told otherwise.
//
//   node rounds.js SECONDS SHARE-OF-PARSE
'use strict';
const fs = require('fs');

function parse(x, steps) {
  for (let i = 0; i < steps; ++i) x = (Math.imul(x, 1664525) + 1013904223) | 0;
  return x;
}

function render(x, steps) {
  for (let i = 0; i < steps; ++i) x = (Math.imul(x, 22695477) + 1) | 0;
  return x;
}

const [seconds, share] = process.argv.slice(2).map(Number);
const sink = fs.openSync('/dev/null', 'w');
const start = Date.now();
let x = 1;
let rounds = 0;
while (Date.now() < start + 1000 * seconds) {
  x = render(parse(x, Math.round(600000 * share)), 300000);
  fs.writeSync(sink, String(x));
  ++rounds;
}
console.log('rounds per second: %d', (1000 * rounds) / (Date.now() - start));
