// How the ledger of a layer looks: table, rooflines, JSON (schema "orrery.tune_ledger/1").
#pragma once

#include <string>

#include "orrery/present/answer.h"
#include "orrery/verbs/tune/ledger/run.h"

namespace orrery::verbs {

std::string ledger_table(const LedgerAnswer& answer);  // with the roofline in characters
Document<LedgerAnswer> tune_ledger_document();

// Operators over their operations a byte, below the machine's roof: as lines of text, and as a drawing that stands by
// itself.
std::string roofline_chart(const LedgerAnswer& answer);
std::string roofline_svg(const LedgerAnswer& answer);

// "post norms, ReLU of 4096, ...": which layer it is.
std::string described(const LedgerAnswer& answer);

std::string class_name(tuning::Class what);  // as Substation's tables call them

}  // namespace orrery::verbs
