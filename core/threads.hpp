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

#include "aligned.hpp"

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

// Asks a callback, a few times per second at most and only on the thread that owns the work, whether to stop. Lies apart,
// as all threads read it all the time.
class alignas(kApart) Interrupt {
public:
    explicit Interrupt(std::function<bool()> requested) : requested_(std::move(requested)) {}

    // Called on any thread, often; throws when the work is to be abandoned.
    void check();
    // Called on the owning thread only, seldom.
    void poll();

private:
    std::function<bool()> requested_;
    std::thread::id owner_ = std::this_thread::get_id();
    std::atomic<bool> cancelled_{false};
    // Of the owner alone, apart from what the others read.
    alignas(kApart) double last_poll_ = 0.0;  // when the callback was asked
    double last_look_ = 0.0;                  // what the clock said last
    int looks_to_skip_ = 0;
};

// Which tasks threads begin with: runs of neighbouring ones, so that each of them mostly sees the same part of the data and
// has it in its cache, or one after the other, the first ones first.
enum class Deal { in_blocks, in_turn };

// Work is often handed out every few microseconds, so threads that have nothing to do look out for more for a while
// before they go to sleep, and nobody waits for a thread that has not woken up in time to take part.
class ThreadPool {
public:
    explicit ThreadPool(std::size_t threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    std::size_t size() const { return workers_.size() + 1; }
    // How many of the threads share work at present: all of them, or the calling one only.
    std::size_t in_use() const { return alone_ ? 1 : size(); }
    void set_alone(bool alone) { alone_ = alone; }

    // Runs task(i, thread) for every i in [0, tasks), the calling thread being thread 0. Which thread runs
    // which task is left open, so results must be stored by i. The first exception is thrown again here.
    // Each thread that may have run a task calls finish(thread) when there are no more tasks for it.
    template <typename Task, typename Finish>
    void run(std::size_t tasks, Interrupt& interrupt, const Task& task, const Finish& finish, Deal deal) {
        if (in_use() == 1 || tasks <= 1) {
            for (std::size_t i = 0; i < tasks; ++i) {
                interrupt.check();
                task(i, 0);
            }
            finish(0);
            return;
        }
        // A copy, apart from whatever else this thread writes while the others read it.
        struct alignas(kApart) Work {
            Task task;
            Finish finish;
        };
        const Work work{task, finish};
        run_on_all({tasks, deal, &work,
                    [](const void* shared, std::size_t i, std::size_t thread) {
                        static_cast<const Work*>(shared)->task(i, thread);
                    },
                    [](const void* shared, std::size_t thread) { static_cast<const Work*>(shared)->finish(thread); }},
                   interrupt);
    }
    template <typename Task>
    void run(std::size_t tasks, Interrupt& interrupt, const Task& task, Deal deal = Deal::in_blocks) {
        run(tasks, interrupt, task, [](std::size_t) {}, deal);
    }

private:
    // What threads share while they are at it.
    struct alignas(kApart) Job {
        std::size_t tasks = 0;
        Deal deal = Deal::in_blocks;
        const void* work = nullptr;
        void (*run_task)(const void*, std::size_t, std::size_t) = nullptr;
        void (*finish)(const void*, std::size_t) = nullptr;
    };
    static constexpr int kClosed = -1;

    // The tasks of one thread; who has done its own takes over what is left of the others'. To ask one common counter for
    // each task would take as long as many a task does.
    struct alignas(kApart) Queue {
        std::atomic<std::size_t> next{0};
        std::size_t end = 0, step = 1;
    };

    void run_on_all(const Job& job, Interrupt& interrupt);
    void deal_out();
    void work(std::size_t thread);
    void take_tasks(std::size_t thread);
    void take_from(Queue& queue, std::size_t thread);
    void wait_for_work(unsigned seen);
    bool join();
    void leave();
    bool close();
    void close_when_done(Interrupt& interrupt);

    std::vector<std::thread> workers_;
    std::vector<Queue> queues_;  // by thread
    bool alone_ = false;
    // What is written at different times, or by different threads, lies apart: those who look out for a change of one
    // would be in the way of the others.
    Job job_;
    alignas(kApart) std::atomic<int> helpers_{kClosed};  // workers that take part, while there is work to take part in
    alignas(kApart) std::atomic<unsigned> generation_{0};  // grows with every run
    alignas(kApart) std::atomic<bool> stopping_{false};
    // For those who sleep; who changes what they wait for takes the mutex once before notifying them.
    std::mutex mutex_;
    std::condition_variable start_, done_;
    std::atomic<int> sleeping_{0};
    std::atomic<bool> owner_sleeps_{false};
    std::exception_ptr error_;  // guarded by mutex_
};

}  // namespace labelboost
