// The result of a run as a JSON document; schema/wireload-1.schema.json describes it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "measure/run_result.hpp"
#include "plan/plan.hpp"

namespace wireload {

nlohmann::ordered_json to_document(const plan& p, const run_result& result);

// Two spaces of indentation, but each series and other array of plain numbers on one line.
std::string to_text(const nlohmann::ordered_json& document);

}  // namespace wireload
