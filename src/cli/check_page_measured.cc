// SPDX-License-Identifier: Apache-2.0
// The script of the page, third part: what a Mac measured, where a file of it was given.
#include "cli/check_page.h"

namespace anemone::cli {

const std::string_view kCheckPageMeasured = R"html(const verdicts = {
  resident: 'resident on the Neural Engine', partly: 'partly on the Neural Engine',
  elsewhere: 'not on the Neural Engine', unknown: 'Core ML does not say where it runs',
};
const kListed = 20;

// An operation that Core ML places otherwise than the laws, with what that says of them.
function contradiction({name, type, planned, predicted, law, chip_listed: isListed}) {
  const reason = law !== '' ? [', by the law ', make('code', {}, law)] :
      `, by no law; Core ML ${isListed ? 'lists' : 'does not list'} the chip as able to run it`;
  return make('li', {}, make('code', {}, shortened(name)), `, ${type}: planned on the ` +
      `${deviceName(planned)}, predicted on the ${deviceName(predicted)}`, reason);
}

function listOf(title, items, what, element) {
  if (items.length === 0) return [];
  const list = make('ul');
  appendSome(list, items, kListed, what, element);
  return [make('p', {class: 'intro'}, title), list];
}

function measuredCard(fn) {
  const n = fn.contradicted.length;
  const isGood = fn.verdict === 'resident';
  return make('details', {}, make('summary', {},
      make('span', {class: 'title'}, shortened(`${fn.package} ${fn.function}`)),
      make('span', {class: `badge ${isGood ? 'muted' : 'moved'}`},
          verdicts[fn.verdict] ?? fn.verdict),
      make('span', {class: 'badge muted'}, n === 0 ? 'as predicted' :
          `${plural(n, 'operation')} not as predicted`)),
      make('div', {class: 'body'}, make('dl', {class: 'facts'}, facts([
        ['Operations on the Neural Engine', ofAll(fn.operations_on_ane, fn.operations)],
        ['Matrix products on the Neural Engine', ofAll(fn.products_on_ane, fn.products)],
        ['Transitions', count(fn.transitions)],
        ['Operations on the Neural Engine, by estimated cost', `${digits.format(fn.cost_on_ane * 100)} %`],
        ['Operations without a prediction', count(fn.not_predicted)],
        ['Predictions without a plan', count(fn.not_planned)],
      ])),
      listOf('Matrix products that are planned elsewhere:', fn.products_elsewhere, 'operation',
          ({name, type, planned}) => make('li', {}, make('code', {}, shortened(name)),
              `, ${type}, on the ${deviceName(planned)}`)),
      listOf('Not as predicted:', fn.contradicted, 'operation', contradiction)));
}

function measuredLaw({law, holds, severity, measured}) {
  return make('li', {}, make('code', {}, law), ' ', holds ?
      ['holds and is ', make('strong', {class: severity}, severity)] :
      make('strong', {}, 'does not hold'), `: ${measured}`);
}

function showMeasured({measured}) {
  if (!measured) return;
  const {model, system, laws, functions, failed, missing} = measured;
  byId('measured').hidden = false;
  byId('measured-link').hidden = false;
  say('measured-mac', `${model} with ${system}`);
  const group = (title, text, children) => children.length === 0 ? [] :
      make('div', {class: 'group'}, make('h3', {}, title), make('p', {}, text), children);
  byId('measured-parts').append(...[
    group('Laws, by the probes', 'What was found above follows these results: a law that does ' +
        'not hold breaks nothing.', listOf('', laws, 'law', measuredLaw).slice(1)),
    group('Functions, by the plan of Core ML', 'A plan says where Core ML would run each ' +
        'operation. It is a forecast, not a record of a run.', (() => {
      const cards = make('div');
      appendSome(cards, functions, kListed, 'function', measuredCard);
      return functions.length === 0 ? [] : [cards];
    })()),
    group('Functions that Core ML refused', 'Core ML made no plan for them.',
        listOf('', failed, 'function', (each) => make('li', {},
            make('code', {}, shortened(`${each.package} ${each.function}`)),
            `: ${shortened(each.error)}`)).slice(1)),
    group('Functions without a plan', 'The file has nothing of them.',
        listOf('', missing, 'function', (name) => make('li', {},
            make('code', {}, shortened(name)))).slice(1)),
  ].flat());
}
)html";

}  // namespace anemone::cli
