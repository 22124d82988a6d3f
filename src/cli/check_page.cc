// SPDX-License-Identifier: Apache-2.0
#include "cli/check_page.h"

namespace anemone::cli {

// Everything in a report comes from strangers' files. The script makes text nodes of it and never
// markup, and the policy in the head forbids to load anything.
const std::string_view kCheckPageHead = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
  style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<link rel="icon" href="data:,">
<title>anemone check</title>
<style>
:root {
  --ground: #f6f7f9; --surface: #fff; --line: #d5dae1; --text: #1a1f26; --muted: #535d6a;
  --link: #1b54b0; --ane: #2563b8; --cpu: #a8480a; --cpu-light: #e9a878; --good: #14693c;
  --refused: #a81d14; --slow: #7f4b00; --contested: #5f3bb5; --note: #46505e;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #111417; --surface: #191d22; --line: #363e48; --text: #e8ebee; --muted: #a6b0bb;
    --link: #8db8ff; --ane: #6aa5f8; --cpu: #f3a467; --cpu-light: #7a4215; --good: #74d19b;
    --refused: #ff9a90; --slow: #f0bd5c; --contested: #c3aaff; --note: #b7c1cc;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word; -webkit-text-size-adjust: 100%;
}
.page { max-width: 70rem; margin: 0 auto; padding: 2.5rem 1.5rem; }
h1, h2, h3, p, dl, dd, ul { margin: 0; padding: 0; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; line-height: 1.3; }
h3 { font-size: 1rem; overflow-wrap: anywhere; }
section { margin-top: 3rem; }
a { color: var(--link); text-underline-offset: .15em; }
code { font: .875em/1.5 var(--mono); overflow-wrap: anywhere; }
button, input, select {
  font: inherit; color: inherit; background: var(--surface); border: 1px solid var(--muted);
  border-radius: 6px; padding: .35rem .7rem; max-width: 100%;
}
button { cursor: pointer; color: var(--link); font-weight: 500; }
button:hover { border-color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
:focus:not(:focus-visible) { outline: none; }
[hidden] { display: none !important; }
.muted, dt, .intro { color: var(--muted); }
.intro { margin: .3rem 0 1.2rem; max-width: 46rem; }
.brand { color: var(--muted); font-size: .9rem; margin-bottom: .2rem; }
.verdict {
  margin: 1.4rem 0 1rem; padding: 1rem 1.2rem; background: var(--surface); font-size: 1.15rem;
  border: 1px solid var(--line); border-left: 6px solid var(--good); border-radius: 8px;
}
.verdict[data-tone=empty] { border-left-color: var(--note); }
.verdict[data-tone=slow] { border-left-color: var(--slow); }
.verdict[data-tone=refused] { border-left-color: var(--refused); }
.chips, nav { display: flex; flex-wrap: wrap; gap: .5rem; }
nav { margin-top: 1.4rem; gap: .5rem 1.4rem; }
.chip {
  color: var(--muted); border: 1px solid currentcolor; border-radius: 1rem; padding: .1rem .75rem;
  font-size: .9rem; font-weight: 600; text-decoration: none; background: var(--surface);
}
a.chip:hover { text-decoration: underline; }
.refused { color: var(--refused); } .slow { color: var(--slow); }
.contested { color: var(--contested); } .note { color: var(--note); }
.facts {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 1rem 1.5rem;
}
.facts div { display: flex; flex-direction: column; justify-content: space-between; }
.facts dt { font-size: .875rem; line-height: 1.35; }
.facts dd { font-weight: 600; overflow-wrap: anywhere; }
#totals { margin-top: 1.4rem; }
#functions > .intro { margin-top: 1.2rem; }
.body .facts { grid-template-columns: repeat(auto-fill, minmax(12.5rem, 1fr)); }
.group { margin-top: 1.6rem; }
.group > p { color: var(--muted); margin-bottom: .6rem; }
details { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
details + details { margin-top: .6rem; }
summary {
  display: flex; flex-wrap: wrap; align-items: baseline; gap: .2rem .8rem; cursor: pointer;
  padding: .75rem 1rem; list-style: none; border-radius: 8px;
}
summary::-webkit-details-marker { display: none; }
summary::before {
  content: ""; flex: none; width: .45em; height: .45em; border: solid var(--muted);
  border-width: 0 2px 2px 0; transform: rotate(-45deg); margin-right: .1rem;
}
[open] > summary::before { transform: translateY(-.15em) rotate(45deg); }
summary:hover .title { text-decoration: underline; text-underline-offset: .15em; }
.title { flex: 1 1 16rem; min-width: 0; font-weight: 600; overflow-wrap: anywhere; }
.law { border-left: 4px solid; }
.law > * { color: var(--text); }
.law .title code { color: var(--muted); font-weight: 400; margin-left: .4rem; }
.body { padding: .25rem 1rem 1.1rem; }
.law dl { display: grid; grid-template-columns: 9rem minmax(0, 1fr); gap: .6rem 1rem; }
.law dd { overflow-wrap: anywhere; }
.law ul { list-style: none; }
.law li + li { margin-top: .3rem; }
.law .body > button { margin-top: 1rem; }
#measured ul { list-style: none; overflow-wrap: anywhere; }
#measured li + li { margin-top: .3rem; }
#measured .body .intro { margin: 1.1rem 0 .4rem; }
.badge { font-size: .85rem; font-weight: 600; }
.badge.time { min-width: 8.5rem; text-align: right; }
.moved { color: var(--cpu); }
.more { margin-top: .8rem; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; font-size: .875rem; }
.legend svg { vertical-align: -.1rem; margin-right: .4rem; }
.ane { fill: var(--ane); } .cpu { fill: url(#hatch); stroke: var(--cpu); stroke-width: 1; }
.base { stroke: var(--line); } .mark { stroke: var(--text); }
.cursor { fill: none; stroke: var(--text); stroke-width: 2; }
.hatch-ground { fill: var(--cpu-light); } .hatch-line { stroke: var(--cpu); stroke-width: 2; }
.defs { position: absolute; }
.graph { margin: 1.2rem 0 .8rem; border-radius: 6px; outline-offset: 6px; }
.row { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); padding: .2rem 0; }
.row-name { font-size: .875rem; line-height: 1.3; color: var(--muted); }
.row-name strong { display: block; color: var(--cpu); font-weight: 600; }
.strip svg { display: block; max-width: 100%; height: auto; }
#tip {
  position: absolute; z-index: 1; width: max-content; max-width: min(26rem, calc(100vw - 1rem));
  padding: .5rem .75rem; background: var(--text); color: var(--ground); border-radius: 6px;
  font-size: .875rem; line-height: 1.4; pointer-events: none; overflow-wrap: anywhere;
}
#tip p:first-child { font-weight: 600; }
form { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .8rem; }
label { display: grid; gap: .2rem; font-size: .875rem; color: var(--muted); min-width: 0; }
label > * { font-size: 1rem; color: var(--text); width: 100%; min-width: 0; }
.status { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: 1rem 0; }
.table { overflow-x: auto; background: var(--surface); border: 1px solid var(--line); }
.table, .table table { border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem; }
td { border-top: 1px solid var(--line); }
th { white-space: nowrap; }
th button { border: 0; padding: .1rem 0; background: none; color: inherit; font-weight: 600; }
th button::after { content: "\2195"; color: var(--muted); margin-left: .35rem; }
th[aria-sort=ascending] button::after { content: "\2191"; color: inherit; }
th[aria-sort=descending] button::after { content: "\2193"; color: inherit; }
.number { text-align: right; white-space: nowrap; }
td:not(.number, .device) { overflow-wrap: anywhere; min-width: 6.5rem; }
td.name, td.place { min-width: 14.5rem; }
.device { white-space: nowrap; }
.device.moved { font-weight: 600; }
footer { margin-top: 3.5rem; padding-top: 1.2rem; border-top: 1px solid var(--line); }
footer p { color: var(--muted); max-width: 46rem; font-size: .9rem; margin-bottom: .6rem; }
@media (max-width: 40rem) {
  .page { padding: 1.5rem 1rem; }
  h1 { font-size: 1.3rem; }
  .row { grid-template-columns: minmax(0, 1fr); gap: .15rem; padding: .3rem 0; }
  .row-name strong { display: inline; margin-left: .5rem; }
  .facts div { justify-content: flex-start; }
  summary .badge { margin-left: 1.35rem; }
  .badge.time { text-align: left; }
  .law dl { display: block; }
  .law dd { margin-bottom: .7rem; }
  .facts, .body .facts { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .8rem 1rem; }
}
@media print {
  body { background: #fff; font-size: 10pt; }
  .page { max-width: none; padding: 0; }
  nav, button, form, #tip { display: none !important; }
  th button { display: inline !important; }
  th button::after { content: none; }
  summary, .row, tr, h2, h3 { break-inside: avoid; }
  h2, h3, summary { break-after: avoid; }
  .table { overflow: visible; }
  table { font-size: 8pt; }
  td { min-width: 0 !important; }
  th, td { padding: .15rem .5rem; }
  .law::details-content { content-visibility: visible; }
}
</style>
</head>
<body>
<svg class="defs" width="0" height="0" aria-hidden="true" focusable="false">
<pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse"
  patternTransform="rotate(45)">
<rect class="hatch-ground" width="4" height="4"/><path class="hatch-line" d="M0 0V4"/>
</pattern>
</svg>
<div class="page">
<header>
<p class="brand" id="brand">anemone check</p>
<h1 id="file">Report of a check</h1>
<noscript><p class="verdict">This page needs JavaScript to show its report.</p></noscript>
<p class="verdict" id="verdict" hidden></p>
<div class="chips" id="severities"></div>
<dl class="facts" id="totals"></dl>
<nav aria-label="Sections of this report">
<a href="#change">What to change</a>
<a href="#where">Where each function runs</a>
<a href="#measured" id="measured-link" hidden>What a Mac measured</a>
<a href="#operations">Operations</a>
</nav>
</header>
<main>
<section id="change" aria-labelledby="change-title">
<h2 id="change-title">What to change</h2>
<div id="laws"></div>
</section>
<section id="where" aria-labelledby="where-title">
<h2 id="where-title">Where each function runs</h2>
<p class="intro">Each bar is one operation, in the order of the program. Point at a bar to read what
it is. On the keyboard, the left and right arrows go from operation to operation, the up and down
arrows from layer to layer, and Page Up and Page Down from transition to transition.</p>
<ul class="legend" aria-label="Legend">
<li><svg width="12" height="14" aria-hidden="true"><path class="ane" d="M1 0h10v13h-10z"/></svg>
Above the line: Neural Engine</li>
<li><svg width="12" height="14" aria-hidden="true"><path class="cpu" d="M1 1h10v12h-10z"/></svg>
Below the line, hatched: CPU</li>
<li><svg width="16" height="14" aria-hidden="true"><path class="ane" d="M1 0h6v13h-6zM9 6h6v7h-6z"/>
</svg>
Tall: matrix product; short: any other</li>
<li><svg width="6" height="14" aria-hidden="true"><path class="mark" d="M3 0V14"/></svg>
Transition from one device to another</li>
</ul>
<div id="functions"></div>
</section>
<section id="measured" aria-labelledby="measured-title" hidden>
<h2 id="measured-title">What a Mac measured</h2>
<div id="measured-mac"></div>
<div id="measured-parts"></div>
</section>
<section id="operations" aria-labelledby="operations-title">
<h2 id="operations-title" tabindex="-1">Operations</h2>
<div id="list"></div>
</section>
</main>
<footer>
<p>This report is a prediction. It follows from what others reported about the Neural Engine, and
nothing was run to make it; what a Mac measured, where a file of that was given, has a section of
its own. Core ML decides where each operation runs when it loads the
model, and it may decide differently on another chip or system.</p>
<p>Estimated times are lower bounds: the bytes at the rate of the memory, or the multiplications at
the rate of the Neural Engine, whichever takes longer, and the cost of each start and
transition.</p>
</footer>
</div>
<div id="tip" aria-hidden="true" hidden></div>
<script type="application/json" id="report">)html";

}  // namespace anemone::cli
