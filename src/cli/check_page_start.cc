// SPDX-License-Identifier: Apache-2.0
// The script of the page, first part: texts, elements, the header and the laws.
#include "cli/check_page.h"

namespace anemone::cli {

const std::string_view kCheckPageStart = R"html(</script>
<script>
'use strict';
(() => {
const byId = (id) => document.getElementById(id);

// Text that is safe to look at: characters that are invisible, or that turn the direction of the
// text around them, are written as their numbers.
const kHidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const visible = (text) => String(text).replace(
    kHidden, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value !== false) element.setAttribute(name, value);
  for (const child of children.flat(Infinity))
    element.append(child instanceof Node ? child : visible(child));
  return element;
}
// An element; a function among the attributes is a listener, and a text among the children stays a
// text.
const make = (tag, attributes = {}, ...children) =>
    fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const kMaxName = 160;
const shortened = (name) =>
    name.length <= kMaxName ? name : `${name.slice(0, 100)} \u2026 ${name.slice(-50)}`;
const devices = {ane: 'Neural Engine', cpu: 'CPU', gpu: 'GPU'};
const deviceName = (id) => devices[id] ?? id;
const isProduct = (operation) => [
  'conv', 'conv_transpose', 'linear', 'matmul', 'einsum', 'scaled_dot_product_attention', 'lstm', 'gru', 'rnn',
].includes(operation.type);
const count = (n) => n.toLocaleString('en');
const digits = new Intl.NumberFormat('en', {maximumSignificantDigits: 3});
const plural = (n, what) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;
const ofAll = (part, all) =>
    all === 0 ? 'none' : part === all ? `all ${count(all)}` : `${count(part)} of ${count(all)}`;
function bytesText(bytes) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.length; ++unit) bytes /= 1000;
  return `${unit === 0 ? bytes : bytes.toFixed(bytes < 10 ? 2 : 1)} ${units[unit]}`;
}
const gmacText = (multiplications) => `${digits.format(multiplications / 1e9)} GMAC`;
const say = (id, text) => byId(id).append(make('p', {class: 'intro'}, text));
const facts = (pairs) => pairs.map(
    ([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value)));

const moreText = (step, left, what) => left <= step ? `Show the last ${plural(left, what)}` :
    `Show ${count(step)} more of ${plural(left, what)}`;

// Appends the elements for the first items to `parent`, and a button that appends the next ones.
function appendSome(parent, items, step, what, element) {
  const button = make('button', {type: 'button', class: 'more', click: () => append(true)});
  const last = parent.localName === 'ul' ? make('li', {}, button) : button;
  let shown = 0;
  function append(hasFocus) {
    const next = items.slice(shown, shown + step).map(element);
    shown += next.length;
    parent.append(...next);
    const left = items.length - shown;
    button.textContent = moreText(step, left, what);
    if (left > 0) {
      parent.append(last);
    } else if (hasFocus) {
      last.remove();
      next[0].tabIndex = -1;
      next[0].focus();
    }
  }
  append(false);
}

function verdict({totals, severities}) {
  const refused = severities.refused === 0 ? '' :
      `${plural(severities.refused, 'law')} ${severities.refused === 1 ? 'refuses' : 'refuse'} ` +
      'the model';
  if (totals.operations === 0)
    return 'The file has no operations to place' + (refused && `, and ${refused}`) + '.';
  if (totals.cpu > 0) {
    const lost = totals.products - totals.products_ane;
    const among = lost === 0 ? '' :
        `, ${count(lost)} of ${plural(totals.products, 'matrix product')} among them`;
    return `${plural(totals.cpu, 'operation')} ${totals.cpu === 1 ? 'leaves' : 'leave'} the ` +
        `Neural Engine${among}${refused && `, and ${refused}`}.`;
  }
  if (refused) return `No operation leaves the Neural Engine, but ${refused}.`;
  const what = totals.products === 0 ? plural(totals.operations, 'operation') :
      plural(totals.products, 'matrix product');
  return `Core ML should run ${count(totals.products_ane || totals.ane)} of ${what} on the ` +
      'Neural Engine.';
}

function showHeader(report) {
  const {totals, severities, chip} = report;
  document.title = visible(`${report.file}: anemone check`);
  byId('brand').textContent = `anemone ${report.anemone} check, ` + (chip.named ?
      `for the ${chip.name}` : `for any chip; times are those of the ${chip.name}`);
  byId('file').textContent = visible(report.file);
  byId('verdict').textContent = verdict(report);
  byId('verdict').dataset.tone = severities.refused > 0 ? 'refused' :
      totals.cpu > 0 || severities.slow > 0 ? 'slow' : totals.operations > 0 ? 'good' : 'empty';
  byId('verdict').hidden = false;
  for (const severity of Object.keys(kSeverities)) {
    const n = severities[severity];
    const text = severity === 'note' ? plural(n, 'note') : `${count(n)} ${severity}`;
    byId('severities').append(n === 0 ? make('span', {class: 'chip'}, text) :
        make('a', {class: `chip ${severity}`, href: `#severity-${severity}`}, text));
  }
  const share = totals.multiplications_ane_share;
  byId('totals').append(...facts([
    ['Operations on the Neural Engine', ofAll(totals.ane, totals.operations)],
    ['Matrix products on the Neural Engine', ofAll(totals.products_ane, totals.products)],
    ['Multiplications on the Neural Engine', totals.multiplications === 0 ? 'none' :
        (share === 1 ? 'all ' : `${digits.format(Math.min(share * 100, 99.9))} % of `) +
            gmacText(totals.multiplications)],
    ['Weights', bytesText(totals.weight_bytes)],
    ['States', totals.state_bytes === 0 ? 'none' : bytesText(totals.state_bytes)],
    ...report.steps.map((step) => [`A step of ${step.function}, at least`,
        `${digits.format(step.estimated_ms)} ms in ${plural(step.packages, 'package')}`]),
  ]));
}

const kSeverities = {
  refused: ['Refused', 'The chip or Core ML was seen to refuse this, to crash, or to compute ' +
      'wrong numbers.'],
  slow: ['Slow', 'This runs, but with more memory traffic, more loads, or operations on the CPU.'],
  contested: ['Contested', 'Reports disagree, or nobody has measured this form.'],
  note: ['Notes', 'These are conventions that later reports go beyond. They are good to know, ' +
      'and no reason for a change.'],
};

// How a hint begins, before what is typed or done.
const hintStarts = {
  option: 'Compile with', omit: 'Compile without',
  form: 'Compile with --form FILE.json, a file with', rewrite: 'Rewrite the graph:',
  nothing: 'Nothing to do:',
};
// With --hints alone.
function hintsEntry({hints = []}) {
  const item = ({kind, text}) => make('li', {}, `${hintStarts[kind] ?? kind} `,
      ['rewrite', 'nothing'].includes(kind) ? text : make('code', {}, text));
  return hints.length === 0 ? [] :
      [make('dt', {}, 'Hints'), make('dd', {}, make('ul', {}, hints.map(item)))];
}

function lawCard(law, operations, list) {
  const [source, ...against] = law.source.split(/(?:^|; )against it /);
  const places = make('ul');
  appendSome(places, law.examples, 8, 'finding', ({found, kind, count: n, first}) =>
      make('li', {}, `${plural(n, kind)}: `, make('strong', {}, shortened(found)),
          first === '' ? [] :
              [n === 1 ? ', in ' : ', the first in ', make('code', {}, shortened(first))]));
  const entry = (name, value) => [make('dt', {}, name), make('dd', {}, value)];
  const moved = operations.filter(({operation}) => operation.law === law.law).length;
  const isOpen = ['refused', 'slow'].includes(law.severity);
  return make('details', {class: `law ${law.severity}`, open: isOpen && ''},
      make('summary', {},
          make('span', {class: 'title'}, law.statement, make('code', {}, law.law)),
          make('span', {class: 'badge muted'}, plural(law.places, 'place'))),
      make('div', {class: 'body'},
          make('dl', {}, entry('Change', law.change), hintsEntry(law), entry('Places', places),
              source === '' ? [] : entry('Evidence', source),
              against.length === 0 ? [] : entry('Evidence against it', against.join('; '))),
          moved === 0 ? [] : make('button', {type: 'button', click: () => list({law: law.law})},
              `List the ${plural(moved, 'operation')} that it moves off the Neural Engine`)));
}

function showLaws(report, operations, list) {
  if (report.laws.length === 0) {
    say('laws', 'Nothing was found. The model breaks none of the laws that are known.');
    return;
  }
  if (report.severities.refused + report.severities.slow === 0)
    say('laws', 'Nothing in the model is known to be refused or slow.');
  const names = new Set([...Object.keys(kSeverities), ...report.laws.map((law) => law.severity)]);
  for (const severity of names) {
    const laws = report.laws.filter((law) => law.severity === severity);
    if (laws.length === 0) continue;
    const [title, meaning] = kSeverities[severity] ?? [severity, ''];
    byId('laws').append(make('div', {class: 'group'},
        make('h3', {class: severity, id: `severity-${severity}`, tabindex: -1}, title),
        make('p', {}, meaning), laws.map((law) => lawCard(law, operations, list))));
  }
}
)html";

}  // namespace anemone::cli
