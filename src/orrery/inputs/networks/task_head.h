// A checkpoint with the head that a task needs.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/networks/text_request.h"

namespace orrery::verbs {

struct TaskModel {
  CheckpointModel model;
  Task task = Task::kClassification;
  std::vector<std::string> labels;
};

// `learning`: a head that the checkpoint lacks is made for the labels of `rows`; else it is an error (O1654).
TaskModel open_task(const TextRequest& request, const TextRows& rows, bool learning);

}  // namespace orrery::verbs
