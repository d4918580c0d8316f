#include "orrery/verbs/place/place_documents.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/dfmodel/agreement.h"
#include "orrery/formats/dfmodel/setup_text.h"
#include "orrery/inputs/systems/system_chip.h"

namespace orrery::verbs {
namespace {

namespace dfmodel = formats::dfmodel;

// The setup, when its graph and its execution describe the same workload; its warnings are complete.
dfmodel::SetupDocument checked(dfmodel::SetupDocument document) {
  dfmodel::check_agreement(document, document.warnings);
  document.warnings.throw_if_errors();
  dfmodel::name_unread_fields(document, document.warnings);
  return document;
}

// `--set` of the chip's documents, and of the setup.
std::pair<base::Overrides, base::Overrides> split(const PlaceRequest& request) {
  std::pair<base::Overrides, base::Overrides> out;
  for (const base::Override& set : request.overrides) {
    const std::string first = set.path.substr(0, set.path.find('.'));
    const bool of_chip = first == "arch" || first == "architecture" || first == "variables";
    if (of_chip && !request.model.asked())
      base::fail("O1393", fmt::format("`{}` is of a chip, but none is given", set.path), base::OverrideText(set).path(),
                 "add `--chip NAME|FILE`, and `--model` and `--system`");
    (of_chip ? out.first : out.second).push_back(set);
  }
  return out;
}

// What times the products of a model on a system is the system's file or the chip, not the setup made of them.
void refuse_replaced(const PlaceModelRequest& request, const SystemChip* chip, const base::Overrides& overrides) {
  base::Diagnostics found;
  for (const base::Override& set : overrides) {
    const bool rate = set.path == "execution.compute_util" ||
                      (set.path.starts_with("system.accelerator") && set.path != "system.accelerator.sram_cap");
    if (chip == nullptr && rate)
      found
          .error("O1393",
                 fmt::format("`{}` is set, but `--system {}` says how fast products are", set.path, request.system),
                 base::OverrideText(set).path())
          .hint("give a system's file of your own: `like: NAME`, and what differs");
    if (chip != nullptr && (rate || set.path == "system.memory.dram_bw"))
      found
          .error("O1393",
                 fmt::format("`{}` is set, but {} stands in the accelerator's place", set.path,
                             request.chip.empty() ? fmt::format("the chip `{}`", chip->name())
                                                  : fmt::format("`--chip {}`", request.chip)),
                 base::OverrideText(set).path())
          .hint("set a key of the chip, such as `arch.DRAM.shared_bandwidth`");
  }
  found.throw_if_errors();
}

// Either a file, or a model on a system.
void require_one(const PlaceRequest& request) {
  if (request.model.fuse)
    base::fail("O1396", "`place` fuses kernels by itself: it decides which of them run together on a chip", {},
               "leave `--fuse` out; `orrery map --fuse` joins operators in a chip's own storages, and `orrery train "
               "--chip NAME --fuse` times a run so");
  base::Diagnostics found;
  if (request.path.empty() && !request.model.asked())
    found.error("O1465", "there is nothing to place")
        .hint("give DFModel's setup.txt, or `--model NAME --system NAME --gpus N --global-batch N`");
  if (!request.path.empty() && request.model.asked())
    found
        .error("O1465", fmt::format("both the setup `{}` and {} say what is placed", request.path,
                                    request.model.model.empty() ? "a system" : "`--model " + request.model.model + "`"))
        .hint("leave one of them out");
  found.throw_if_errors();
}

// The question as the file that a user would have written, so that `--set` and messages have places in it.
dfmodel::SetupDocument written(const PlacedModelQuestion& question, const PlaceModelRequest& request,
                               const base::Overrides& overrides) {
  const auto stated = [&](std::initializer_list<std::string_view> fields) {
    return std::any_of(overrides.begin(), overrides.end(), [&](const base::Override& set) {
      return std::find(fields.begin(), fields.end(), std::string_view(set.path)) != fields.end();
    });
  };
  // What computes a kernel that runs by itself cuts it, unless somebody says how.
  const bool fused = std::any_of(overrides.begin(), overrides.end(), [](const base::Override& set) {
    return set.path == "execution.execution_style" && set.value != "KERNEL_BY_KERNEL";
  });
  const bool cut =
      fused || stated({"execution.llm.tile_size", "system.accelerator.sram_cap", "execution.whole_kernels"});
  dataflow::Setup setup = question.setup;
  setup.execution.whole_kernels = !cut;
  if (cut && setup.system.accelerator.on_chip_bytes <= 0 && !stated({"system.accelerator.sram_cap"}))
    base::fail("O1466",
               fmt::format("nothing says how much memory an accelerator of {} has on the chip", request.system), {},
               "tiles of a kernel must fit there: say it by `--set system.accelerator.sram_cap=BYTES`, or "
               "`on_chip_memory` in the system's file");
  auto file = std::make_shared<base::SourceFile>();
  file->name = fmt::format("<{} on {}>", request.model, request.system);
  file->text = dfmodel::write_setup(setup);
  dfmodel::SetupDocument document = checked(dfmodel::read_setup(file, overrides));
  document.setup.execution.precision = question.precision;
  document.setup.system.wanted = question.wanted;
  document.setup.execution.stream_weights |= !question.chip && !document.setup.execution.whole_kernels;
  return document;
}

}  // namespace

formats::dfmodel::SetupDocument load_checked_setup(const std::string& path, const base::Overrides& overrides) {
  return checked(dfmodel::load_setup(path, overrides));
}

PlaceDocuments documents_of(const PlaceRequest& request) {
  if (request.joint && request.defects != dataflow::Defects{})
    base::fail("O1462", "`--joint` and `--compat` exclude each other", {},
               "leave one of them out: generations of DFModel shard first, then fuse");
  require_one(request);
  const auto [chip_overrides, overrides] = split(request);
  PlaceDocuments out;
  if (request.path.empty()) {
    out.question = std::make_shared<const PlacedModelQuestion>(place_model(request.model, chip_overrides));
    refuse_replaced(request.model, out.question->chip.get(), overrides);
  }
  out.document =
      out.question ? written(*out.question, request.model, overrides) : load_checked_setup(request.path, overrides);
  return out;
}

}  // namespace orrery::verbs
