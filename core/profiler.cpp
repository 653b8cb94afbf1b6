#include "profiler.hpp"

#include <chrono>

namespace labelboost {
namespace {

// A look costs some 50 microseconds where all processors are busy: this keeps it below 1 %.
constexpr std::chrono::milliseconds kPause(10);

}  // namespace

Profiler::Profiler(const ActivityMark& mark) : mark_(mark), watcher_([this] { watch(); }) {}

Profiler::~Profiler() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    stop_.notify_one();
    watcher_.join();
}

std::array<double, 3> Profiler::seconds() {
    const std::lock_guard lock(mutex_);
    return seconds_;
}

void Profiler::watch() {
    using Clock = std::chrono::steady_clock;
    std::unique_lock lock(mutex_);
    Clock::time_point last = Clock::now();
    while (!stop_.wait_for(lock, kPause, [this] { return stopping_; })) {
        const Clock::time_point now = Clock::now();
        seconds_[static_cast<std::size_t>(mark_.get())] += std::chrono::duration<double>(now - last).count();
        last = now;
    }
}

}  // namespace labelboost
