// SPDX-License-Identifier: Apache-2.0
// The script of the page, last part: the list of operations, and what runs when it is loaded.
#include "cli/check_page.h"

namespace anemone::cli {

const std::string_view kCheckPageEnd = R"html(// Every operation of the report, with its function.
function operationsOf(report) {
  const all = [];
  for (const package_ of report.packages)
    for (const fn of package_.functions) {
      const where = (report.packages.length > 1 ? `${package_.name} ` : '') + fn.function;
      for (const operation of fn.operations) all.push({operation, fn, where});
    }
  return all;
}

// Shows the list and returns a function that filters it from elsewhere on the page.
function showList(all) {
  const functions = [...new Map(all.map(({fn, where}) => [fn, where]))];
  const tally = (key) => all.reduce(
      (map, each) => map.set(key(each), (map.get(key(each)) ?? 0) + 1), new Map());
  const options = (first, map, name) => [make('option', {value: ''}, first),
      [...map].filter(([key]) => key !== '').sort(([a], [b]) => a < b ? -1 : 1).map(
          ([key, n]) => make('option', {value: key}, `${name(key)} (${count(n)})`))];
  const text = make('input', {type: 'search', autocomplete: 'off', spellcheck: 'false'});
  const device = make('select', {}, options('All devices',
      tally(({operation}) => operation.device), deviceName));
  const law = make('select', {}, options('All laws and none',
      tally(({operation}) => operation.law), (id) => id));
  const place = make('select', {}, make('option', {value: ''}, 'All functions'),
      functions.map(([, where], i) => make('option', {value: i}, shortened(where))));
  const form = make('form', {role: 'search', 'aria-label': 'Filter the operations',
                             input: () => filter(), submit: (event) => event.preventDefault()},
      make('label', {}, 'Name or type', text), make('label', {}, 'Device', device),
      make('label', {}, 'Law', law), make('label', {}, 'Function', place));
  const result = make('p', {role: 'status'});
  const clear = make('button', {type: 'button', click: () => set({})}, 'Clear the filters');
  const body = make('tbody');
  const headers = kColumns.map((column) => make('th', {scope: 'col', class: column.class},
      make('button', {type: 'button', click: () => sortBy(column)}, column.name)));
  const table = make('div', {class: 'table', role: 'region', tabindex: 0,
                             'aria-label': 'Table of operations'},
      make('table', {}, make('thead', {}, make('tr', {}, headers)), body));
  const more = make('button', {type: 'button', class: 'more', click: () => grow(true)});
  let found = [];
  let shown = 0;
  let order = null;

  function filter() {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fn = place.value === '' ? null : functions[place.value][0];
    found = all.filter((each) => {
      const {operation} = each;
      if (device.value !== '' && operation.device !== device.value) return false;
      if (law.value !== '' && operation.law !== law.value) return false;
      if (fn !== null && each.fn !== fn) return false;
      if (words.length === 0) return true;
      each.key ??= `${operation.name} ${operation.type}`.toLowerCase();
      return words.every((word) => each.key.includes(word));
    });
    if (order !== null) {
      const {value} = order.column;
      found.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        return x < y ? -order.sign : x > y ? order.sign : 0;
      });
    }
    const isFiltered = found.length < all.length;
    result.textContent = found.length === 0 ? 'No operation matches the filters.' :
        (isFiltered ? `${count(found.length)} of ` : '') + plural(all.length, 'operation');
    clear.hidden = !isFiltered;
    table.hidden = found.length === 0;
    body.replaceChildren();
    shown = 0;
    grow(false);
  }
  function grow(hasFocus) {
    for (const each of found.slice(shown, shown + kRowsAtOnce)) {
      const isMoved = each.operation.device !== 'ane';
      body.append(make('tr', {}, kColumns.map((column) => {
        const value = column.value(each);
        const style = column.class + (isMoved && column.class === 'device' ? ' moved' : '');
        return make('td', {class: style}, column.text ? column.text(value) : shortened(value));
      })));
    }
    shown = Math.min(found.length, shown + kRowsAtOnce);
    const left = found.length - shown;
    more.textContent = moreText(kRowsAtOnce, left, 'operation');
    more.hidden = left === 0;
    if (hasFocus && left === 0) table.focus();
  }
  // Once in the order that suits the column, once in the other, and then in program order again.
  function sortBy(column) {
    const first = column.class === 'number' ? -1 : 1;
    if (order?.column !== column) order = {column, sign: first};
    else order = order.sign === first ? {column, sign: -first} : null;
    kColumns.forEach((each, i) => {
      if (order?.column !== each) headers[i].removeAttribute('aria-sort');
      else headers[i].setAttribute('aria-sort', order.sign > 0 ? 'ascending' : 'descending');
    });
    filter();
  }
  function set(wanted) {
    text.value = '';
    device.value = '';
    law.value = wanted.law ?? '';
    place.value = wanted.fn ? functions.findIndex(([fn]) => fn === wanted.fn) : '';
    filter();
    byId('operations-title').scrollIntoView();
    byId('operations-title').focus();
  }
  if (all.length === 0) {
    say('list', 'There are no operations to list.');
    return set;
  }
  say('list', 'The heading of a column sorts by it. MMAC are millions of multiplications, each ' +
      'with an addition.');
  byId('list').append(form, make('div', {class: 'status'}, result, clear), table, more);
  filter();
  return set;
}

try {
  const report = JSON.parse(byId('report').textContent);
  const operations = operationsOf(report);
  showHeader(report);
  const list = showList(operations);
  showLaws(report, operations, list);
  showFunctions(report, list);
  showMeasured(report);
} catch (error) {
  byId('verdict').textContent = `The report of this page could not be read: ${error.message}`;
  byId('verdict').dataset.tone = 'refused';
  byId('verdict').hidden = false;
  throw error;
}
})();
</script>
</body>
</html>
)html";

}  // namespace anemone::cli
