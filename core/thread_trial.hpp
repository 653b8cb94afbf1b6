// Whether several threads are faster than one: that depends on the data and on how far apart the processors are.
#pragma once

#include <chrono>
#include <cstddef>

#include "threads.hpp"

namespace labelboost {

// What is learned does not depend on the number of threads, so both ways can be tried while training goes on: rounds (a
// rule or a tree each) go one way and the other for a while, then the faster one is kept for some time, and so on. Rounds
// take less than a millisecond where one thread may be as fast; longer ones are always shared.
class ThreadTrial {
public:
    // Measures one round from beginning to end.
    class Round {
    public:
        Round(ThreadTrial& trial, ThreadPool& pool) : trial_(trial), pool_(pool), start_(Clock::now()) {
            pool_.set_alone(trial_.is_alone());
        }
        ~Round() {
            trial_.note({std::chrono::duration<double>(Clock::now() - start_).count(), searches_});
            pool_.set_alone(false);
        }
        Round(const Round&) = delete;
        Round& operator=(const Round&) = delete;

        // What rounds are compared by: some take many times as long as others.
        void count_search() { searches_ += 1.0; }

    private:
        using Clock = std::chrono::steady_clock;
        ThreadTrial& trial_;
        ThreadPool& pool_;
        Clock::time_point start_;
        double searches_ = 0.0;
    };

private:
    // Rounds: of a block, of a trial, and in which its result holds, if it is a close one, at first, and at most.
    static constexpr std::size_t kBlock = 8, kTried = 4 * kBlock, kClose = 64, kFirst = 64, kLongest = 512;
    // After so many the trial ends early if that many times as fast is seen.
    static constexpr std::size_t kEarly = kBlock + 5;
    static constexpr double kVeryClearly = 1.35;
    static constexpr double kWorthTrying = 6e-4;  // seconds
    static constexpr double kClearly = 1.2;       // so many times as fast

    struct Spent {
        double seconds = 0.0, searches = 0.0;
    };

    // One block with all threads, two with one, one with all: training becomes faster as it goes on, and that must not
    // count for or against either.
    bool is_alone() const {
        return rounds_ < kTried ? rounds_ >= kBlock && rounds_ < kTried - kBlock : alone_is_faster_;
    }

    void note(const Spent& spent) {
        if (rounds_ < kTried) {
            try_out(spent);
        } else if (++rounds_ > kTried + kept_) {
            rounds_ = 0;
            shared_ = alone_ = {};
        }
    }

    void try_out(const Spent& spent) {
        if (rounds_ % kBlock != 0) {  // in its first round each thread still fetches what others had in their caches
            Spent& total = is_alone() ? alone_ : shared_;
            total.seconds += spent.seconds;
            total.searches += spent.searches;
        }
        const bool is_long = ++rounds_ == kBlock && shared_.seconds > kWorthTrying * (kBlock - 1);
        const double alone = alone_.seconds * shared_.searches, shared = shared_.seconds * alone_.searches;
        // If the first block with all threads was much the faster one nevertheless, the rest need not be seen. Few rounds tell
        // little: what is less clear would often be decided wrongly.
        const bool is_decided = rounds_ == kEarly && kVeryClearly * shared < alone;
        if (is_long || is_decided) rounds_ = kTried;
        if (rounds_ < kTried) return;
        alone_is_faster_ = !is_long && alone < shared;
        const bool is_clear = is_long || kClearly * alone < shared || kClearly * shared < alone;
        kept_ = is_clear ? next_kept_ : kClose;
        if (is_clear) next_kept_ = kLongest;  // early rules take longer than later ones, and are better shared
    }

    std::size_t rounds_ = 0, kept_ = kFirst, next_kept_ = kFirst;
    Spent shared_, alone_;
    bool alone_is_faster_ = false;
};

}  // namespace labelboost
