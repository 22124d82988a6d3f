// SPDX-License-Identifier: Apache-2.0
// The script of the page, second part: the graph of each function.
#include "cli/check_page.h"

namespace anemone::cli {

const std::string_view kCheckPageGraph = R"html(const kMaxBars = 1500;
const kMaxRows = 200;

// The rows of the graph of a function: bars by layer, in program order. An operation of no layer
// between others goes with the layer before it. In a very long row a bar is several operations.
function rowsOf(operations) {
  const first = operations.findIndex((operation) => operation.layer >= 0);
  const last = operations.findLastIndex((operation) => operation.layer >= 0);
  const rows = new Map();
  let name = first < 0 ? 'no layer' : 'before';
  operations.forEach(({layer}, i) => {
    if (i > last && first >= 0) name = 'after';
    else if (layer >= 0) name = `layer ${layer}`;
    if (!rows.has(name)) rows.set(name, {name, indices: []});
    rows.get(name).indices.push(i);
  });
  const all = {name: 'all layers', indices: [...operations.keys()]};
  return (rows.size > kMaxRows ? [all] : [...rows.values()]).map(
      (row) => ({...row, ...barsOf(operations, row.indices)}));
}

function barsOf(operations, indices) {
  const size = Math.ceil(indices.length / kMaxBars);
  const bars = [];
  for (let i = 0; i < indices.length; i += size) {
    const bar = {indices: indices.slice(i, i + size), ane: 0, off: 0, isTall: false, isMark: false};
    for (const index of bar.indices) {
      const {device} = operations[index];
      ++bar[device === 'ane' ? 'ane' : 'off'];
      bar.isTall ||= isProduct(operations[index]);
      bar.isMark ||= index > 0 && operations[index - 1].device !== device;
    }
    bars.push(bar);
  }
  return {bars, off: bars.reduce((sum, bar) => sum + bar.off, 0)};
}

function barText(operations, row, bar) {
  const operation = operations[bar.indices[0]];
  const n = bar.indices.length;
  if (n > 1)
    return [`${count(n)} operations from ${shortened(operation.name)}`,
            `${count(bar.ane)} on the Neural Engine, ${count(bar.off)} off it, ${row.name}`];
  const weights = operation.bytes === 0 ? '' : `${bytesText(operation.bytes)} of weights`;
  const work = operation.multiplications === 0 ? '' : gmacText(operation.multiplications);
  return [shortened(operation.name),
          `${operation.type} on the ${deviceName(operation.device)}, ${row.name}`,
          operation.law && `off the Neural Engine by the law ${operation.law}`,
          [work, weights].filter(Boolean).join(', ')].filter(Boolean);
}

const kHeight = 14;  // of the bar of a product

// Draws the bars of a row, in as many lines as the width needs.
function drawRow(row, width, pitch) {
  const perLine = Math.max(1, Math.floor((width - 4) / pitch));
  const below = row.off > 0 ? kHeight : 0;
  const step = kHeight + below + 6;
  const lines = Math.ceil(row.bars.length / perLine);
  const paths = {base: '', ane: '', cpu: '', mark: ''};
  row.at = (i) => ({x: 2 + i % perLine * pitch, y: kHeight + 2 + Math.floor(i / perLine) * step});
  row.below = below;
  row.barAt = (x, y) => Math.max(0, Math.min(row.bars.length - 1,
      Math.max(0, Math.min(lines - 1, Math.floor(y / step))) * perLine +
      Math.max(0, Math.min(perLine - 1, Math.floor((x - 2) / pitch)))));
  row.bars.forEach((bar, i) => {
    const {x, y} = row.at(i);
    const height = bar.isTall ? kHeight - 1 : 6;
    const rest = `h${pitch - 1.5}v${height}h-${pitch - 1.5}z`;
    if (i % perLine === 0)
      paths.base += `M2 ${y}h${Math.min(perLine, row.bars.length - i) * pitch}`;
    if (bar.ane > 0) paths.ane += `M${x} ${y - height - .5}${rest}`;
    if (bar.off > 0) paths.cpu += `M${x} ${y + 1}${rest}`;
    if (bar.isMark) paths.mark += `M${x - .75} ${y - kHeight}V${y + Math.max(below, 2)}`;
  });
  const height = lines * step + 2;
  row.svg = draw('svg', {width, height, viewBox: `0 0 ${width} ${height}`},
      Object.entries(paths).map(([name, d]) => draw('path', {class: name, d})));
  row.strip.replaceChildren(row.svg);
}

// A graph is one stop of the Tab key, and a slider to screen readers: its value is an operation.
function makeGraph(fn) {
  const {operations} = fn;
  const rows = rowsOf(operations);
  const cursor = draw('rect', {class: 'cursor', rx: 1.5});
  const tip = byId('tip');
  const longest = Math.max(...rows.map((row) => row.bars.length));
  let at = null;  // the row and the bar of the cursor
  let width = 0;  // of a row
  let pitch = 0;  // from bar to bar

  function layOut() {
    if (rows[0].strip.clientWidth === width) return;
    width = rows[0].strip.clientWidth;
    pitch = Math.max(7, Math.min(16, Math.floor((width - 4) / longest)));
    for (const row of rows) drawRow(row, width, pitch);
    hide();
  }
  function hide() {
    tip.hidden = true;
    cursor.remove();
  }
  function select(rowIndex, barIndex, scrolls) {
    at = {row: rowIndex, bar: barIndex};
    const row = rows[rowIndex];
    const {x, y} = row.at(barIndex);
    fill(cursor, {x: x - 1.5, y: y - kHeight - 1, width: pitch + 1.5,
                  height: kHeight + row.below + 3}, []);
    row.svg.append(cursor);
    const bar = row.bars[barIndex];
    const texts = barText(operations, row, bar);
    fill(graph, {'aria-valuenow': bar.indices[0] + 1, 'aria-valuetext': visible(texts.join(', '))},
         []);
    if (scrolls) row.strip.scrollIntoView({block: 'nearest'});
    tip.replaceChildren(...texts.map((text) => make('p', {}, text)));
    tip.hidden = false;
    const box = cursor.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const isAbove = box.bottom + tip.offsetHeight + 8 > innerHeight;
    tip.style.left = `${Math.max(8, Math.min(box.left, wide - tip.offsetWidth - 8)) + scrollX}px`;
    tip.style.top = `${(isAbove ? box.top - tip.offsetHeight - 6 : box.bottom + 6) + scrollY}px`;
  }
  function step(by, isWanted = () => true) {
    let {row, bar} = at;
    do {
      bar += by;
      if (bar < 0 && row > 0) bar = rows[--row].bars.length - 1;
      if (bar >= rows[row].bars.length && row + 1 < rows.length) [row, bar] = [row + 1, 0];
      if (rows[row].bars[bar] === undefined) return;
    } while (!isWanted(rows[row].bars[bar]));
    select(row, bar, true);
  }
  function goTo(rowIndex) {
    const row = Math.max(0, Math.min(rows.length - 1, rowIndex));
    select(row, Math.min(at.bar, rows[row].bars.length - 1), true);
  }
  const keys = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    ArrowUp: () => goTo(at.row - 1),
    ArrowDown: () => goTo(at.row + 1),
    PageUp: () => step(-1, (bar) => bar.isMark),
    PageDown: () => step(1, (bar) => bar.isMark),
    Home: () => select(at.row, 0, true),
    End: () => select(at.row, rows[at.row].bars.length - 1, true),
    Escape: hide,
  };
  const graph = make('div', {
    class: 'graph', tabindex: 0, role: 'slider', 'aria-valuemin': 1, 'aria-valuenow': 1,
    'aria-valuemax': operations.length, 'aria-orientation': 'horizontal',
    'aria-valuetext': visible(barText(operations, rows[0], rows[0].bars[0]).join(', ')),
    'aria-label': visible(`Operations of ${shortened(fn.function)}, in the order of the program`),
    focus: () => graph.matches(':focus-visible') && select(at?.row ?? 0, at?.bar ?? 0, false),
    blur: hide,
    keydown: (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      at ??= {row: 0, bar: 0};
      keys[event.key]();
    },
    pointerleave: ({pointerType}) => pointerType === 'touch' || hide(),
  });
  rows.forEach((row, i) => {
    row.strip = make('div', {class: 'strip'});
    const point = ({clientX, clientY}) => {
      const box = row.svg.getBoundingClientRect();
      const scale = width / box.width;
      select(i, row.barAt((clientX - box.left) * scale, (clientY - box.top) * scale), false);
    };
    row.strip.addEventListener('pointermove', point);
    row.strip.addEventListener('pointerdown', point);
    graph.append(make('div', {class: 'row'}, make('div', {class: 'row-name'}, row.name,
        row.off === 0 ? [] : make('strong', {}, `${count(row.off)} on the CPU`)), row.strip));
  });
  addEventListener('pointerdown', hide, true);
  new ResizeObserver(layOut).observe(graph);
  return graph;
}

function functionCard(fn, list) {
  const ane = fn.operations.filter((operation) => operation.device === 'ane').length;
  const products = fn.operations.filter(isProduct);
  const productsOnAne = products.filter((operation) => operation.device === 'ane').length;
  const all = fn.operations.length;
  const time = `${digits.format(fn.estimated_ms)} ms`;
  const body = make('div', {class: 'body'});
  const where = all === 0 ? 'no operations' : all === ane ?
      `all ${plural(all, 'operation')} on the Neural Engine` :
      `${count(all - ane)} of ${plural(all, 'operation')} off the Neural Engine`;
  const card = make('details', {}, make('summary', {},
      make('span', {class: 'title'}, shortened(fn.function)),
      make('span', {class: `badge ${all === ane ? 'muted' : 'moved'}`}, where),
      make('span', {class: 'badge time muted'}, `at least ${time}`)), body);
  card.addEventListener('toggle', () => {
    if (!card.open || body.hasChildNodes()) return;
    body.append(make('dl', {class: 'facts'}, facts([
      ['Operations on the Neural Engine', ofAll(ane, all)],
      ['Matrix products on the Neural Engine', ofAll(productsOnAne, products.length)],
      ['Transitions', count(fn.transitions)],
      ['Estimated time, at least', `${time}, bound by ${fn.bound}`],
      ['Multiplications', gmacText(fn.multiplications)],
      ['Weights', bytesText(fn.weight_bytes)],
      ['Inputs and outputs', bytesText(fn.interface_bytes)],
      ['States', fn.state_bytes === 0 ? 'none' : bytesText(fn.state_bytes)],
    ])));
    if (all > 0)
      body.append(makeGraph(fn), make('button', {type: 'button', click: () => list({fn})},
          'List these operations'));
  });
  return {card, isMoved: ane < all};
}

function showFunctions(report, list) {
  const cards = [];
  appendSome(byId('functions'), report.packages, 20, 'package', (package_) => {
    const group = make('div', {class: 'group'}, make('h3', {}, shortened(package_.name)),
        make('p', {}, `${plural(package_.functions.length, 'function')}, ` +
            `${bytesText(package_.weight_bytes)} of weights`));
    appendSome(group, package_.functions, 20, 'function', (fn) => {
      cards.push(functionCard(fn, list));
      return cards.at(-1).card;
    });
    return group;
  });
  if (cards.length === 0) say('functions', 'The file has no functions.');
  const first = cards.find(({isMoved}) => isMoved) ?? cards[0];
  if (first) first.card.open = true;
}

const kColumns = [
  {name: 'Operation', class: 'name', value: ({operation}) => operation.name},
  {name: 'Type', class: '', value: ({operation}) => operation.type},
  {name: 'Device', class: 'device', value: ({operation}) => deviceName(operation.device)},
  {name: 'Law', class: '', value: ({operation}) => operation.law},
  {name: 'Function', class: 'place', value: ({where}) => where},
  {name: 'Layer', class: 'number', value: ({operation}) => operation.layer,
   text: (layer) => layer < 0 ? '' : String(layer)},
  {name: 'MMAC', class: 'number', value: ({operation}) => operation.multiplications,
   text: (n) => n === 0 ? '' : digits.format(n / 1e6)},
  {name: 'Weights', class: 'number', value: ({operation}) => operation.bytes,
   text: (n) => n === 0 ? '' : bytesText(n)},
];
const kRowsAtOnce = 50;
)html";

}  // namespace anemone::cli
