// Shows the progress of a run on a terminal. The main thread draws it, at most five times a second;
// the measuring threads only hand over the histogram of each interval, as they do anyway.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "measure/progress_view.hpp"
#include "measure/series.hpp"
#include "output/screen.hpp"
#include "plan/plan.hpp"

namespace wireload {

// Whether drawing would take nothing from what is measured: there is a terminal, and a CPU for the
// main thread that neither the generator's threads nor (as far as can be known) the server use.
// `allowed`: CPUs that the process may use.
bool view_is_free(const options& asked, unsigned allowed);

class live_view final : public progress_view {
public:
    static constexpr nanos draw_every = 200'000'000;

    // Draws on `fd`; hides the cursor until destruction, which also takes the view away.
    live_view(const plan& p, series_collector& series, int fd, screen_style style);
    ~live_view() override;
    live_view(const live_view&) = delete;
    live_view& operator=(const live_view&) = delete;

    void begin(std::string_view phase, nanos start, nanos end, std::uint64_t count = 0) override;
    nanos next_draw() const override { return next_draw_; }
    void tick(nanos now) override;

    // The lines as they would be drawn, without control sequences but for colours. For tests.
    std::string lines(nanos now, std::size_t columns);

private:
    struct slice {
        live_slice data;
        nanos from;
        nanos taken;
    };
    void take(nanos now);
    std::string progress(nanos now, std::size_t columns) const;
    std::string sparkline(std::size_t columns) const;
    void erase();

    const plan& plan_;
    series_collector& series_;
    const int fd_;
    const painter paint_;
    std::string phase_;
    nanos start_ = 0;
    nanos end_ = never;
    std::uint64_t count_ = 0;  // of replies that end the phase; 0: none
    nanos next_draw_ = 0;
    std::size_t drawn_ = 0;  // lines on the screen
    std::deque<slice> last_second_;
    std::deque<double> rates_;  // one for each second
    nanos rates_until_ = 0;
    nanos last_take_ = 0;
    std::uint64_t ok_in_second_ = 0;
    std::uint64_t ok_ = 0;
    std::uint64_t errors_ = 0;
    std::uint64_t rounds_ = 0;
};

}  // namespace wireload
