// Whether several threads are faster than one: that depends on the data and on how far apart the processors are.
#pragma once

#include <chrono>
#include <cstddef>

#include "threads.hpp"

namespace labelboost {

// What is learned does not depend on the number of threads, so both ways can be tried while training goes on: rounds (a
// rule or a tree each) go one way and the other for a while, then the faster one is kept for some time, and so on. Rounds
// take a few milliseconds at most where one thread may be as fast; longer ones are always shared.
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
    static constexpr std::size_t kBlock = 8, kTried = 4 * kBlock, kLongest = 256;  // rounds
    static constexpr double kWorthTrying = 4e-3;                                   // seconds

    struct Spent {
        double seconds = 0.0, searches = 0.0;
    };

    // One block with all threads, two with one, one with all: training becomes faster as it goes on, and that must not
    // count for or against either.
    bool is_alone() const {
        return rounds_ < kTried ? rounds_ >= kBlock && rounds_ < kTried - kBlock : alone_is_faster_;
    }

    void note(const Spent& spent) {
        if (rounds_ == kTried + kept_) {
            rounds_ = 0;
            shared_ = alone_ = {};
            if (kept_ < kLongest) kept_ *= 2;  // early rules take longer than later ones, and are better shared
        } else if (rounds_ >= kTried) {
            ++rounds_;
        } else {
            try_out(spent);
        }
    }

    void try_out(const Spent& spent) {
        // In the first round of a block each thread still fetches from the others what they had in their caches.
        const bool counts = rounds_ % kBlock != 0;
        const bool is_long = counts && !is_alone() && spent.seconds > kWorthTrying;
        if (counts) {
            Spent& total = is_alone() ? alone_ : shared_;
            total.seconds += spent.seconds;
            total.searches += spent.searches;
        }
        rounds_ = is_long ? kTried : rounds_ + 1;
        alone_is_faster_ = !is_long && alone_.seconds * shared_.searches < shared_.seconds * alone_.searches;
    }

    std::size_t rounds_ = 0, kept_ = kTried;
    Spent shared_, alone_;
    bool alone_is_faster_ = false;
};

}  // namespace labelboost
