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

class ThreadPool {
public:
    explicit ThreadPool(std::size_t threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    std::size_t size() const { return workers_.size() + 1; }

    // Runs task(i, thread) for every i in [0, tasks), the calling thread being thread 0. Which thread runs
    // which task is left open, so results must be stored by i. The first exception is thrown again here.
    void run(std::size_t tasks, Interrupt& interrupt, const std::function<void(std::size_t, std::size_t)>& task);

private:
    void work(std::size_t thread);
    void take_tasks(std::size_t thread);

    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable start_, done_;
    const std::function<void(std::size_t, std::size_t)>* task_ = nullptr;
    std::size_t tasks_ = 0;
    std::atomic<std::size_t> next_{0};
    std::size_t busy_ = 0;
    unsigned generation_ = 0;
    bool stopping_ = false;
    std::exception_ptr error_;
};

}  // namespace labelboost
