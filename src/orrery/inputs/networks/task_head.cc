#include "orrery/inputs/networks/task_head.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"

namespace orrery::verbs {
namespace {

using network::HeadKind;

HeadKind kind_of(Task task) {
  switch (task) {
    case Task::kClassification:
      return HeadKind::kClassification;
    case Task::kRegression:
      return HeadKind::kRegression;
    case Task::kQuestions:
      return HeadKind::kSpans;
    case Task::kMaskedWords:
    case Task::kCloze:
      return HeadKind::kMaskedWords;
    case Task::kNextWord:
      return HeadKind::kNextWord;
  }
  return HeadKind::kNone;
}

std::optional<Task> task_of(HeadKind kind) {
  for (const Task task :
       {Task::kClassification, Task::kRegression, Task::kQuestions, Task::kMaskedWords, Task::kNextWord})
    if (kind_of(task) == kind) return task;
  return std::nullopt;
}

}  // namespace

TaskModel open_task(const TextRequest& request, const TextRows& rows, bool learning) {
  TaskModel out;
  const auto config = base::read_file((std::filesystem::path(request.checkpoint) / "config.json").string());
  const formats::huggingface::RunnableModel own = formats::huggingface::read_runnable(config);
  const HeadKind head = own.description.head.kind;
  if (!request.task && head == HeadKind::kNone)
    base::fail("O1654", fmt::format("the model of `{}` has no head, so that its task is not known", request.checkpoint),
               {}, "give it: `--task classification|regression|qa|mlm|causal`");
  out.task = request.task ? *request.task : *task_of(head);
  formats::huggingface::HeadChoice choice{kind_of(out.task), {}};
  const bool same = head == kind_of(out.task);
  if (out.task == Task::kClassification) {
    const std::vector<std::string> names = class_names(rows, request.columns);
    if (same && (!learning || !own.labels.empty())) {
      out.labels = own.labels;
      if (out.labels.empty())
        for (network::Index i = 0; i < own.description.head.outputs; ++i) out.labels.push_back(std::to_string(i));
      // A head of the class's default names is a new one's where the data have other classes.
      const bool plain = std::all_of(out.labels.begin(), out.labels.end(),
                                     [](const std::string& name) { return name.rfind("LABEL_", 0) == 0; });
      if (learning && plain && names.size() != out.labels.size()) out.labels = names;
    } else {
      out.labels = names;
    }
    if (out.labels.size() < 2)
      base::fail("O1652", fmt::format("`{}` has one class only, so that there is nothing to tell apart", rows.path));
    if (out.labels.size() != static_cast<std::size_t>(own.description.head.outputs) || !same)
      choice.classes = static_cast<network::Index>(out.labels.size());
  }
  out.model = open_checkpoint(request.checkpoint, choice, request.type, request.seed);
  const network::HeadShape& shape = out.model.runnable.description.head;
  if (shape.kind != kind_of(out.task))
    base::fail("O1654",
               fmt::format("the model of `{}` cannot do the task `{}`", request.checkpoint, name_of(out.task)));
  if (out.task == Task::kMaskedWords &&
      (out.model.rules.mask < 0 || out.model.rules.mask >= own.description.embedding.words))
    base::fail("O1661", fmt::format("the tokenizer of `{}` has no token for masked words", request.checkpoint), {},
               "`mask_token` in tokenizer_config.json names it; usual are [MASK] and <mask>");
  if (!out.model.fresh.empty()) {
    const std::string lacks = fmt::format("the checkpoint lacks {} weights of the head: {}", out.model.fresh.size(),
                                          base::joined(out.model.fresh, ", "));
    if (!learning) base::fail("O1654", lacks, {}, "train it first: `orrery tune train`");
    out.model.warnings.warning("O1657", lacks).note("they begin with random numbers");
  }
  return out;
}

}  // namespace orrery::verbs
