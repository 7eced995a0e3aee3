// Reads out of a request's fields whom trusted proxies say that it is from.
#pragma once

#include <vector>

#include "wire/base/limits.hpp"
#include "wire/loop/network.hpp"
#include "wire/proto/ip_endpoint.hpp"
#include "wire/server/forwarding.hpp"
#include "wire/server/request.hpp"

namespace wire::http::detail {

// Whether `a` is in one of `networks`.
bool trusts(const std::vector<network>& networks, const address& a) noexcept;

// The address of an endpoint that a proxy told of.
address address_of(const ip_endpoint& e) noexcept;

// nullopt when `peer` is not trusted. The views point into `fields`.
std::optional<client_view> read_client_view(const header_list& fields, const address& peer,
                                            const forwarded_fields& believed,
                                            const std::vector<network>& trusted,
                                            const limits& bounds);

}  // namespace wire::http::detail
