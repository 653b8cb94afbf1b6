#include "threads.hpp"

#include <chrono>

namespace labelboost {
namespace {

constexpr double kPollSeconds = 0.1;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void Interrupt::check() {
    if (cancelled_.load(std::memory_order_relaxed)) throw Interrupted();
    if (std::this_thread::get_id() == owner_) poll();
}

void Interrupt::poll() {
    if (cancelled_.load(std::memory_order_relaxed)) throw Interrupted();
    const double time = now();
    if (time - last_poll_ < kPollSeconds) return;
    last_poll_ = time;
    if (requested_ && requested_()) {
        cancelled_.store(true, std::memory_order_relaxed);
        throw Interrupted();
    }
}

ThreadPool::ThreadPool(std::size_t threads) {
    for (std::size_t thread = 1; thread < threads; ++thread) {
        workers_.emplace_back([this, thread] { work(thread); });
    }
}

ThreadPool::~ThreadPool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    start_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::size_t tasks, Interrupt& interrupt,
                     const std::function<void(std::size_t, std::size_t)>& task) {
    if (workers_.empty() || tasks <= 1) {
        for (std::size_t i = 0; i < tasks; ++i) {
            interrupt.check();
            task(i, 0);
        }
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        task_ = &task;
        tasks_ = tasks;
        next_ = 0;
        error_ = nullptr;
        busy_ = workers_.size();
        ++generation_;
    }
    start_.notify_all();
    take_tasks(0);
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, std::chrono::duration<double>(kPollSeconds), [this] { return busy_ == 0; })) {
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
    task_ = nullptr;
    if (error_) std::rethrow_exception(error_);
}

void ThreadPool::take_tasks(std::size_t thread) {
    try {
        for (std::size_t i = next_++; i < tasks_; i = next_++) (*task_)(i, thread);
    } catch (...) {
        next_ = tasks_;  // the remaining tasks are pointless
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
    }
}

void ThreadPool::work(std::size_t thread) {
    unsigned seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
        start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
        if (stopping_) return;
        seen = generation_;
        lock.unlock();
        take_tasks(thread);
        lock.lock();
        if (--busy_ == 0) done_.notify_all();
    }
}

}  // namespace labelboost
