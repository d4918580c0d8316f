"""A sweep on Dask's scheduler: two workers, one of which is killed amid its work; nothing is lost, nothing doubled."""

import os
import signal
import sqlite3
import tempfile
import threading
import time
import unittest
from pathlib import Path

try:
    from distributed import Client, LocalCluster
except ImportError:
    raise unittest.SkipTest("Dask's distributed is not installed: fleets are tested with concurrent.futures alone")

import orrery as o

QUESTION = {"seq": 1024, "layer": "KTQ", "all": True,
            "vary": {"Scratchpad.depth": list(range(512, 2512, 20)), "Accumulator.depth": [128, 256]}}  # fmt: skip


def points(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as file:
            return file.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.Error:  # it is not there yet
        return 0


class Dask(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        self.addCleanup(self.cluster.close)
        self.client = Client(self.cluster)
        self.addCleanup(self.client.close)

    def ask(self, name: str, **more):
        return o.sweep(o.chip("gemmini"), "bert-large", store=str(self.folder / name), **QUESTION, **more)

    def test_workers_have_the_answer_of_one_process(self):
        self.assertEqual(self.ask("b.db", executor=self.client, parts=4).to_rows(), self.ask("a.db").to_rows())
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.db", "b.db"])

    def test_a_worker_that_is_killed_loses_and_doubles_nothing(self):
        killed = []

        def kill():  # the worker that has stored some points, not yet all
            while not killed:
                for store in self.folder.glob("b.db.parts/*.db"):
                    if 1 <= points(store) < 80:
                        killed.append(points(store))
                        os.kill(next(iter(self.cluster.workers.values())).pid, signal.SIGKILL)
                        return
                time.sleep(0.005)

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        parts = self.ask("b.db", executor=self.client, parts=2)
        killer.join(10)
        self.assertTrue(killed)
        alone = self.ask("a.db")
        self.assertEqual(len(parts), 200)
        self.assertEqual(parts.to_rows(), alone.to_rows())
        self.assertEqual(points(self.folder / "b.db"), points(self.folder / "a.db"))


if __name__ == "__main__":
    unittest.main()
