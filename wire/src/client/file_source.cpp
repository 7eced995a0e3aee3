// Reads a file as the connection takes it.
#include "wire/client/file_source.hpp"

#include <memory>
#include <utility>

#include "disk_file.hpp"

namespace wire::http {

result<body_source> file_source(const std::string& path, upload_progress progress) {
    struct reading {
        detail::disk_file file;
        upload_progress tell;
        std::uint64_t at;
    };
    auto file = detail::disk_file::open(path);
    if (!file) return file.error();
    const auto r = std::make_shared<reading>(reading{*std::move(file), std::move(progress), 0});
    body_source source;
    source.length = r->file.size();
    source.pull = [r](buffer& out, std::size_t most) -> result<source_state> {
        if (r->at == r->file.size()) return source_state::end;
        const auto got = r->file.read(r->at, most, out);
        if (!got) return got.error();
        r->at += *got;
        if (r->tell) r->tell(r->at, r->file.size());
        return source_state::more;
    };
    source.rewind = [r] { r->at = 0; };
    return source;
}

}  // namespace wire::http
