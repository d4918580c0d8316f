"""Chromium without a window, spoken to through a pipe: pages in real time, real mouse events, its own clocks."""

import json
import os
import subprocess
import tempfile
import time


class Chromium:
    """One browser with one tab. Commands are those of the DevTools protocol, a zero byte behind each."""

    def __init__(self, width=1000, height=1400):
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"]
        self._process = subprocess.Popen(
            ["bash", "-c", 'exec chromium "$@" 3<&"$FROM" 4>&"$TO"', "chromium", *flags, "--remote-debugging-pipe",
             f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(to_read, to_write), stderr=subprocess.DEVNULL,
            env={**os.environ, "FROM": str(to_read), "TO": str(to_write)},
        )  # fmt: skip
        os.close(to_read)
        os.close(to_write)
        self._number, self._text, self.events = 0, b"", []
        self._session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime"):
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(20)
        self._profile.cleanup()

    def _message(self):
        while b"\0" not in self._text:
            more = os.read(self._from, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has ended")
            self._text += more
        one, self._text = self._text.split(b"\0", 1)
        return json.loads(one)

    def ask(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session and not method.startswith("SystemInfo."):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def open(self, path):
        """Seconds until the page is drawn, by the wall clock, and those that its processes worked."""
        before, begun = self.worked(), time.monotonic()
        self.ask("Page.navigate", url="file://" + os.path.realpath(path))
        self.value(
            "new Promise(done => { const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));"
            "document.readyState === 'complete' ? drawn() : addEventListener('load', drawn) }).then(() => 0)"
        )
        return time.monotonic() - begun, self.worked() - before

    def worked(self):
        """Seconds of processors that the pages' processes have had."""
        processes = self.ask("SystemInfo.getProcessInfo")["processInfo"]
        return sum(one["cpuTime"] for one in processes if one["type"] == "renderer")

    def mouse(self, kind, x, y):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=int(kind != "mouseReleased"),
                 clickCount=1)  # fmt: skip
