#include "threads.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>

namespace labelboost {
namespace {

constexpr double kPollSeconds = 0.1;
constexpr int kMostSkipped = 3;  // checks: they may be far apart again

double now() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec time;  // to a few milliseconds, and several times faster than the exact time, as it is asked for often
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &time) == 0) {
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
#endif
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// How often to look for something before going to sleep: about half a millisecond, as long as it takes to solve a system
// of some hundred labels. To wake up takes a tenth of that.
constexpr int kLooks = 20000;

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

void Interrupt::check() {
    if (cancelled_.load(std::memory_order_relaxed)) throw Interrupted();
    if (std::this_thread::get_id() != owner_) return;
    if (looks_to_skip_ == 0) return poll();
    --looks_to_skip_;
}

void Interrupt::poll() {
    if (cancelled_.load(std::memory_order_relaxed)) throw Interrupted();
    const double time = now();
    // Where no time at all passes between two looks, the next ones are likely to be as close.
    looks_to_skip_ = time == last_look_ ? kMostSkipped : 0;
    last_look_ = time;
    if (last_poll_ == 0.0) last_poll_ = time;  // whoever began this work would have heard of what was asked for before
    if (time - last_poll_ < kPollSeconds) return;
    last_poll_ = time;
    if (requested_ && requested_()) {
        cancelled_.store(true, std::memory_order_relaxed);
        throw Interrupted();
    }
}

ThreadPool::ThreadPool(std::size_t threads) : queues_(std::max<std::size_t>(threads, 1)) {
    for (std::size_t thread = 1; thread < threads; ++thread) {
        workers_.emplace_back([this, thread] { work(thread); });
    }
}

ThreadPool::~ThreadPool() {
    stopping_ = true;
    { const std::lock_guard lock(mutex_); }
    start_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_on_all(const Job& job, Interrupt& interrupt) {
    job_ = job;
    deal_out();
    error_ = nullptr;
    helpers_.store(0, std::memory_order_release);
    ++generation_;
    if (sleeping_ > 0) {
        { const std::lock_guard lock(mutex_); }
        start_.notify_all();
    }
    take_tasks(0);
    close_when_done(interrupt);
    if (error_) std::rethrow_exception(error_);
}

// Nobody looks at queues before `helpers_` is open, so that what others have in their caches can be written to without
// waiting for it line by line.
void ThreadPool::deal_out() {
    const std::size_t threads = size();
    for (std::size_t thread = 0; thread < threads; ++thread) {
        Queue& queue = queues_[thread];
        const bool in_turn = job_.deal == Deal::in_turn;
        queue.next.store(in_turn ? thread : thread * job_.tasks / threads, std::memory_order_relaxed);
        queue.end = in_turn ? job_.tasks : (thread + 1) * job_.tasks / threads;
        queue.step = in_turn ? threads : 1;
    }
}

void ThreadPool::take_tasks(std::size_t thread) {
    try {
        for (std::size_t i = 0; i < size(); ++i) take_from(queues_[(thread + i) % size()], thread);
        job_.finish(job_.work, thread);
    } catch (...) {
        for (Queue& queue : queues_) queue.next = job_.tasks;  // the remaining tasks are pointless
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
}

void ThreadPool::take_from(Queue& queue, std::size_t thread) {
    const auto next = [&] { return queue.next.fetch_add(queue.step); };
    for (std::size_t i = next(); i < queue.end; i = next()) job_.run_task(job_.work, i, thread);
}

bool ThreadPool::close() {
    int nobody = 0;
    return helpers_.compare_exchange_strong(nobody, kClosed);
}

void ThreadPool::close_when_done(Interrupt& interrupt) {
    for (int look = 0; look < kLooks; ++look) {
        if (close()) return;
        relax();
    }
    std::unique_lock lock(mutex_);
    owner_sleeps_ = true;
    while (!done_.wait_for(lock, std::chrono::duration<double>(kPollSeconds), [this] { return close(); })) {
        // The others may still be at work for long: keep listening to the user on their behalf.
        lock.unlock();
        try {
            interrupt.poll();
        } catch (...) {
            lock.lock();
            if (!error_) error_ = std::current_exception();
            continue;
        }
        lock.lock();
    }
    owner_sleeps_ = false;
}

bool ThreadPool::join() {
    int helpers = helpers_;
    while (helpers != kClosed) {
        if (helpers_.compare_exchange_weak(helpers, helpers + 1)) return true;
    }
    return false;
}

void ThreadPool::leave() {
    --helpers_;
    if (!owner_sleeps_) return;
    { const std::lock_guard lock(mutex_); }
    done_.notify_all();
}

void ThreadPool::wait_for_work(unsigned seen) {
    for (int look = 0; look < kLooks; ++look) {
        if (stopping_ || generation_ != seen) return;
        relax();
    }
    std::unique_lock lock(mutex_);
    ++sleeping_;
    start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    --sleeping_;
}

void ThreadPool::work(std::size_t thread) {
    unsigned seen = 0;
    while (true) {
        wait_for_work(seen);
        if (stopping_) return;
        seen = generation_;
        if (!join()) continue;
        take_tasks(thread);
        leave();
    }
}

}  // namespace labelboost
