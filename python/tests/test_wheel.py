"""A wheel of the build folder, installed where nothing else is: into a virtual environment, and into a root that has
Python, the libraries that every manylinux wheel may use, and no compiler."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import unittest
from pathlib import Path

from orrery._call import PROGRAM

PYTHON = Path(__file__).resolve().parents[1]
FIRST = "import orrery as o; print(o.map(chip='gemmini', gemm='64,64,64').inputs[0].name)"
BARE = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ORRERY_CATALOG")}


def said(*words, **more) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, **{"env": BARE, **more})
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def libraries(*files) -> set[str]:
    """Shared libraries of these, the loader among them."""
    done = subprocess.run(["ldd", *files], capture_output=True, text=True, check=False)
    return set(re.findall(r"(?:=> |^\t)(/\S+)", done.stdout, re.MULTILINE))


def make_root(root: Path) -> str:
    """A root with this Python and its standard library; returns where Python is in it."""
    python, library = os.path.realpath(sys.executable), sysconfig.get_path("stdlib")
    unneeded = shutil.ignore_patterns("site-packages", "dist-packages", "test", "idlelib", "tkinter", "__pycache__",
                                      "config-*")  # fmt: skip
    shutil.copytree(library, f"{root}{library}", ignore=unneeded)
    if os.path.isdir("/usr/share/python-wheels"):  # Debian's ensurepip
        shutil.copytree("/usr/share/python-wheels", f"{root}/usr/share/python-wheels")
    needed = libraries(python, *Path(library, "lib-dynload").glob("*.so"))
    also = "libstdc++.so.6 libgcc_s.so.1 libz.so.1 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1".split()  # PEP 600
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False,
                           env={"PATH": "/usr/sbin:/sbin"}).stdout  # fmt: skip
    for name in also:
        needed.update(re.findall(rf"^\t{re.escape(name)} .*x86-64.* => (\S+)", found, re.MULTILINE)[:1])
    for path in [python, *needed]:
        os.makedirs(f"{root}{os.path.dirname(path)}", exist_ok=True)
        shutil.copy(path, f"{root}{path}")
    for folder in ("tmp", "home", "dev", "proc"):
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    return python


@unittest.skipIf(Path(PROGRAM).parent.name == "bin", "this is an installed package")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.wheel = said(sys.executable, PYTHON / "pack.py", Path(PROGRAM).parent, cls.folder).strip()

    def test_it_carries_the_program_and_the_catalogue(self):
        said(sys.executable, "-m", "venv", f"{self.folder}/v")
        said(f"{self.folder}/v/bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", self.wheel)
        self.assertIn("gemmini", said(f"{self.folder}/v/bin/orrery", "catalog", cwd=self.folder))
        inside = said(f"{self.folder}/v/bin/python", "-c", FIRST, cwd=self.folder).strip()
        self.assertTrue(inside.startswith(os.path.realpath(self.folder)), inside)

    @unittest.skipUnless(importlib.util.find_spec("auditwheel"), "no auditwheel, which puts the libraries into it")
    def test_in_a_bare_root_it_has_a_first_result_within_half_a_minute(self):
        root = Path(self.folder, "root")
        python = make_root(root)
        into = [shutil.which("unshare") or "unshare", *["--map-root-user"] * (os.geteuid() != 0), "--mount", "--pid",
                "--fork", f"--root={root}", "--mount-proc=/proc", python]  # fmt: skip
        alone = {"PATH": "/usr/bin:/bin", "HOME": "/home", "TMPDIR": "/tmp"}
        if subprocess.run([*into, "-c", ""], env=alone, check=False, capture_output=True).returncode != 0:
            self.skipTest("no root can be made here")

        def there(*words):
            return said(*into, *words, env=alone)

        tools = {**os.environ, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
        said(sys.executable, "-m", "auditwheel", "repair", self.wheel, "-w", f"{root}/tmp", env=tools)
        (whole,) = (root / "tmp").glob("*manylinux*.whl")
        there("-m", "ensurepip")
        self.assertFalse(list(root.rglob("bin/*gcc*")) + list(root.rglob("bin/*g++*")))
        started = time.monotonic()
        there("-m", "pip", "install", "--quiet", "--no-index", "--root-user-action", "ignore", f"/tmp/{whole.name}")
        self.assertIn("/share/orrery/catalog/chips/gemmini.yaml", there("-c", FIRST))
        self.assertLess(time.monotonic() - started, 30)
        self.assertIn("gemmini", there("-m", "orrery", "catalog"))


if __name__ == "__main__":
    unittest.main()
