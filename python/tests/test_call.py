"""Command lines in this process."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from orrery._call import PROGRAM, call

LONG = ["map", "--chip", "simba", "--gemm", "4096,4096,4096", "--factors", "imperfect", "--json"]


class Call(unittest.TestCase):
    def test_prints_what_the_program_prints(self):
        for words in (
            ["--version"],
            ["catalog"],
            ["explain", "O1100"],
            ["map", "--chip", "nope", "--json"],
            ["nonsense"],
        ):
            program = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
            here = call(words)
            self.assertEqual((here.code, here.out, here.err), (program.returncode, program.stdout, program.stderr))

    def test_takes_paths_and_names_what_it_cannot_take(self):
        with self.assertRaisesRegex(TypeError, "arguments: 3 is neither text nor a path"):
            call(["map", 3])
        with self.assertRaisesRegex(TypeError, "not one string"):
            call("map")

    def test_a_time_limit_ends_a_search_with_the_best_so_far(self):
        started = time.monotonic()
        answer = call(LONG, time_limit=0.5)
        self.assertLess(time.monotonic() - started, 60)
        self.assertEqual((answer.code, answer.timed_out), (3, True))
        self.assertLess(json.loads(answer.out)["result"]["layers"][0]["certificate"]["gap"], 1)

    def test_ctrl_c_ends_a_search_and_leaves_python_alive(self):
        script = (
            "import os, signal, threading\n"
            "from orrery._call import call\n"
            "threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
            f"print(call({LONG!r}).code)\n"
            "print(call(['--version']).code)\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout, "130\n0\n")

    def test_pythons_own_handlers_stay(self):
        before = signal.getsignal(signal.SIGINT)
        call(["map", "--chip", "gemmini", "--gemm", "64,64,64"])
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

    def test_other_threads_run_meanwhile_and_commands_one_after_the_other(self):
        answers = []
        words = ["map", "--chip", "gemmini", "--model", "bert-large", "--seq", "128", "--json"]
        threads = [threading.Thread(target=lambda: answers.append(call(words).code)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [0, 0, 0])

    def test_a_build_without_the_lock_is_refused_by_name(self):
        script = "import sys; sys._is_gil_enabled = lambda: False; import orrery"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        self.assertIn("ImportError: orrery: free-threaded Python is not supported", done.stderr)

    def test_memory_is_flat(self):
        def resident() -> int:
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        for _ in range(100):
            call(["explain", "O1100"])
        before = resident()
        for _ in range(int(os.environ.get("ORRERY_CALLS", "1000"))):
            call(["explain", "O1100"])
        self.assertLess(resident() - before, 8 << 20)


if __name__ == "__main__":
    unittest.main()
