#include "plan/json_path.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "plan/json_events.hpp"

namespace wireload {
namespace {

using nlohmann::json;

std::optional<std::uint64_t> index_from(std::string_view text) {
    std::uint64_t index = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (text.empty() || failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return index;
}

// Builds the value at the end of a path and nothing else.
class value_finder final : public json_events {
public:
    explicit value_finder(std::span<const json_path::step> path) : path_(path) {}

    std::shared_ptr<const json> found() const { return found_; }

private:
    // An object or array that is open.
    struct level {
        bool object;
        bool on_path;             // the path leads into it
        std::uint64_t index = 0;  // of an array: of the next value
    };
    enum class place : std::uint8_t { elsewhere, on_path, target };

    // Where the value stands that begins now.
    place next_place() {
        if (levels_.empty()) return path_.empty() ? place::target : place::on_path;
        level& in = levels_.back();
        const std::uint64_t index = in.index++;
        if (!in.on_path) return place::elsewhere;
        const json_path::step& step = path_[levels_.size() - 1];
        if (in.object ? step.name != key_ : step.index != index) return place::elsewhere;
        found_ = nullptr;  // what an earlier member of this name had
        return levels_.size() == path_.size() ? place::target : place::on_path;
    }

    // Adds a value to the one that is being built.
    json& add(json&& value) {
        json& into = *building_.back();
        if (into.is_object()) return into[key_] = std::move(value);
        into.push_back(std::move(value));
        return into.back();
    }

    bool on_start(bool object) override {
        const place at = next_place();
        json empty = object ? json::object() : json::array();
        if (!building_.empty()) {
            building_.push_back(&add(std::move(empty)));
        } else if (at == place::target) {
            found_ = std::make_shared<json>(std::move(empty));
            building_.push_back(found_.get());
        }
        levels_.push_back({object, at == place::on_path});
        return true;
    }
    bool on_end() override {
        levels_.pop_back();
        if (!building_.empty()) building_.pop_back();
        return true;
    }
    bool on_key(std::string& name) override {
        key_ = std::move(name);
        return true;
    }
    bool on_value(json&& value) override {
        const place at = next_place();
        if (!building_.empty()) {
            add(std::move(value));
        } else if (at == place::target) {
            found_ = std::make_shared<json>(std::move(value));
        }
        return true;
    }

    std::span<const json_path::step> path_;
    std::vector<level> levels_;
    std::string key_;
    std::shared_ptr<json> found_;
    std::vector<json*> building_;  // inside found_, from the outermost to the one that is open
};

}  // namespace

std::optional<json_path> json_path::parse(std::string_view text) {
    json_path out;
    if (text.starts_with('/')) {
        try {
            for (json::json_pointer p{std::string(text)}; !p.empty(); p.pop_back())
                out.steps_.push_back({p.back(), index_from(p.back())});
        } catch (const json::parse_error&) {
            return std::nullopt;
        }
        std::reverse(out.steps_.begin(), out.steps_.end());
        return out;
    }
    bool first = true;
    while (!text.empty()) {
        if (text.front() == '[') {
            const std::size_t close = text.find(']');
            const auto index =
                index_from(text.substr(1, close == std::string_view::npos ? 0 : close - 1));
            if (!index) return std::nullopt;
            out.steps_.push_back({std::nullopt, index});
            text.remove_prefix(close + 1);
        } else {
            if (!first) {
                if (text.front() != '.') return std::nullopt;
                text.remove_prefix(1);
            }
            const std::string_view name = text.substr(0, text.find_first_of(".[]"));
            if (name.empty()) return std::nullopt;
            out.steps_.push_back({std::string(name), std::nullopt});
            text.remove_prefix(name.size());
        }
        first = false;
    }
    if (out.steps_.empty()) return std::nullopt;
    return out;
}

json_path::answer json_path::find(std::string_view text) const {
    value_finder finder(steps_);
    if (!finder.read(text)) return {};
    return {true, finder.found()};
}

}  // namespace wireload
