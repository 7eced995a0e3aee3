// The corpus of every fuzz target, as it is and slightly damaged.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "damage.hpp"
#include "targets.hpp"

namespace wireload::fuzz::corpus_test {

std::vector<std::string> corpus_of(std::string_view target) {
    return wire::fuzz::files_in(std::filesystem::path(WIRELOAD_SOURCE_DIR) / "tests/fuzz/corpus" /
                                target);
}

class fuzz_corpus : public ::testing::TestWithParam<target> {};
INSTANTIATE_TEST_SUITE_P(wireload, fuzz_corpus, ::testing::ValuesIn(targets),
                         [](const auto& i) { return std::string(i.param.name); });

TEST_P(fuzz_corpus, as_it_is) {
    const auto corpus = corpus_of(GetParam().name);
    ASSERT_GE(corpus.size(), 3U);
    for (const auto& input : corpus) GetParam().run(input);
}
TEST_P(fuzz_corpus, damaged) {
    wire::fuzz::damager damaged;
    for (const auto& seed : corpus_of(GetParam().name)) {
        for (int i = 0; i < GetParam().damaged; ++i) GetParam().run(damaged(seed));
    }
}

}  // namespace wireload::fuzz::corpus_test
