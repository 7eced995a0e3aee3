// The Authorization fields that basic_auth() and bearer_auth() make.
#include "wire/client/reply.hpp"
#include "wire/proto/base64.hpp"

namespace wire::http {

std::pair<std::string, std::string> basic_auth(std::string_view user, std::string_view password) {
    const std::string both = std::string(user) + ":" + std::string(password);
    return {"Authorization",
            "Basic " +
                base64_encode({reinterpret_cast<const std::uint8_t*>(both.data()), both.size()})};
}

std::pair<std::string, std::string> bearer_auth(std::string_view token) {
    return {"Authorization", "Bearer " + std::string(token)};
}

}  // namespace wire::http
