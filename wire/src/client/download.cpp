// Downloads: a request, and the file that its response goes to until it gets its name.
//
//     event         without resume                 with resume
//     before        a new "PATH.RANDOM.part"       "PATH.part" is opened and locked
//     200           -                              emptied; its ETag is noted
//     206           refused                        continued where it is the part asked for
//     a piece       written                        written
//     complete      renamed to PATH                renamed to PATH; the note is removed
//     broken off    removed                        kept
#include "wire/client/download.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "proto/content_range.hpp"
#include "reply_access.hpp"
#include "wire/loop/socket.hpp"

namespace wire::http {

namespace {

constexpr std::size_t most_of_etag = 1024;

error failed(const std::string& path) {
    return {errc::system_error, path + ": " + std::generic_category().message(errno)};
}

std::string random_name() {
    std::uint64_t bits = 0;
    // Cannot be cut short at this size.
    [[maybe_unused]] const auto n = ::getrandom(&bits, sizeof bits, 0);
    return std::to_string(bits);
}

bool is_strong(std::string_view etag) noexcept {
    return etag.size() >= 2 && etag.size() <= most_of_etag && etag.front() == '"' &&
           etag.back() == '"' && is_field_value(etag);
}

class file_download {
public:
    file_download(std::string path, download_options options)
        : path_(std::move(path)),
          part_(path_ + (options.resume ? ".part" : "." + random_name() + ".part")),
          options_(std::move(options)) {}
    file_download(const file_download&) = delete;
    file_download& operator=(const file_download&) = delete;
    ~file_download() {
        if (file_.get() >= 0 && !options_.resume) ::unlink(part_.c_str());
    }

    // Opens the file, and asks for the rest of one that is there.
    error begin(client_request& r) {
        const int how = options_.resume ? O_CREAT | O_NOFOLLOW : O_CREAT | O_EXCL;
        file_ = unique_fd(::open(part_.c_str(), O_WRONLY | O_CLOEXEC | how, 0666));
        if (file_.get() < 0) return failed(part_);
        drop(r, "range");
        drop(r, "if-range");
        if (!options_.resume) return {};
        drop(r, "accept-encoding");
        r.headers.emplace_back("Accept-Encoding", "identity");
        if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) return failed(part_);
        struct stat about{};
        struct stat named{};
        if (::fstat(file_.get(), &about) != 0) return failed(part_);
        // Who held the lock may have given the file its name since it was opened here.
        if (::stat(part_.c_str(), &named) != 0 || named.st_dev != about.st_dev ||
            named.st_ino != about.st_ino)
            return {errc::system_error, part_ + ": another download has just completed it"};
        etag_ = noted_etag();
        if (about.st_size <= 0 || etag_.empty()) return {};
        asked_from_ = static_cast<std::uint64_t>(about.st_size);
        r.headers.emplace_back("Range", "bytes=" + std::to_string(asked_from_) + "-");
        r.headers.emplace_back("If-Range", etag_);
        return {};
    }

    // False when the request is to be ended; why() says why.
    bool take_head(const reply& head) {
        const response_head& h = detail::reply_access::head(head);
        if (head.status() == 206) return continue_with(head);
        if (head.status() == 416 && asked_from_ > 0) forget();
        if (head.status() != 200) return true;
        writing_ = true;
        if (h.framing == framing::length && !head.decoded()) whole_ = h.content_length;
        if (!options_.resume) return true;
        // No moment may have the new ETag with bytes of the old file.
        ::unlink(note().c_str());
        if (::ftruncate(file_.get(), 0) != 0) return fail(failed(part_));
        const auto etag = head.header("etag");
        if (etag && is_strong(*etag)) std::ofstream(note(), std::ios::binary) << *etag;
        return true;
    }
    bool take(std::string_view piece) {
        if (!writing_) return true;
        while (!piece.empty()) {
            const auto n =
                ::pwrite(file_.get(), piece.data(), piece.size(), static_cast<off_t>(have_));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return fail(failed(part_));
            have_ += static_cast<std::uint64_t>(n);
            piece.remove_prefix(static_cast<std::size_t>(n));
        }
        if (options_.progress) options_.progress(have_, whole_);
        return true;
    }
    // What the caller is told.
    result<reply> finish(result<reply> end) {
        if (why_) return std::move(why_);
        if (!end || !writing_) return end;
        if (whole_ && have_ != *whole_)
            return error(errc::closed_early, end->url() + ": " + std::to_string(have_) + " of " +
                                                 std::to_string(*whole_) + " bytes came");
        if (options_.sync && ::fsync(file_.get()) != 0) return failed(part_);
        if (::rename(part_.c_str(), path_.c_str()) != 0) return failed(path_);
        file_.reset();
        if (options_.resume) ::unlink(note().c_str());
        if (options_.sync) {
            const std::size_t slash = path_.rfind('/');
            const std::string folder =
                slash == std::string::npos ? "." : path_.substr(0, slash + 1);
            const unique_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            if (fd.get() < 0 || ::fsync(fd.get()) != 0) return failed(folder);
        }
        return end;
    }

    request_id id = 0;

private:
    static void drop(client_request& r, std::string_view name) {
        std::erase_if(r.headers,
                      [name](const auto& f) { return equals_ignoring_case(f.first, name); });
    }
    std::string note() const { return part_ + ".etag"; }
    std::string noted_etag() const {
        std::string text(most_of_etag + 1, '\0');
        std::ifstream in(note(), std::ios::binary);
        in.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(in.gcount()));
        return is_strong(text) ? text : std::string();
    }
    void forget() {
        ::unlink(note().c_str());
        [[maybe_unused]] const int emptied = ::ftruncate(file_.get(), 0);
    }
    bool continue_with(const reply& head) {
        const auto range = detail::parse_content_range(head.header("content-range").value_or(""));
        if (asked_from_ == 0 || !range || range->first != asked_from_ || head.decoded())
            return fail({errc::bad_header_value, "206 with another part than was asked for"});
        // Some servers do not know If-Range (RFC 9110 section 15.3.7.3).
        if (head.header("etag").value_or(etag_) != etag_) {
            forget();
            return fail(
                {errc::bad_header_value, "206 with a part of another file: it has changed"});
        }
        writing_ = true;
        have_ = asked_from_;
        whole_ = range->whole ? *range->whole : range->last + 1;
        return true;
    }
    bool fail(error why) {
        why_ = std::move(why);
        writing_ = false;
        return false;
    }

    std::string path_;
    std::string part_;
    download_options options_;
    unique_fd file_;
    std::string etag_;  // of what was kept
    std::uint64_t asked_from_ = 0;
    std::uint64_t have_ = 0;
    std::optional<std::uint64_t> whole_;
    bool writing_ = false;
    error why_;
};

}  // namespace

request_id download(async_client& client, client_request request, std::string path,
                    download_options options, async_client::callback done) {
    if (!done) done = [](const result<reply>&) {};
    auto d = std::make_shared<file_download>(std::move(path), std::move(options));
    if (error refused = d->begin(request)) {
        client.loop().post([done = std::move(done), refused = std::move(refused)]() mutable {
            done(std::move(refused));
        });
        return 0;
    }
    response_pieces to;
    to.head = [d, &client](const reply& head) {
        if (!d->take_head(head)) client.cancel(d->id);
    };
    to.data = [d, &client](std::string_view piece) {
        if (!d->take(piece)) client.cancel(d->id);
    };
    to.end = [d, done = std::move(done)](result<reply> end) mutable {
        done(d->finish(std::move(end)));
    };
    return d->id = client.send(std::move(request), std::move(to));
}

}  // namespace wire::http
