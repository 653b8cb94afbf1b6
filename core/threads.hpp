// A pool of threads and the polling that lets a user interrupt long work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace labelboost {

// The smaller of the two from now on, whoever else changes it at the same time.
template <typename T>
void lower(std::atomic<T>& value, T other) {
    for (T known = value; other < known && !value.compare_exchange_weak(known, other);) {}
}

// Thrown out of the core when the user asked to stop; nothing has been changed then.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Asks a callback, a few times per second at most and only on the thread that owns the work, whether to stop.
class Interrupt {
public:
    explicit Interrupt(std::function<bool()> requested) : requested_(std::move(requested)) {}

    // Called on any thread, often; throws when the work is to be abandoned.
    void check();
    // Called on the owning thread only: asks even if the last time is recent enough.
    void poll();

private:
    std::function<bool()> requested_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::atomic<bool> cancelled_{false};
    double last_poll_ = 0.0;
};

// Work is often handed out every few microseconds, so threads that have nothing to do look out for more for a while
// before they go to sleep, and nobody waits for a thread that has not woken up in time to take part.
class ThreadPool {
public:
    explicit ThreadPool(std::size_t threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    std::size_t size() const { return workers_.size() + 1; }

    // Runs task(i, thread) for every i in [0, tasks), the calling thread being thread 0. Which thread runs
    // which task is left open, so results must be stored by i. The first exception is thrown again here.
    // Each thread that may have run a task calls finish(thread), if there is one, when there are no more tasks for it.
    using Task = std::function<void(std::size_t, std::size_t)>;
    using Finish = std::function<void(std::size_t)>;
    void run(std::size_t tasks, Interrupt& interrupt, const Task& task, const Finish& finish = {});

private:
    static constexpr int kClosed = -1;

    void work(std::size_t thread);
    void take_tasks(std::size_t thread);
    void wait_for_work(unsigned seen);
    bool join();
    void leave();
    bool close();
    void close_when_done(Interrupt& interrupt);

    std::vector<std::thread> workers_;
    const Task* task_ = nullptr;
    const Finish* finish_ = nullptr;
    std::size_t tasks_ = 0;
    std::atomic<std::size_t> next_{0};
    std::atomic<int> helpers_{kClosed};     // workers that take part, while there is work to take part in
    std::atomic<unsigned> generation_{0};   // grows with every run
    std::atomic<bool> stopping_{false};
    // For those who sleep; who changes what they wait for takes the mutex once before notifying them.
    std::mutex mutex_;
    std::condition_variable start_, done_;
    std::atomic<int> sleeping_{0};
    std::atomic<bool> owner_sleeps_{false};
    std::exception_ptr error_;  // guarded by mutex_
};

}  // namespace labelboost
