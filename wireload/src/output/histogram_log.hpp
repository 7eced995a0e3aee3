// HdrHistogram's exchange formats, so that our distributions can be merged, plotted and checked by
// other tools.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "measure/histogram.hpp"

namespace wireload {

// The V2 encoding, deflated, in base64: what HdrHistogram's ports decode ("HISTFAAA...").
std::string encode_v2_compressed(const histogram& values);

std::string base64(std::string_view bytes);

// Writes an interval log, format version 1.3. Times are seconds since the Unix epoch; maxima are in
// milliseconds, as the Java writer's default unit ratio has them.
class histogram_log_writer {
public:
    histogram_log_writer(std::ostream& out, std::string_view comment,
                         std::chrono::nanoseconds start_since_epoch);
    // Starts at `offset` after the log's start and lasted `length`.
    void write(const histogram& values, std::chrono::nanoseconds offset,
               std::chrono::nanoseconds length);

private:
    std::ostream& out_;
};

}  // namespace wireload
