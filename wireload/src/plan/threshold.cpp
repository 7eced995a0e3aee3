#include "plan/threshold.hpp"

namespace wireload {

std::string_view threshold::unit() const {
    if (is_time()) return "ns";
    if (is_share()) return "%";
    return metric == threshold_metric::rate ? "1/s" : "1";
}

}  // namespace wireload
