// Appended to a copy of a page by run.sh: uses it as a person does, and writes what went wrong into the document.
(function () {
  'use strict';
  var wrong = [];
  var all = function (selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); };
  var must = function (holds, what) { if (!holds) wrong.push(what); };
  var mouse = function (target, kind, x, y) {
    target.dispatchEvent(new MouseEvent(kind, { bubbles: true, cancelable: true, view: window, clientX: x, clientY: y }));
  };
  // A rectangle over all points of a figure leaves their rows, a small one fewer; a double click brings all back. Vega
  // answers events later, so that each step waits.
  var choose = function (figure, then) {
    figure.scrollIntoView();
    var drawn = figure.querySelector('.drawn svg'), box = drawn.getBoundingClientRect();
    var body = figure.querySelector('table').tBodies[0], before = body.rows.length, all_points = 0;
    var at = function (kind, share, target) {
      return function () {
        var x = box.left + share * box.width, y = box.top + share * box.height;
        mouse(target || document.elementFromPoint(x, y) || drawn, kind, x, y);
      };
    };
    var steps = [
      at('mousedown', 0.01), at('mousemove', 0.99, window), at('mouseup', 0.99, window),
      function () { all_points = body.rows.length; must(all_points > 0, figure.id + ': all points leave no row'); },
      at('mousedown', 0.5), at('mousemove', 0.53, window), at('mouseup', 0.53, window),
      function () { must(body.rows.length < all_points, figure.id + ': few points leave ' + body.rows.length + ' rows'); },
      at('dblclick', 0.5),
      function () { must(body.rows.length === before, figure.id + ': a double click brings no rows back'); }, then];
    var next = function () {
      steps.shift()();
      if (steps.length) setTimeout(next, 40);
    };
    next();
  };
  window.addEventListener('error', function (event) { wrong.push('error: ' + event.message); });
  window.addEventListener('load', function () {
    setTimeout(function () {
      var figures = all('figure[data-chart]'), chosen = [];
      figures.forEach(function (figure) {
        var drawn = figure.querySelector('.drawn svg, .drawn canvas');
        must(figure.classList.contains('live') && drawn, figure.id + ' is not drawn');
        must(figure.querySelector('.still svg[role=img][aria-label]'), figure.id + ' has no still picture with a label');
        must(figure.querySelector('table tbody tr'), figure.id + ' has no table');
        if (!drawn) return;
        var box = drawn.getBoundingClientRect();
        must(box.width > 200 && box.height > 60, figure.id + ' is ' + box.width + ' x ' + box.height);
        must(box.right <= window.innerWidth + 1, figure.id + ' is wider than the window');
        // A tooltip with the figures of a mark.
        var mark = figure.querySelector('.drawn .mark-rect.role-mark path, .drawn .mark-symbol.role-mark path');
        if (!mark) return;
        var place = mark.getBoundingClientRect(), x = place.left + place.width / 2, y = place.top + place.height / 2;
        mouse(mark, 'mousemove', x, y);
        mouse(mark, 'mouseover', x, y);
        mouse(mark, 'mousemove', x, y);
        var tip = document.getElementById('tip');
        must(tip && tip.style.display === 'block' && tip.querySelectorAll('td').length > 1, figure.id + ' has no tooltip');
        mouse(drawn, 'mouseout', 0, 0);
        if (figure.querySelector('.drawn .mark-symbol.role-mark') && figure.querySelectorAll('tbody tr').length > 10)
          chosen.push(figure);
      });
      // Sorting and filtering.
      var table = all('table.sortable').filter(function (each) { return each.tBodies[0].rows.length > 10; })[0];
      if (table) {
        var head = table.querySelector('thead th'), body = table.tBodies[0];
        head.querySelector('button').click();
        must(head.getAttribute('aria-sort') === 'descending', 'a click on a header does not sort');
        head.querySelector('button').click();
        must(head.getAttribute('aria-sort') === 'ascending', 'a second click does not turn the order');
        var box = table.closest('details, section').querySelector('input.filter');
        must(box, 'a long table has no filter');
        if (box) {
          box.value = 'no row holds this';
          box.dispatchEvent(new Event('input'));
          must(Array.prototype.every.call(body.rows, function (row) { return row.hidden; }), 'the filter hides nothing');
          box.value = '';
          box.dispatchEvent(new Event('input'));
          must(!Array.prototype.some.call(body.rows, function (row) { return row.hidden; }), 'the filter does not let go');
        }
      }
      must(document.documentElement.scrollWidth <= window.innerWidth + 1, 'the page is wider than the window');
      all('*').forEach(function (element) {
        ['src', 'href'].forEach(function (name) {
          must(!/^https?:/.test(element.getAttribute(name) || ''), 'the page refers to ' + element.getAttribute(name));
        });
      });
      var dark = matchMedia('(prefers-color-scheme: dark)').matches;
      var ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
      must(dark === (ground[0] < 128), 'the ground is not that of the scheme');
      var end = function () {
        if (chosen.length) return choose(chosen.shift(), end);
        var said = wrong.length ? wrong.join('; ') : 'well, ' + figures.length + ' charts' + (dark ? ', dark' : '');
        document.body.setAttribute('data-probe', said);
        if (window.parent !== window) window.parent.postMessage(said + ', ' + window.innerWidth + ' wide', '*');
      };
      end();
    }, 200);
  });
})();
