#include "orrery/orrery.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/limits/parallel.h"
#include "orrery/describe/machine/flat_efficiency.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/train/run.h"

namespace orrery {
namespace {

const std::string kExamples = ORRERY_SOURCE_DIR "/examples/";

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

cluster::Plan gpt3_plan() {
  cluster::Plan plan;
  plan.gpus = 1024, plan.global_batch = 1536, plan.tp = 8, plan.pp = 8, plan.dp = 16;
  plan.recompute = cluster::Recompute::kSelective;
  return plan;
}

TEST(Library, MapsABlockAsTheCommandLineDoes) {
  const Chip chip = Chip::named("gemmini");
  const auto block = Model::named("bert-base").block(1, 512);
  const MappedBlock mapped = map(chip, block);

  const std::string directory = catalogue_directory();
  const verbs::ChipFile file = verbs::load_chip(directory, "gemmini");
  ASSERT_EQ(mapped.operators.size(), block.size());
  double energy = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto documents = formats::timeloop::Documents::gather({file.for_role(block[i].role).file}, {});
    const auto read = documents.read_for(block[i].einsum);
    const nest::Optimum expected =
        nest::optimize(nest::Model(block[i].einsum, *read.chip, {}, read.problem->space.reuse), read.problem->space);
    EXPECT_EQ(mapped.operators[i].mapping, expected.mapping) << block[i].name;
    EXPECT_EQ(mapped.operators[i].evaluation.energy_pj, expected.evaluation.energy_pj);
    EXPECT_TRUE(mapped.operators[i].certificate.optimal);
    energy += static_cast<double>(block[i].instances) * expected.evaluation.energy_pj;
  }
  EXPECT_EQ(mapped.energy_pj, energy);
}

TEST(Library, AChangedBandwidthNeedsNoReading) {
  const Chip chip = Chip::named("gemmini");
  const workload::Einsum einsum = workload::matmul("x", 512, 64, 512);
  const nest::Optimum before = map(chip, einsum);
  machine::Chip slower = chip.value();
  for (machine::Storage& storage : slower.storages)
    for (auto* words : {&storage.read_words_per_cycle, &storage.write_words_per_cycle, &storage.shared_words_per_cycle})
      if (*words) **words /= 64;
  const Chip changed = chip.with(slower);
  EXPECT_EQ(changed.space(einsum), chip.space(einsum));
  EXPECT_GT(map(changed, einsum).evaluation.cycles, before.evaluation.cycles);
  EXPECT_EQ(map(chip, einsum).evaluation.cycles, before.evaluation.cycles);  // the first one is as it was
}

TEST(Library, RefusesChipsThatCannotBe) {
  const Chip chip = Chip::named("gemmini");
  machine::Chip wrong = chip.value();
  wrong.storages[0].mesh_x = 0;
  EXPECT_THROW(chip.with(wrong), InputError);
  wrong = chip.value();
  wrong.storages[0].read_words_per_cycle = 0;
  EXPECT_THROW(chip.with(wrong), InputError);
  wrong = chip.value();
  wrong.storages.pop_back();
  EXPECT_THROW(chip.with(wrong), std::invalid_argument);
}

TEST(Library, RefusesEinsumsThatCannotBe) {
  const Chip chip = Chip::named("edge-npu");
  EXPECT_THROW(map(chip, workload::matmul("x", 0, 64, 64)), InputError);
  EXPECT_THROW(map(chip, workload::matmul("x", 64, -1, 64)), InputError);
  const Count much = Count{1} << 40;
  EXPECT_THROW(map(chip, workload::matmul("x", much, much, much)), InputError);
  workload::Einsum dangling = workload::matmul("x", 64, 64, 64);
  dangling.dataspaces[0].ranks[0].terms[0].dimension = 7;
  EXPECT_THROW(map(chip, dangling), InputError);
  EXPECT_THROW(map(chip, workload::Einsum()), InputError);
}

TEST(Library, RefusesFiguresThatGiveNoTime) {
  cluster::System broken = System::named("a100-selene").value();
  broken.fabric.levels[0].bytes_per_s = 0;
  EXPECT_THROW(train(Model::named("gpt3-175b"), System(broken), gpt3_plan()), InputError);
}

TEST(Library, AChipOfAValueAllowsWhateverItCanDo) {
  machine::Chip value = Chip::named("edge-npu").value();
  const workload::Einsum einsum = workload::matmul("x", 64, 64, 64);
  const nest::Optimum free = map(Chip(value), einsum);
  ASSERT_TRUE(free.mapping);
  EXPECT_EQ(evaluate(Chip(value), einsum, *free.mapping).energy_pj, free.evaluation.energy_pj);
  EXPECT_EQ(evaluator(Chip(value), einsum).evaluate(*free.mapping).cycles, free.evaluation.cycles);
  nest::Mapping broken = *free.mapping;
  broken.levels[0].temporal[0] *= 2;
  EXPECT_THROW(evaluate(Chip(value), einsum, broken), InputError);
}

TEST(Library, FilesAndTextsSayTheSame) {
  const std::string folder = kExamples + "gemmini/";
  const Chip files = Chip::from_files({folder + "arch.yaml", folder + "ERT.yaml", folder + "constraints.yaml",
                                       folder + "variables.yaml", folder + "layers/KTQ.yaml"});
  ASSERT_TRUE(files.problem());
  EXPECT_TRUE(map(files, *files.problem()).certificate.optimal);

  const std::string catalogue = catalogue_directory();
  const workload::Einsum einsum = workload::matmul("x", 256, 64, 256);
  EXPECT_EQ(map(Chip::from_text(text_of(catalogue + "/chips/gemmini.yaml")), einsum).mapping,
            map(Chip::named("gemmini"), einsum).mapping);
  EXPECT_EQ(train(Model::from_text(text_of(catalogue + "/models/gpt3-175b.json")),
                  System::from_text(text_of(catalogue + "/systems/a100-selene.yaml")), gpt3_plan())
                .iteration_s,
            train(Model::named("gpt3-175b"), System::named("a100-selene"), gpt3_plan()).iteration_s);
  const std::string setup = kExamples + "dataflow/gpt3_1t.txt";
  EXPECT_EQ(place(setup_from_text(text_of(setup))).evaluation.final_ns,
            place(setup_from_file(setup)).evaluation.final_ns);
}

TEST(Library, TextsAreRefusedWithTheirPlaces) {
  try {
    Chip::from_text("architecture: {version: 0.4, nodes: [1]}");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics.at(0).primary.where.file->name, "<text>");
  }
  EXPECT_THROW(Model::from_text("{}"), InputError);
  EXPECT_THROW(System::from_text("system: {}"), InputError);
  EXPECT_THROW(setup_from_text("nonsense"), InputError);
  EXPECT_THROW(Chip::named("gemini"), InputError);
}

TEST(Library, TrainsAsTheCommandLineDoes) {
  verbs::TrainRequest request;
  request.model = "gpt3-175b", request.system = "a100-selene";
  request.gpus = 1024, request.global_batch = 1536, request.tp = 8, request.pp = 8, request.dp = 16;
  request.interleave = 1;
  request.recompute = cluster::Recompute::kSelective;
  EXPECT_EQ(train(Model::named("gpt3-175b"), System::named("a100-selene"), gpt3_plan()).iteration_s,
            verbs::train(request).iteration.iteration_s);
}

TEST(Library, RefusesPlansAndSizesThatCannotBe) {
  const Model model = Model::named("gpt3-175b");
  const System system = System::named("a100-selene");
  cluster::Plan plan = gpt3_plan();
  plan.dp = 7;
  EXPECT_THROW(train(model, system, plan), InputError);
  EXPECT_THROW(model.with({{"layers", "4611686018427387904"}}), InputError);
  EXPECT_THROW(train(model.with({{"hidden", "2147483648"}}), system, gpt3_plan()), InputError);
  EXPECT_THROW(model.with({{"hidden", "4611686018427387904"}}), InputError);
  EXPECT_THROW(model.with({{"layer", "3"}}), InputError);
}

TEST(Library, AModelOfOtherSizesIsAnotherModelOnChipsAndSystems) {
  const Model model = Model::named("gpt3-175b");
  const Model longer = model.with({{"layers", "48"}, {"seq", "1024"}});
  EXPECT_EQ(longer.value().layers, 48);
  EXPECT_EQ(longer.value().seq, 1024);
  EXPECT_EQ(longer.operators({1, 128, 0}).layers, 48);
  const Model again = longer.with({{"hidden", "6144"}});
  EXPECT_EQ(again.value().seq, 1024) << "what was set before stays";
  EXPECT_EQ(again.value().layers, 48);
  EXPECT_EQ(model.value().layers, 96);
  EXPECT_EQ(Model::named("gpt3-175b", {.overrides = {{"layers", "48"}}}).operators({1, 128, 0}).layers, 48);
}

TEST(Library, AModelWithATowerRunsOnChipsAndIsNotTrained) {
  workload::Transformer tower = workload::plain_transformer({.layers = 2, .hidden = 64, .heads = 4, .vocab = 100});
  tower.towers.push_back(tower.stacks[0]);
  const Model model(tower);
  EXPECT_FALSE(model.block(1, 16).empty());
  try {
    model.value();
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics.at(0).code, "O0915");
  }
}

TEST(Library, TrainsAPlainTransformer) {
  const Model plain(workload::plain_transformer({.layers = 96, .hidden = 12288, .heads = 96, .vocab = 51200}));
  const Model model = plain.with({{"seq", "2048"}});
  EXPECT_NEAR(train(model, System::named("a100-selene"), gpt3_plan()).iteration_s,
              train(Model::named("gpt3-175b").with({{"vocab", "51200"}}), System::named("a100-selene"), gpt3_plan())
                  .iteration_s,
              1e-3);
}

// As docs/library.md shows.
TEST(Library, AGroupOfQueriesIsOneInstanceInDecoding) {
  const workload::ModelOperators decoding = Model::named("llama3-8b").operators({8, 1, 4095});
  EXPECT_EQ(decoding.layers, 32);
  for (const workload::Operator& op : decoding.operators) {
    if (op.name == "KTQ") {
      EXPECT_EQ(op.instances, 8 * 8);
    }
  }
  const Model plain(workload::plain_transformer({.layers = 24,
                                                 .hidden = 2048,
                                                 .heads = 16,
                                                 .kv_heads = 4,
                                                 .ffn = 5632,
                                                 .vocab = 32000,
                                                 .gated = true,
                                                 .biases = false,
                                                 .learned_positions = false}));
  EXPECT_EQ(cluster::parameters(plain.value()), 1147764736);
}

TEST(Library, LeavesKeysOutOfAccountAndReadsAModelLikeAnother) {
  const std::string text = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 128,
    "sliding_window": 16, "use_sliding_window": true})";
  const Model like = Model::from_text(text, {.ignored = {"sliding_window"}, .like = "mistral"});
  EXPECT_EQ(like.config().family, "mistral");
  EXPECT_FALSE(workload::shortest_reach(like.config()));
  EXPECT_EQ(workload::shortest_reach(Model::from_text(text, {.like = "mistral"}).config()), 16);
}

TEST(Library, RefusesTransformersWithoutLayers) {
  workload::Transformer empty;
  EXPECT_THROW(Model{empty}, std::invalid_argument);
  empty.stacks.emplace_back().layers = {0};
  EXPECT_THROW(Model{empty}, std::invalid_argument) << "a layer of a kind that there is not";
}

TEST(Library, AnOpinionOfOnesOwnTimesTheOperators) {
  const Model model = Model::named("gpt3-175b");
  const System system = System::named("a100-selene");
  const machine::FlatEfficiency half(system.value().accelerator, 0.5);
  EXPECT_NE(train(model, system, gpt3_plan(), half).iteration_s, train(model, system, gpt3_plan()).iteration_s);
}

TEST(Library, EstimatesWhatADescriptionSays) {
  const std::string folder = kExamples + "gemmini_raw/";
  const Chip chip = Chip::from_files({folder + "arch.yaml", folder + "components.yaml", folder + "variables.yaml"});
  const Estimators estimators;
  const auto estimates = estimate(chip.components(), estimators);
  ASSERT_FALSE(estimates.empty());
  const Chip again = priced(chip, estimates);
  for (std::size_t i = 0; i < chip.value().storages.size(); ++i)
    EXPECT_EQ(again.value().storages[i].energy.read_pj, chip.value().storages[i].energy.read_pj);
  EXPECT_TRUE(Chip(chip.value()).components().empty());
}

TEST(Library, PredictsMeasuredRuns) {
  const auto sets = validate();
  ASSERT_FALSE(sets.empty());
  EXPECT_GT(sets[0].points.size(), 0u);
  EXPECT_EQ(validate({sets[0].name}).size(), 1u);
}

TEST(Library, ManyThreadsGetTheSameAnswers) {
  const Chip chip = Chip::named("gemmini");
  const Model model = Model::named("gpt3-175b");
  const System system = System::named("a100-selene");
  const Estimators estimators;
  const std::string folder = kExamples + "gemmini_raw/";
  const auto components =
      Chip::from_files({folder + "arch.yaml", folder + "components.yaml", folder + "variables.yaml"}).components();
  std::vector<double> energies(32), times(32), areas(32);
  base::parallel_for(32, 4, [&](std::size_t i) {
    energies[i] = map(chip, workload::matmul("x", 64, 64, 16 * (1 + static_cast<Count>(i % 4)))).evaluation.energy_pj;
    times[i] = train(model, system, gpt3_plan()).iteration_s;
    areas[i] = estimate(components, estimators)[0].area_um2;
  });
  for (std::size_t i = 4; i < 32; ++i) {
    EXPECT_EQ(energies[i], energies[i % 4]);
    EXPECT_EQ(times[i], times[0]);
    EXPECT_EQ(areas[i], areas[0]);
  }
}

// The dot product of docs/model/nest.md, section 13: 4 reads of A at 400 pJ with 4 coordinates at 100, 4 of B, 3 reads
// and 4 updates (200 pJ) of Z, 4 multiplications at 8.
TEST(Library, ZerosAreLeftOutAsTheFilesSay) {
  const std::string text = R"(
architecture:
  version: 0.4
  nodes:
  - !Component
    name: Buffer
    class: storage
    attributes: {depth: 64, width: 8, datawidth: 8, metadata_storage_depth: 32, metadata_storage_width: 4, metadata_datawidth: 4}
    sparse_optimizations:
      representation_format: {data_spaces: [{name: A, ranks: [{format: CP}]}]}
      action_optimization:
      - {type: skipping, options: [{target: B, condition_on: [A]}]}
      - {type: skipping, options: [{target: Z, condition_on: [A]}]}
  - !Component {name: mac, class: intmac}
problem:
  version: 0.4
  shape:
    name: dot
    dimensions: [K, M]
    data_spaces:
    - {name: A, projection: [[[K]]]}
    - {name: B, projection: [[[K]]]}
    - {name: Z, projection: [[[M]]], read_write: true}
  instance: {K: 16, M: 1, densities: {A: 0.25}}
ERT:
  version: 0.4
  tables:
  - {name: Buffer, actions: [{name: read, energy: 400}, {name: write, energy: 200}, {name: update, energy: 200},
     {name: metadata_read, energy: 100}, {name: metadata_write, energy: 100}]}
  - {name: mac, actions: [{name: compute, energy: 8}]}
)";
  const Chip chip = Chip::from_text(text);
  const workload::Einsum& dot = *chip.problem();
  ASSERT_NE(chip.zeros(dot), nullptr);
  const nest::Optimum best = map(chip, dot);
  ASSERT_TRUE(best.mapping && best.certificate.optimal);
  EXPECT_EQ(best.evaluation.energy_pj, 4 * 400 + 4 * 100 + 4 * 400 + 3 * 400 + 4 * 200 + 4 * 8);
  EXPECT_EQ(best.evaluation.cycles, 4);
  EXPECT_EQ(evaluate(chip, dot, *best.mapping).energy_pj, best.evaluation.energy_pj);
  EXPECT_EQ(base::refused([&] { evaluator(chip, dot); }).at(0).code, "O2039");
  // Another einsum has no densities: all its words are there.
  workload::Einsum longer = dot;
  longer.dimensions[0].bound = 24;
  EXPECT_EQ(map(chip, longer).evaluation.cycles, 24);
}

TEST(Library, ServesAModelAndFindsItsBestDeployment) {
  const Model model = Model::named("llama3.1-70b");
  const System system = System::named("dgx-h100");
  serving::Load load;
  load.prompt = serving::Lengths::constant(2000), load.output = serving::Lengths::constant(200);
  load.rate = 2;
  serving::Deployment four, eight, three;
  four.tp = 4, eight.tp = 8, three.tp = 3;
  const serving::Service s = serve(model, system, four, load);
  ASSERT_TRUE(s.fits && s.stable);
  EXPECT_LT(serve(model, system, eight, load).tpot, s.tpot);
  EXPECT_FALSE(serve(model, system, {}, load).fits);
  EXPECT_EQ(base::refused([&] { serve(model, system, three, load); }).at(0).code, "O2072");
  serving::Space space;
  space.tp = {1, 2, 4, 8};
  const serving::Optimum best = serve(model, system, space, serving::Goal::kAccelerators, load);
  ASSERT_FALSE(best.best.empty());
  EXPECT_TRUE(best.certificate.optimal);
  EXPECT_EQ(best.best.front().deployment.tp, 4);
  EXPECT_EQ(best.best.front().service.tpot, s.tpot);
  load.rate.reset();
  EXPECT_EQ(base::refused([&] { serve(model, system, four, load); }).at(0).code, "O2074");
}

TEST(Library, HasTheVersionOfTheProject) {
  EXPECT_STREQ(version(), "0.1.0");
}

}  // namespace
}  // namespace orrery
