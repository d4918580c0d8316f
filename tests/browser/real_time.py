#!/usr/bin/env python3
"""real_time.py STUDY.html PAGE.html...: what pages take in Chromium, in real time.

Each page must be drawn within a second of its processes' time (the wall clock's is told beside it: other work on the
machine counts there), and be below 1.5 MB, a study below 5 MB. Of the study, which has 10,000 points, a rectangle is
drawn over the front as a hand does: frames must come while it is drawn, and its rows when it rests; a point's link and
the box lead to its figures and layers.
"""

import os
import statistics
import sys
import time

from chromium import Chromium

failures = 0


def must(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAILED:", what)


def open_page(browser, path, most_bytes):
    # Twice: the first page of a browser pays for what all share.
    walls, works = zip(*(browser.open(path) for _ in range(2)), strict=True)
    size = os.path.getsize(path)
    name = os.path.basename(path)
    print(f"{name:<18} {size / 1e6:.2f} MB, drawn after {min(walls):.2f} s, {min(works):.2f} s at work")
    must(size < most_bytes, f"{name} has {size} bytes")
    must(min(works) < 1, f"{name} takes {min(works):.2f} s to open")


def drag(browser, steps=60):
    """Times between frames while a rectangle is drawn over the whole front, in ms, and seconds at work."""
    browser.value("document.querySelector('figure[data-chart]').scrollIntoView()")
    box = browser.value(
        "(() => { const b = document.querySelector('figure .drawn canvas').getBoundingClientRect();"
        "return [b.left, b.top, b.width, b.height] })()"
    )
    left, top, width, height = box
    at = lambda share: (left + share * width, top + share * height)  # noqa: E731
    browser.value(
        "window.frames_seen = []; window.watching = true;"
        "(function next(t) { frames_seen.push(t); if (watching) requestAnimationFrame(next) })(performance.now())"
    )
    before = browser.worked()
    browser.mouse("mouseMoved", *at(0.1))
    browser.mouse("mousePressed", *at(0.1))
    for i in range(steps):
        browser.mouse("mouseMoved", *at(0.1 + 0.8 * (i + 1) / steps))
        time.sleep(0.005)
    browser.mouse("mouseReleased", *at(0.9))
    times = browser.value("watching = false, frames_seen")
    return [after - one for one, after in zip(times, times[1:])], browser.worked() - before


def study(browser, path):
    open_page(browser, path, 5_000_000)
    every, worked = drag(browser)
    every.sort()
    steady = statistics.median(every)
    print(f"rectangle: {len(every)} frames, {steady:.0f} ms each, nine in ten within {every[len(every) * 9 // 10]:.0f} ms,"
          f" {1000 * worked / 60:.1f} ms at work a move")  # fmt: skip
    must(1000 * worked / 60 < 33, f"a move of the rectangle takes {1000 * worked / 60:.0f} ms")
    time.sleep(0.5)
    held = browser.value("document.querySelector('.held').textContent")
    rows = "document.querySelector('figure[data-chart] table').tBodies[0].rows"
    must(" of " in held and 0 < browser.value(rows + ".length") <= 400, f"the rectangle holds: {held}")
    browser.value(f"{rows}[3].querySelector('a').click()")
    time.sleep(0.2)
    chosen = browser.value("location.hash.split('-').pop()")
    panel = "document.querySelector('section.point')"
    must(browser.value(f"{panel}.querySelector('input').value") == chosen, "a link leads to its point")
    must(browser.value(f"{panel}.querySelectorAll('table').length") == 2, "a point has its figures and its layers")
    browser.value(f"(box => (box.value = 9998, box.dispatchEvent(new Event('input'))))({panel}.querySelector('input'))")
    must(browser.value(f"{panel}.querySelectorAll('td').length") > 4, "a point that no table lists is found")


with Chromium() as browser:
    study(browser, sys.argv[1])
    for page in sys.argv[2:]:
        open_page(browser, page, 1_500_000)
sys.exit(failures > 0)
