"""timeloopfe's interface: documents as objects, and calls whose figures are the program's."""

import contextlib
import copy
import io
import json
import os
import pickle
import tempfile
import unittest
from pathlib import Path

try:
    import jinja2  # noqa: F401
    import yaml  # noqa: F401

    import orrery.timeloop as tl
    from orrery._call import call
except ImportError as error:
    if getattr(error, "name", None) not in ("jinja2", "yaml"):
        raise
    raise unittest.SkipTest("PyYAML or Jinja2 is not installed: orrery.timeloop is not tested")

ROOT = Path(__file__).resolve().parents[2]

ARCH = """\
architecture:
  version: 0.4
  nodes:
  - !Container {name: system}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {type: "LPDDR4", width: 64, datawidth: WORD}
  - !Component
    name: buffer
    class: SRAM
    attributes: {depth: 512, width: 16 * WORD, datawidth: WORD}
    constraints: {dataspace: {keep: [A, B, Z]}}
  - !Container
    name: PE
    spatial: {meshX: 8}
    {% if register|default(True) %}
  - !Component
    name: reg
    class: regfile
    attributes: {datawidth: WORD, depth: 1, width: 3 * datawidth}
    {% endif %}
  - !Component
    name: mac
    class: intmac
    attributes: {multiplier_width: WORD, adder_width: WORD * 2}
"""
PROBLEM = """\
base: &base
  version: 0.4
  shape:
    name: gemm
    dimensions: [M, K, N]
    data_spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read_write: true}
problem:
  <<<: *base
  instance: {M: 64, K: 32, N: 48}
"""
VARIABLES = """\
variables:
  version: 0.4
  technology: "45nm"
  global_cycle_seconds: 1e-9
  WORD: {{word|default(8)}}
"""
TOP = """\
{{add_to_path(cwd() ~ '/parts')}}
architecture: {{include('arch.yaml', 'architecture')}}
problem: {{include('problem.yaml', 'problem')}}
variables: {{include('variables.yaml', 'variables')}}
mapper: {version: 0.4, optimization_metrics: [edp], search_size: 100}
"""


def quietly(function, *arguments, **options):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        return function(*arguments, **options)


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        Path("parts").mkdir()
        for name, text in {"arch": ARCH, "problem": PROBLEM, "variables": VARIABLES}.items():
            Path(f"parts/{name}.yaml").write_text(text)
        Path("top.yaml.jinja").write_text(TOP)

    def mapped(self, *options):
        answer = call(["map", "top.yaml.jinja", "--json", "-q", *options])
        return json.loads(answer.out)["result"]["layers"][0]

    def assert_same(self, stats, layer):
        self.assertEqual(stats.cycles, layer["cycles"])
        self.assertAlmostEqual(stats.energy * 1e12 / layer["energy_pj"], 1, delta=1e-12)


class Documents(InAFolder):
    def test_are_read_with_tags_merges_and_expressions(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        self.assertIsInstance(spec.architecture.find("buffer"), tl.arch.Component)
        self.assertIsInstance(spec.architecture.find("PE"), tl.arch.Container)
        self.assertEqual(spec.problem.instance["K"], 32)
        self.assertEqual(spec.problem.shape.dimensions, ["M", "K", "N"])
        self.assertEqual([str(one) for one in spec.get_nodes_of_type(tl.constraints.Dataspace)],
                         ["Dataspace({'keep': ['A', 'B', 'Z']})"])
        self.assertEqual(spec.variables.global_cycle_seconds, 1e-9)
        self.assertEqual(spec.architecture.find("reg").attributes["width"], "3 * datawidth")
        spec.process()
        self.assertEqual(spec.architecture.find("reg").attributes["width"], 24)
        self.assertEqual(spec.architecture.find("mac").attributes["adder_width"], 16)

    def test_take_what_templates_ask_for(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja", jinja_parse_data={"word": 16, "register": False})
        self.assertEqual(spec.variables["WORD"], 16)
        with self.assertRaisesRegex(ValueError, "no leaf `reg`; there are .*buffer"):
            spec.architecture.find("reg")
        Path("top.yaml.jinja").write_text("architecture: {{ nothing }}")
        with self.assertRaisesRegex(ValueError, "nothing.*undefined"):
            tl.Specification.from_yaml_files("top.yaml.jinja")

    def test_run_no_code(self):
        marker = Path("ran").resolve()
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        for text in (f"__import__('pathlib').Path('{marker}').touch()", "spec.__class__.__mro__", "2 ** 10 ** 10"):
            spec.variables["code"] = text
            spec.process()
            self.assertEqual(spec.variables["code"], text)
        self.assertFalse(marker.exists())

    def test_are_copied_and_pickled_whole(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        for other in (copy.deepcopy(spec), pickle.loads(pickle.dumps(spec))):
            self.assertEqual(other.to_yaml_string(), spec.to_yaml_string())
            other.architecture.find("buffer").attributes["depth"] = 1
            self.assertEqual(spec.architecture.find("buffer").attributes["depth"], 512)

    def test_name_what_a_node_lacks(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        with self.assertRaisesRegex(AttributeError, "a Component has no `depht`; it has name, class"):
            spec.architecture.find("buffer").depht
        self.assertEqual(spec.architecture.find("PE").spatial.meshY, 1)
        before = spec.to_yaml_string()
        spec.architecture.find("PE").constraints.temporal
        self.assertEqual(spec.to_yaml_string(), before)

    def test_have_their_entries_listed(self):
        self.assertIn("meshX", tl.get_property_table(tl.arch.Spatial))
        self.assertIn("\n    meshX", tl.get_property_tree(tl.arch.Component))


class Mapper(InAFolder):
    def test_finds_what_the_program_finds(self):
        stats = quietly(tl.call_mapper, tl.Specification.from_yaml_files("top.yaml.jinja"), output_dir="out")
        self.assert_same(stats, self.mapped())
        self.assertEqual(stats.computes, 64 * 32 * 48)
        self.assertEqual(stats.per_compute("energy"), stats.energy / stats.computes)
        self.assertEqual(stats.cycle_seconds, 1e-9)
        self.assertEqual(sum(stats.per_component_energy.values()), stats.energy)
        self.assertEqual(sum(stats.per_component_area.values()), stats.area)
        self.assertEqual(stats.access("WORD"), 8)
        self.assertEqual(stats.mapping, Path("out/timeloop-mapper.map.txt").read_text())
        self.assertIn("Summary Stats", Path("out/timeloop-mapper.stats.txt").read_text())
        for name in ("map.yaml", "ERT.yaml", "ART.yaml", "accelergy.log"):
            self.assertTrue(Path(f"out/timeloop-mapper.{name}").stat().st_size, name)

    def test_follows_edits(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        spec.problem.instance["N"] *= 2
        spec.architecture.find("buffer").attributes["depth"] *= 2
        spec.architecture.find("PE").spatial.meshX *= 2
        spec.architecture.find("reg").enabled = False
        spec.variables["WORD"] = 16
        changes = ["problem.instance.N=96", "arch.buffer.depth=1024", "arch.PE.meshX=16", "variables.WORD=16"]
        stats = quietly(tl.call_mapper, spec, output_dir="out")
        options = ["--define", "register=False"]
        for change in changes:
            options += ["--set", change]
        self.assert_same(stats, self.mapped(*options))

    def test_takes_options_and_logs(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        stats = tl.call_mapper(spec, output_dir="out", log_to="out/log", extra_args=["--objective", "delay,energy"])
        self.assert_same(stats, self.mapped("--objective", "delay,energy"))
        self.assertIn("cycles", Path("out/log").read_text())

    def test_refuses_with_the_programs_words(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        spec.problem.instance["K"] = 0
        with self.assertRaisesRegex(RuntimeError, r"(?s)ended with code [12].*error\[O\d+\]"):
            quietly(tl.call_mapper, spec, output_dir="out")
        with self.assertRaisesRegex(TypeError, "specification is an orrery.timeloop.Specification, not str"):
            tl.call_mapper("top.yaml.jinja", output_dir="out")

    def test_counts_computes_of_sparse_problems_whole(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        spec.problem.instance["densities"] = {"A": {"distribution": "hypergeometric", "density": 0.25}}
        spec.sparse_optimizations = {"version": 0.4, "targets": [{
            "target": "mac", "compute_optimization": [{"type": "gating", "target": "Z", "condition_on": ["A"]}]}]}
        stats = quietly(tl.call_mapper, spec, output_dir="out")
        self.assertEqual(stats.computes, 64 * 32 * 48)


class Model(InAFolder):
    def test_evaluates_the_mapping_that_the_mapper_found(self):
        best = quietly(tl.call_mapper, tl.Specification.from_yaml_files("top.yaml.jinja"), output_dir="out")
        spec = tl.Specification.from_yaml_files("top.yaml.jinja", "out/timeloop-mapper.map.yaml")
        stats = quietly(tl.call_model, spec, output_dir="out")
        self.assertEqual((stats.cycles, stats.energy), (best.cycles, best.energy))
        self.assertTrue(Path("out/timeloop-model.stats.txt").exists())

    @unittest.skipUnless((ROOT / "examples").is_dir(), "the examples are not at hand")
    def test_reads_the_examples(self):
        files = sorted((ROOT / "examples/gemmini").glob("*.yaml")) + [ROOT / "examples/gemmini/layers/KTQ.yaml"]
        mapping = ROOT / "examples/gemmini/mappings/KTQ.yaml"
        stats = quietly(tl.call_model, tl.Specification.from_yaml_files(files, mapping), output_dir="out")
        answer = call(["eval", *map(str, files), str(mapping), "--json", "-q"])
        result = json.loads(answer.out)["result"]
        self.assert_same(stats, result["layers"][0])
        self.assertAlmostEqual(stats.area * 1e12, result["area_um2"], places=3)


class Accelergy(InAFolder):
    def test_writes_tables_and_says_where_figures_are_from(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja")
        self.assertEqual(tl.call_accelergy_verbose(spec, output_dir="out", log_to="out/log"), 0)
        self.assertEqual({"ERT.yaml", "ART.yaml", "ERT_summary_verbose.yaml", "ART_summary_verbose.yaml",
                          "flattened_architecture_verbose.yaml"} - {path.name for path in Path("out").iterdir()}, set())
        self.assertIn("from:", Path("out/log").read_text())


class Doubles(tl.Processor):
    def declare_attrs(self):
        self.add_attr(tl.arch.Component, "times", int, 1)

    def process(self, spec):
        for component in spec.get_nodes_of_type(tl.arch.Component):
            times = component.pop("times")
            if component.attributes.get("depth"):
                component.attributes["depth"] *= times


class Forgets(Doubles):
    def process(self, spec):
        pass


class Processors(InAFolder):
    def test_change_the_document_once_and_in_place(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja", processors=[Doubles])
        spec.architecture.find("buffer").times = 4
        stats = quietly(tl.call_mapper, spec, output_dir="out")
        self.assert_same(stats, self.mapped("--set", "arch.buffer.depth=2048"))
        self.assertEqual(spec.architecture.find("buffer").attributes["depth"], 512)
        spec.process()
        self.assertEqual(spec.architecture.find("buffer").attributes["depth"], 2048)

    def test_take_their_attributes_away(self):
        spec = tl.Specification.from_yaml_files("top.yaml.jinja", processors=[Forgets])
        with self.assertRaisesRegex(tl.ProcessorError, "Forgets has run, but .*DRAM.* still has `times`"):
            spec.process()


class Results(InAFolder):
    def stats(self, **changes):
        values = {"percent_utilization": 50.0, "computes": 10, "cycles": 5, "cycle_seconds": 1e-9,
                  "per_component_energy": {"a": 1.0, "b": 3.0}, "per_component_area": {"a": 2.0, "b": 0.0},
                  "variables": {"kind": "x"}}
        return tl.OutputStats(**{**values, **changes})

    def test_of_layers_add_up(self):
        both = tl.OutputStats.aggregate([self.stats(), self.stats(computes=30, percent_utilization=90.0)])
        self.assertEqual((both.computes, both.cycles, both.energy, both.area), (40, 10, 8.0, 2.0))
        self.assertEqual(both.percent_utilization, 80.0)
        groups = tl.OutputStatsList([self.stats(), self.stats(variables={"kind": "y"}), self.stats()])
        self.assertEqual([one.computes for one in groups.aggregate_by("kind")], [20, 10])

    def test_are_combined_scaled_and_pickled(self):
        stats = pickle.loads(pickle.dumps(self.stats()))
        self.assertEqual(stats.per_compute("per_component_energy"), {"a": 0.1, "b": 0.3})
        stats.clear_zero_areas()
        self.assertEqual(stats.per_component_area, {"a": 2.0})
        stats.combine_per_component_energy(["a", "b"], "all")
        self.assertEqual(stats.per_component_energy, {"all": 4.0})
        with self.assertRaises(KeyError):
            stats.combine_per_component_energy(["a"], "none")


if __name__ == "__main__":
    unittest.main()
