// Tests that run once with each of TLS's record layers: TEST_P with a fixture of TestWithParam.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "wire/tls/connection.hpp"

namespace wire::testing {

inline std::string layer_name(const ::testing::TestParamInfo<tls::record_layer>& info) {
    return info.param == tls::record_layer::wire ? "wire" : "openssl";
}

}  // namespace wire::testing

#define WIRE_WITH_EACH_RECORD_LAYER(fixture)                                                    \
    INSTANTIATE_TEST_SUITE_P(                                                                   \
        records, fixture,                                                                       \
        ::testing::Values(::wire::tls::record_layer::openssl, ::wire::tls::record_layer::wire), \
        ::wire::testing::layer_name)
