// Inputs slightly damaged, always in the same ways: what the ordinary tests do with a corpus.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace wire::fuzz {

inline std::vector<std::string> files_in(const std::filesystem::path& folder) {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(entry.path(), std::ios::binary);
        out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return out;
}

class damager {
public:
    std::string operator()(std::string input) {
        constexpr char spices[] = "\r\n:; \t,0123456789abfx{}[]\"\\\x00\x7F\x80\xE2\x81\x88\xFF";
        const std::string spice(spices, sizeof spices - 1);
        for (std::size_t n = next(4) + 1; n > 0 && !input.empty(); --n) {
            const std::size_t at = next(input.size());
            switch (next(4)) {
            case 0: input[at] = spice[next(spice.size())]; break;
            case 1: input.insert(at, 1, spice[next(spice.size())]); break;
            case 2:
                if (input.size() > 1) input.erase(at, 1);
                break;
            default: input.insert(at, input.substr(next(input.size()), next(20))); break;
            }
        }
        return input;
    }

private:
    std::size_t next(std::size_t below) {
        random_ = random_ * 1664525 + 1013904223;
        return (random_ >> 8) % below;
    }
    unsigned random_ = 1;
};

}  // namespace wire::fuzz
