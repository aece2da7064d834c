//! Two threads in rounds: both work at the same time, then wait for each other by std's Mutex and Condvar (futexes, called through
//! libc's `syscall`). The leader needs 1.0 of a round, the helper 0.7 of that: making the leader's line faster by up to 30 % makes the
//! rounds so much faster; beyond that, and for the helper's line, nothing is gained.
//!
//!   relay SECONDS
mod coz;

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

static ROUNDS: coz::Mark = coz::Mark::throughput(c"rounds");

const LEADERS_STEPS: u64 = 3_000_000;
const HELPERS_STEPS: u64 = 2_100_000;

// All of the work on one line, so that its samples are its own.
#[inline(never)]
fn leaders_work(mut x: u64) -> u64 {
    for _ in 0..LEADERS_STEPS { x = std::hint::black_box(x.wrapping_mul(6364136223846793005) ^ (x >> 29)); } // LINE(leader)
    x
}

#[inline(never)]
fn helpers_work(mut x: u64) -> u64 {
    for _ in 0..HELPERS_STEPS { x = std::hint::black_box(x.wrapping_mul(6364136223846793003) ^ (x >> 29)); } // LINE(helper)
    x
}

#[derive(Default)]
struct Rounds {
    started: u64,
    done: u64,
    stop: bool,
}

fn main() {
    let seconds: f64 = match std::env::args().nth(1).map(|text| text.parse()) {
        Some(Ok(seconds)) => seconds,
        _ => {
            eprintln!("usage: relay SECONDS");
            std::process::exit(2);
        }
    };
    let shared = Arc::new((Mutex::new(Rounds::default()), Condvar::new()));
    let helper = {
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || {
            let (mutex, changed) = &*shared;
            let mut x = 1;
            let mut round = 0;
            loop {
                round += 1;
                let mut rounds = mutex.lock().unwrap();
                while rounds.started < round && !rounds.stop {
                    rounds = changed.wait(rounds).unwrap();
                }
                if rounds.stop {
                    return x;
                }
                drop(rounds);
                x = helpers_work(x);
                mutex.lock().unwrap().done = round;
                changed.notify_all();
            }
        })
    };
    let (mutex, changed) = &*shared;
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut x = 1;
    let mut round = 0;
    while Instant::now() < end {
        round += 1;
        mutex.lock().unwrap().started = round;
        changed.notify_all();
        x = leaders_work(x);
        let mut rounds = mutex.lock().unwrap();
        while rounds.done < round {
            rounds = changed.wait(rounds).unwrap();
        }
        drop(rounds);
        ROUNDS.visit();
    }
    mutex.lock().unwrap().stop = true;
    changed.notify_all();
    let y = helper.join().unwrap();
    println!("{round} rounds {}", (x ^ y) & 1);
}
