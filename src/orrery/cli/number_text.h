// Numbers as they are typed: decimals only, with letters for thousands and the like.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace orrery::verbs {

// The number that `text` begins with, and what follows it; not a number where there is none. Decimals only:
// std::strtod would read 0x10, too.
std::pair<double, std::string> decimal(const std::string& text);

// Bytes from 1 MiB on: "512M", "2G", "1GiB", "1.5 GB"; K, M, G and T are powers of 1024, with a B alone of 1000. 0:
// none.
std::size_t amount_of_memory(const std::string& text);

// "300e9", "1.4T": a number from 1 on, thousands, millions, 1e9s or 1e12s by K, M, B or T. 0: none.
double amount_of_tokens(const std::string& text);

// Hz of "1GHz", "500 MHz", "25e6"; a number without a unit or an exponent counts in GHz. 0: none that is above 0 and
// finite.
double frequency(const std::string& text);

// Bytes a second of "128GB/s", "1.5 TB/s", "25e9"; a number without a unit or an exponent counts in GB/s; infinity of
// "unlimited". 0: none.
double bandwidth(const std::string& text);

}  // namespace orrery::verbs
