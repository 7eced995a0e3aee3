// What the server really did: on a machine that is disturbed it cannot keep its law, and then it
// says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include <nlohmann/json.hpp>

#include "law.hpp"

namespace truth {

// One answer. Written to files as it lies in memory: three little-endian 64-bit numbers.
struct sample {
    nanos received_unix;  // when the kernel had it, not when it was read
    nanos law;            // what the law says, from `received_unix`
    nanos really;         // when it was handed to the kernel, from `received_unix`
};

struct counts {
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;
    std::uint64_t right = 0;
    std::uint64_t dropped = 0;
    std::uint64_t wrong_status = 0;
    std::uint64_t wrong_body = 0;
    std::uint64_t wrong_length = 0;
    std::uint64_t unanswered = 0;  // the client was gone first, or the server ended
};

class record {
public:
    counts count;
    nanos anchor_unix = 0;  // when the first request arrived; 0: none was

    // Room for all at once: a vector that grows copies megabytes while answers are due. Untouched
    // pages cost nothing.
    record() { samples_.reserve(most_samples); }

    void add(const sample& s) {
        if (samples_.size() < most_samples) {
            samples_.push_back(s);
        } else {
            ++left_out_;
        }
    }
    const std::vector<sample>& samples() const { return samples_; }

    nlohmann::ordered_json to_json() const;
    void write_samples(std::ostream& out) const;

private:
    static constexpr std::size_t most_samples = 4'000'000;  // 96 MB

    std::vector<sample> samples_;
    std::uint64_t left_out_ = 0;
};

}  // namespace truth
