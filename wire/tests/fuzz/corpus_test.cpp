// The corpus of every fuzz target, as it is and slightly damaged.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "targets.hpp"

namespace wire::fuzz {
namespace {

std::vector<std::string> corpus_of(std::string_view target) {
    std::vector<std::string> out;
    const auto folder = std::filesystem::path(WIRE_SOURCE_DIR) / "tests/fuzz/corpus" / target;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(entry.path(), std::ios::binary);
        out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return out;
}

class fuzz_corpus : public ::testing::TestWithParam<target> {};
INSTANTIATE_TEST_SUITE_P(every, fuzz_corpus, ::testing::ValuesIn(targets), [](const auto& i) { return std::string(i.param.name); });

TEST_P(fuzz_corpus, as_it_is) {
    const auto corpus = corpus_of(GetParam().name);
    ASSERT_GE(corpus.size(), 3U);
    for (const auto& input : corpus) GetParam().run(input);
}
TEST_P(fuzz_corpus, damaged) {
    unsigned random = 1;
    const auto next = [&random](std::size_t below) {
        random = random * 1664525 + 1013904223;
        return (random >> 8) % below;
    };
    const auto corpus = corpus_of(GetParam().name);
    constexpr char spices[] = "\r\n:; \t,0123456789abfx\x00\x7F\x80\xE2\x81\x88\xFF";
    const std::string spice(spices, sizeof spices - 1);
    for (const auto& seed : corpus) {
        for (int i = 0; i < 150 && !seed.empty(); ++i) {
            std::string input = seed;
            for (std::size_t n = next(4) + 1; n > 0; --n) {
                const std::size_t at = next(input.size());
                switch (next(4)) {
                    case 0: input[at] = spice[next(spice.size())]; break;
                    case 1: input.insert(at, 1, spice[next(spice.size())]); break;
                    case 2: if (input.size() > 1) input.erase(at, 1); break;
                    default: input.insert(at, input.substr(next(input.size()), next(20))); break;
                }
            }
            GetParam().run(input);
        }
    }
}

}  // namespace
}  // namespace wire::fuzz
