//! The calls of the `coz` crate that a program needs, in one file without dependencies: progress points and latency pairs.
//!
//! The profiler's library, where it is loaded, exports `_coz_get_counter`; it is looked up by name with `dlsym`, as the crate does.
//! Without the profiler a visit is a load and a branch.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

#[repr(C)]
struct Counter {
    count: AtomicUsize,
    backoff: usize,
}

extern "C" {
    fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void;
}

type GetCounter = unsafe extern "C" fn(kind: c_int, name: *const c_char) -> *mut Counter;

pub struct Mark {
    kind: c_int,
    name: &'static CStr,
    counter: AtomicPtr<Counter>,
}

static NOBODY_LISTENS: Counter = Counter { count: AtomicUsize::new(0), backoff: 0 };

impl Mark {
    const fn new(kind: c_int, name: &'static CStr) -> Mark {
        Mark { kind, name, counter: AtomicPtr::new(std::ptr::null_mut()) }
    }
    pub const fn throughput(name: &'static CStr) -> Mark {
        Mark::new(1, name)
    }
    #[allow(dead_code)]
    pub const fn begin(name: &'static CStr) -> Mark {
        Mark::new(2, name)
    }
    #[allow(dead_code)]
    pub const fn end(name: &'static CStr) -> Mark {
        Mark::new(3, name)
    }

    pub fn visit(&self) {
        let mut counter = self.counter.load(Ordering::Relaxed);
        if counter.is_null() {
            counter = self.find();
        }
        if !std::ptr::eq(counter, &NOBODY_LISTENS) {
            unsafe { (*counter).count.fetch_add(1, Ordering::Relaxed) };
        }
    }

    #[cold]
    fn find(&self) -> *mut Counter {
        let symbol = unsafe { dlsym(std::ptr::null_mut(), c"_coz_get_counter".as_ptr()) };
        let mut counter = std::ptr::null_mut();
        if !symbol.is_null() {
            let get: GetCounter = unsafe { std::mem::transmute(symbol) };
            counter = unsafe { get(self.kind, self.name.as_ptr()) };
        }
        if counter.is_null() {
            counter = &NOBODY_LISTENS as *const Counter as *mut Counter;
        }
        self.counter.store(counter, Ordering::Relaxed);
        counter
    }
}
