// Scales figures from one CMOS node to another.
//
// Stillmaker and Baas fit energies of circuits from 130 nm to 7 nm by a polynomial in the supply voltage, and give
// areas as a matrix from node to node. Between nodes both are interpolated over the node's index, as Accelergy's
// library does. Source: A. Stillmaker and B. Baas, Scaling equations for the accurate prediction of CMOS device
// performance from 180 nm to 7 nm, Integration 58 (2017); the figures are in catalog/tables.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "orrery/describe/energy/attribute_value.h"

namespace orrery::energy {

struct NodeScaling {
  std::vector<double> nodes_nm;               // descending
  std::vector<std::array<double, 3>> energy;  // of each node: a, b, c of a V^2 + b V + c
  std::vector<std::vector<double>> area;      // [from][to]
};

// The supply at which energies are compared.
inline constexpr double kScalingVolts = 0.8;

// Factors from one node to another, in nm; nothing outside the nodes of the table.
std::optional<double> energy_factor(const NodeScaling& scaling, double from_nm, double to_nm);
std::optional<double> area_factor(const NodeScaling& scaling, double from_nm, double to_nm);

// "32nm", 32 or "32" as 32; a number below 1 counts in metres (3.2e-8). Nothing for other texts ("memristor").
std::optional<double> node_nm(const Value& technology);

}  // namespace orrery::energy
