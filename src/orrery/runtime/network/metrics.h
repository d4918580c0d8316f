// How good answers are, as the tasks' own scripts count it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::network {

// Of classes; `truth` and `said` have equally many. Empty lists give nan.
double accuracy(const std::vector<std::int32_t>& truth, const std::vector<std::int32_t>& said);
// 2 tp / (2 tp + fp + fn) of the class 1; with more than two classes the mean over those that occur in either list.
double f1(const std::vector<std::int32_t>& truth, const std::vector<std::int32_t>& said, std::int32_t classes);
// Matthews' correlation, of any number of classes; 0 where one list is constant.
double matthews(const std::vector<std::int32_t>& truth, const std::vector<std::int32_t>& said, std::int32_t classes);

// Of numbers; nan where one list is constant. Spearman's is Pearson's of ranks, equal values sharing their mean rank.
double pearson(const std::vector<double>& a, const std::vector<double>& b);
double spearman(const std::vector<double>& a, const std::vector<double>& b);

// Of answers in words, as SQuAD counts: lower case, without punctuation, articles and repeated blanks.
std::string normalised_answer(const std::string& text);
bool exact_match(const std::string& truth, const std::string& said);
double word_f1(const std::string& truth, const std::string& said);

}  // namespace orrery::network
