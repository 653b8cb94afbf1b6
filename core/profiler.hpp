// How long training spends on what, found by looking a hundred times per second at what its thread is doing. Reading
// the clock at every change instead would cost more than many of the things to be measured.
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "activity.hpp"

namespace labelboost {

class Profiler {
public:
    // Watches the mark, which must outlive it, from now on.
    explicit Profiler(const ActivityMark& mark);
    ~Profiler();
    Profiler(const Profiler&) = delete;
    Profiler& operator=(const Profiler&) = delete;

    // Seconds by activity, so far.
    std::array<double, 3> seconds();

private:
    void watch();

    const ActivityMark& mark_;
    std::mutex mutex_;
    std::condition_variable stop_;
    bool stopping_ = false;
    std::array<double, 3> seconds_{};
    std::thread watcher_;  // the last one: it uses all others
};

}  // namespace labelboost
