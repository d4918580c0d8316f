// Evaluated plans as text: rows of CSV, or lines of JSON.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/text/field.h"
#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/engines/cluster/model/plan.h"

namespace orrery::verbs {

// Whether it names accelerators, or what a search chooses; a figure, the row's number or its error, which are written.
bool is_choice(std::string_view column);
bool is_written(std::string_view column);

// A header with fields `besides` what a search chooses, and rows by their number, with the cells of those fields.
std::string csv_header(const std::vector<std::string>& besides = {});
void append_csv_row(std::uint64_t row, const cluster::Plan& plan, const cluster::Iteration& iteration, std::string& out,
                    const std::vector<const base::Field*>& besides = {});
// An object a line; `besides` are members that json_members() wrote.
void append_json_row(std::uint64_t row, const cluster::Plan& plan, const cluster::Iteration& iteration,
                     const std::string& besides, std::string& out);
// Of a row that is none.
void append_bad_csv_row(std::uint64_t row, std::size_t besides, const std::string& error, std::string& out);
void append_bad_json_row(std::uint64_t row, const std::string& error, std::string& out);

// What is written of fields that are no choices: `, "precision": "bf16", ...`.
std::string json_members(const base::Fields& fields);

}  // namespace orrery::verbs
