"""Every notebook of the examples runs from its first cell to its last, in less than a minute."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples/notebooks"
NEEDED = {"sparse_attention_break_even": ["numpy"], "a_study_with_dask": ["distributed"]}


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def cells(path: Path) -> list[str]:
    listed = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(each["source"]) for each in listed if each["cell_type"] == "code"]


def script(path: Path) -> str:
    """The cells one behind the other; what a cell ends with is shown as a notebook shows it."""
    lines = ["def show(value):",
             "    bundle = getattr(value, '_repr_mimebundle_', lambda: {'text/plain': repr(value)})()",
             "    print(*bundle)", "if __name__ == '__main__':  # workers read this file again", "    pass"]  # fmt: skip
    for cell in cells(path):
        body = ast.parse(cell).body
        if body and isinstance(body[-1], ast.Expr):
            body[-1] = ast.Expr(ast.Call(ast.Name("show", ast.Load()), [body[-1].value], []))
        text = ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
        lines += ["    " + line for line in text.splitlines()]
    return "\n".join(lines)


@unittest.skipUnless(FOLDER.is_dir(), "the examples are not at hand")
class Notebooks(unittest.TestCase):
    def test_are_six_and_committed_without_their_outputs(self):
        paths = sorted(FOLDER.glob("*.ipynb"))
        self.assertEqual(len(paths), 6)
        for path in paths:
            document = json.loads(path.read_text(encoding="utf-8"))
            self.assertEqual(document["nbformat"], 4)
            for cell in document["cells"]:
                self.assertFalse(cell.get("outputs"), path.name)

    def run_notebook(self, name: str):
        lacking = [package for package in NEEDED.get(name, []) if not has(package)]
        if lacking:
            self.skipTest(f"{', '.join(lacking)}: not installed")
        path = FOLDER / f"{name}.ipynb"
        self.addCleanup(os.environ.pop, "ORRERY_EXAMPLES", None)
        os.environ["ORRERY_EXAMPLES"] = str(FOLDER.parent)
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            if has("nbclient") and has("ipykernel"):
                self.in_a_kernel(path, folder)
            else:
                Path(folder, "cells.py").write_text(script(path), encoding="utf-8")
                done = subprocess.run([sys.executable, "cells.py"], capture_output=True, text=True, cwd=folder,
                                      check=False)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("application/vnd.vega.v5+json", done.stdout)
        self.assertLess(time.monotonic() - started, 60)

    def in_a_kernel(self, path: Path, folder: str):
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        NotebookClient(notebook, timeout=60, resources={"metadata": {"path": folder}},
                       extra_arguments=["--log-level=40"]).execute()  # fmt: skip
        shown = [data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
                 for data in output.get("data", {})]  # fmt: skip
        self.assertIn("application/vnd.vega.v5+json", shown)
        if kept := os.environ.get("ORRERY_NOTEBOOKS"):  # to look at
            nbformat.write(notebook, Path(kept, path.name))


for each in sorted(FOLDER.glob("*.ipynb")):
    setattr(Notebooks, f"test_{each.stem}", lambda self, name=each.stem: self.run_notebook(name))

if __name__ == "__main__":
    unittest.main()
