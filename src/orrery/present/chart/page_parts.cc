#include "orrery/present/chart/page_parts.h"

namespace orrery::verbs {

// Colours of series (--c0 to --c9) follow, of both grounds.
const char* const kPageStyle = R"css(
:root { color-scheme: light dark; --ink: #222; --quiet: #5a5a5a; --ground: #fff; --panel: #f6f7f8; --rule: #d5d8db;
  --grid: #dddddd; --link: #0b5394; --warn: #8a4b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --quiet: #a9adb1; --ground: #16181a; --panel: #1f2225;
  --rule: #3a3f44; --grid: #444; --link: #8ec7ff; --warn: #ffb866; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; font: 15px/1.5 system-ui, "Helvetica Neue", Arial, sans-serif;
  color: var(--ink); background: var(--ground); }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .2rem 0 .6rem; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; padding-top: .6rem; border-top: 2px solid var(--rule);
  overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 0 0 .3rem; }
a { color: var(--link); }
nav { background: var(--panel); padding: .6rem 1rem; border-radius: 6px; }
nav ul { margin: 0; padding-left: 1.1rem; }
code, pre { font: 13px/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }
pre { background: var(--panel); padding: .6rem .8rem; border-radius: 6px; white-space: pre-wrap;
  overflow-wrap: anywhere; }
figure { margin: 1.2rem 0; padding: .8rem; background: var(--panel); border-radius: 8px; }
figcaption .what { color: var(--quiet); margin: 0 0 .5rem; font-size: .93em; }
.note { color: var(--quiet); font-size: .93em; }
.warnings li { color: var(--warn); } .warnings li * { color: var(--ink); }
.proof { font-weight: 600; }
.scroll { overflow-x: auto; max-height: 30rem; overflow-y: auto; }
svg.chart { max-width: 100%; height: auto; font-size: 11px; }
svg.chart text { fill: var(--ink); } svg.chart .grid { stroke: var(--grid); }
svg.chart .limit { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 5 4; }
svg.chart .line { fill: none; stroke: var(--quiet); stroke-width: 1.5; } svg.chart polyline.s0 { fill: none; stroke: var(--c0); stroke-width: 1.6; }
svg.chart polyline.s1 { fill: none; stroke: var(--c1); stroke-opacity: .3; } svg.chart .dashed { stroke-dasharray: 5 4; }
.graph { background: #fff; color: #222; max-height: none; }
.graph svg { max-width: 100%; height: auto; min-width: 36rem; }
.tree ul, .tree ol { margin: 0; padding-left: 1.3rem; border-left: 2px solid var(--rule); }
.tree ul { list-style: none; } .tree .hold b { color: var(--c0); } .tree .compute b { color: var(--c5); }
.drawn { display: none; } .live .drawn { display: block; } .live .still { display: none; }
.drawn svg { max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top;
  max-width: 28rem; overflow-wrap: break-word; }
thead th { position: sticky; top: 0; background: var(--panel); z-index: 1; }
td.n { text-align: right; white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--link); }
th[aria-sort=ascending] button::after { content: " \25b2"; }
th[aria-sort=descending] button::after { content: " \25bc"; }
summary { cursor: pointer; font-weight: 600; padding: .25rem 0; } .count { color: var(--quiet); font-weight: 400; }
.point { margin: 1.2rem 0; padding: .8rem; background: var(--panel); border-radius: 8px; } input.goto { width: 7rem !important; }
input.filter { font: inherit; margin: .2rem 0 .4rem; padding: .2rem .5rem; max-width: 100%; width: 18rem;
  color: var(--ink);
  background: var(--ground); border: 1px solid var(--rule); border-radius: 4px; }
#tip { position: fixed; z-index: 9; pointer-events: none; display: none; background: var(--ground); color: var(--ink);
  border: 1px solid var(--rule); border-radius: 5px; padding: .35rem .6rem; font-size: 12.5px;
  max-width: min(30rem, 92vw);
  box-shadow: 0 2px 8px #0005; }
#tip td { border: 0; padding: 0 .5rem 0 0; } #tip td:first-child { color: var(--quiet); }
@media (max-width: 480px) { body { padding: .6rem; font-size: 14px; } figure { padding: .5rem; }
  .still { overflow-x: auto; }
  .still svg.chart { max-width: none; min-width: 34rem; } th, td { padding: .15rem .35rem; } }
@media print { :root { --ink: #000; --quiet: #444; --ground: #fff; --panel: #fff; --rule: #bbb; --grid: #ddd;
  --link: #000; }
  body { max-width: none; font-size: 10pt; } .live .drawn { display: none; } .live .still { display: block; }
  .scroll { max-height: none; overflow: visible; } input.filter, .point { display: none; } figure { break-inside: avoid;
  padding: 0; }
  table { font-size: 8pt; } thead th { position: static; } }
)css";

const char* const kPageScript = R"js(
(function () {
  'use strict';
  var all = function (selector, root) {
    return Array.prototype.slice.call((root || document).querySelectorAll(selector));
  };
  var read = function (cell) {
    if (!cell) return '';
    var text = cell.getAttribute('data-v') || cell.textContent;
    return text !== '' && isFinite(text) ? +text : text;
  };
  // Tables: a click on a header sorts, a word leaves the rows that hold it.
  all('table.sortable').forEach(function (table) {
    var body = table.tBodies[0], heads = all('thead th', table);
    heads.forEach(function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      head.textContent = '';
      head.appendChild(button);
      button.addEventListener('click', function () {
        var down = head.getAttribute('aria-sort') !== 'descending';
        heads.forEach(function (other) { other.removeAttribute('aria-sort'); });
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        Array.prototype.slice.call(body.rows).map(function (row) { return [read(row.cells[column]), row]; })
          .sort(function (a, b) {
            var one = a[0], two = b[0];
            if (typeof one !== typeof two) return typeof one === 'number' ? -1 : 1;
            return (one < two ? -1 : one > two ? 1 : 0) * (down ? -1 : 1);
          }).forEach(function (pair) { body.appendChild(pair[1]); });
      });
    });
    all('td[data-v]', table).length < 20000 && body.addEventListener('mouseover', function (event) {
      var cell = event.target;
      if (cell.getAttribute && cell.getAttribute('data-v')) cell.title = cell.getAttribute('data-v');
    });
    if (body.rows.length <= 10) return;
    var box = document.createElement('input');
    box.type = 'search';
    box.className = 'filter';
    box.placeholder = 'rows that hold…';
    box.setAttribute('aria-label', 'show only rows that hold this text');
    box.addEventListener('input', function () {
      var wanted = box.value.toLowerCase();
      Array.prototype.slice.call(body.rows).forEach(function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0;
      });
    });
    table.parentNode.parentNode.insertBefore(box, table.parentNode);
  });

  // Points of a study: the number of one in a table, and its mark, lead to its figures and its layers.
  var filled = function (holder, names, rows) {
    var scroll = holder.appendChild(document.createElement('div')), table = document.createElement('table');
    scroll.className = 'scroll';
    scroll.appendChild(table);
    var put = function (row, kind, text) {
      var cell = row.appendChild(document.createElement(kind));
      cell.textContent = text;
      if (kind === 'td' && isFinite(text)) cell.className = 'n';
    };
    var used = names.map(function (name, i) { return i; }).filter(function (i) {
      return rows.some(function (row) { return row[i]; });
    });
    if (rows.length === 1) {  // one below the other
      used.forEach(function (i) {
        var line = table.insertRow();
        put(line, 'th', names[i]);
        put(line, 'td', rows[0][i]);
      });
      return;
    }
    var head = table.createTHead().insertRow(), body = table.createTBody();
    used.forEach(function (i) { put(head, 'th', names[i]); });
    rows.forEach(function (row) {
      var line = body.insertRow();
      used.forEach(function (i) { put(line, 'td', row[i] || ''); });
    });
  };
  var studies = {};
  all('script.points').forEach(function (script) {
    var id = script.id.replace('-points', ''), panel = document.createElement('section');
    var label = document.createElement('label'), box = document.createElement('input'), shown = document.createElement('div');
    var data = null;
    label.textContent = 'Figures of point ';
    box.type = 'number';
    box.min = 0;
    box.className = 'filter goto';
    label.appendChild(box);
    panel.className = 'point';
    panel.id = id + '-point';
    panel.tabIndex = -1;
    panel.setAttribute('aria-label', 'a point of the study');
    shown.setAttribute('aria-live', 'polite');
    panel.appendChild(label);
    panel.appendChild(shown);
    script.parentNode.insertBefore(panel, script);
    studies[id] = function (number) {
      data = data || JSON.parse(script.textContent);
      var point = data.points[number], mine = data.layers_of[number];
      box.max = data.points.length - 1;
      shown.textContent = '';
      if (!point) { shown.textContent = 'The points are 0 to ' + box.max + '.'; return; }
      box.value = number;
      filled(shown, data.names, [point]);
      if (mine.length) filled(shown, data.layer_names, mine.map(function (place) { return data.layers[place]; }));
      if (!mine.length) shown.appendChild(document.createElement('p')).textContent =
        data.with_layers === data.points.length ? 'It has no layers.' :
          'The page has the layers of ' + data.with_layers + ' of ' + data.points.length + ' points; the document has all.';
    };
    box.addEventListener('input', function () { if (box.value !== '') studies[id](+box.value); });
  });
  var follow = function () {
    var found = /^#(a\d+)-point-(\d+)$/.exec(location.hash);
    if (!found || !studies[found[1]]) return;
    studies[found[1]](+found[2]);
    var panel = document.getElementById(found[1] + '-point');
    panel.scrollIntoView();
    panel.focus({ preventScroll: true });
  };
  var link = function (figure) {
    var answer = figure.id.split('-')[0], table = figure.querySelector('table');
    if (!studies[answer] || !table) return;
    var column = all('thead th', table).findIndex(function (head) { return head.textContent === 'point'; });
    if (column < 0) return;
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      var cell = row.cells[column], to;
      if (cell.querySelector('a')) return;
      to = document.createElement('a');
      to.href = '#' + answer + '-point-' + cell.textContent;
      to.textContent = cell.textContent;
      cell.textContent = '';
      cell.appendChild(to);
    });
  };
  all('figure').forEach(link);
  window.addEventListener('hashchange', follow);
  follow();

  if (typeof vega === 'undefined') return;
  var colours = JSON.parse(document.getElementById('colours').textContent);
  var dark = window.matchMedia('(prefers-color-scheme: dark)');
  var tip = document.createElement('div');
  tip.id = 'tip';
  document.body.appendChild(tip);
  var show = function (handler, event, item, value) {
    if (value === null || value === undefined) { tip.style.display = 'none'; return; }
    tip.textContent = '';
    var table = document.createElement('table');
    Object.keys(value).forEach(function (key) {
      var row = table.insertRow();
      row.insertCell().textContent = key;
      row.insertCell().textContent = value[key];
    });
    tip.appendChild(table);
    tip.style.display = 'block';
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 6)) + 'px';
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 6)) + 'px';
  };
  // The rows of the points that a rectangle holds take the table's place: how many while it is drawn, all when it rests.
  var kMost = 400;
  var choose = function (figure, view, values, brush) {
    var table = figure.querySelector('table'), said = figure.querySelector('.held') || document.createElement('output');
    if (!table) return;
    var body = table.tBodies[0], x = view.scale('x'), y = view.scale('y');
    if (!table.kept) table.kept = Array.prototype.slice.call(body.rows);
    clearTimeout(table.later);
    if (!brush || Math.abs(brush[2] - brush[0]) + Math.abs(brush[3] - brush[1]) < 5) {
      said.textContent = body.textContent = '';
      table.kept.forEach(function (row) { body.appendChild(row); });
      return;
    }
    var left = Math.min(brush[0], brush[2]), right = Math.max(brush[0], brush[2]);
    var top = Math.min(brush[1], brush[3]), bottom = Math.max(brush[1], brush[3]);
    var held = values.filter(function (value) {
      var across = x(value.x), up = y(value.y);
      return across >= left && across <= right && up >= top && up <= bottom;
    });
    said.textContent = held.length + ' of ' + values.length + ' points' +
      (held.length > kMost ? ', the first ' + kMost + ' in the table.' : '.');
    table.later = setTimeout(function () {
      var names = all('thead th', table).map(function (head) { return head.textContent; });
      var fresh = document.createDocumentFragment();
      held.slice(0, kMost).forEach(function (value) {
        var row = document.createElement('tr');
        names.forEach(function (name) {
          var cell = row.insertCell();
          cell.textContent = value.tip[name];
          if (isFinite(value.tip[name])) cell.className = 'n';
        });
        fresh.appendChild(row);
      });
      body.textContent = '';
      body.appendChild(fresh);
      link(figure);
      var details = table.closest('details');
      if (details) details.open = true;
    }, 60);
  };
  var views = [];
  var draw = function (figure) {
    var spec = JSON.parse(figure.querySelector('script').textContent), holder = figure.querySelector('.drawn');
    var values = spec.data[0].values;
    if (spec.tips) values.forEach(function (value) {  // names once for all
      var list = value.tip;
      value.tip = {};
      spec.tips.forEach(function (name, i) { value.tip[name] = list[i]; });
    });
    delete spec.tips;
    spec.config = colours[dark.matches ? 'dark' : 'light'];
    delete spec.title;
    figure.classList.add('live');
    spec.width = Math.max(240, holder.clientWidth);
    (spec.legends || []).forEach(function (legend) {
      var entries = spec.scales[spec.scales.length - 1].domain.length;
      var columns = Math.max(1, Math.floor(spec.width / 190));
      if (legend.columns) {
        spec.height += 16 * Math.max(0, Math.ceil(entries / columns) - Math.ceil(entries / legend.columns));
        legend.columns = columns;
      }
    });
    var view = new vega.View(vega.parse(spec), {
      renderer: values.length > 800 ? 'canvas' : 'svg', container: holder, hover: true, tooltip: show
    });
    if (spec.signals) view.addSignalListener('brush', function (name, brush) {
      choose(figure, view, values, brush);
    });
    if (studies[figure.id.split('-')[0]]) view.addEventListener('click', function (event, item) {
      var tip = item && item.datum && item.datum.tip;
      if (tip && tip.point !== undefined) location.hash = figure.id.split('-')[0] + '-point-' + tip.point;
    });
    view.run();
    views.push(view);
  };
  var begin = function () {
    views.forEach(function (view) { view.finalize(); });
    views = [];
    all('figure[data-chart]').forEach(function (figure) {
      try { draw(figure); } catch (error) { figure.classList.remove('live'); console.error(error); }
    });
  };
  begin();
  dark.addEventListener('change', begin);
  var width = window.innerWidth;
  window.addEventListener('resize', function () {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(begin.later);
    begin.later = setTimeout(begin, 150);
  });
})();
)js";

}  // namespace orrery::verbs
