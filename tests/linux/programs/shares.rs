// SPDX-License-Identifier: GPL-2.0-or-later
//! shares.rs: known shares and a known call tree (README.md), in Rust: traits, generics,
//! closures, iterators, a panic that is caught.
use std::arch::asm;
use std::io::Write;
use std::time::Instant;

/// As std::hint's, which Rust has since 1.66 only.
#[inline(always)]
fn black_box<T>(value: T) -> T {
    unsafe { asm!("/* {0} */", in(reg) &value) }
    value
}

const NAMES: [&str; 8] =
    ["f60", "f30", "f10", "calls_leaf", "dive", "ask_kernel", "panics", "report"];

struct Truth {
    zero: Instant,
    start: u64,
    seq: u64,
    ticks: [u64; 8],
    calls: [u64; 8],
}

impl Truth {
    fn now(&self) -> u64 {
        self.zero.elapsed().as_nanos() as u64
    }

    fn count(&mut self, function: usize) {
        let t = self.now();
        self.ticks[function] += t - self.start;
        self.calls[function] += 1;
        self.start = t;
    }

    #[inline(never)]
    fn report(&mut self) {
        self.seq += 1;
        let all: Vec<String> = (0..NAMES.len())
            .map(|i| format!("\"{}\":{{\"calls\":{},\"self\":{}}}", NAMES[i], self.calls[i],
                             self.ticks[i]))
            .collect();
        println!("TRUTH {{\"vcpu\":0,\"seq\":{},\"tsc\":{},\"tsc_hz\":1000000000,\"fn\":{{{}}},\
                  \"idle\":0,\"total\":{}}}", self.seq, self.now(), all.join(","),
                 self.ticks.iter().sum::<u64>());
        std::io::stdout().flush().unwrap();
    }
}

#[inline(always)]
fn spin(n: u64) -> u64 {
    let mut x = n;
    for i in 0..n {
        x = x.wrapping_mul(3).wrapping_add(i);
        unsafe { asm!("/* {0} */", inout(reg) x) }
    }
    x
}

trait Worker {
    fn f60(&self, n: u64) -> u64;
}

struct Crate<T> {
    factor: T,
}

impl<T: Copy + Into<u64>> Worker for Crate<T> {
    #[inline(never)]
    fn f60(&self, n: u64) -> u64 { // lines of f60
        spin(6 * n) ^ self.factor.into()
    } // end
}

impl<T: Copy + Into<u64>> Crate<T> {
    #[inline(never)]
    fn f30(&self, n: u64) -> u64 { // lines of f30
        (spin(3 * n) + 1) ^ self.factor.into()
    } // end
}

#[inline(never)]
fn f10<F: Fn(u64) -> u64>(times: u64, function: F) -> u64 { // lines of f10
    (0..times).map(|i| black_box(function(i))).fold(0, u64::wrapping_add)
} // end

#[inline(never)]
fn leaf(mut x: u64) -> u64 { // lines of leaf
    for _ in 0..20 {
        x = x.wrapping_mul(5).wrapping_add(1);
        unsafe { asm!("/* {0} */", inout(reg) x) }
    }
    x
} // end

#[inline(never)]
fn calls_leaf(n: u64) -> u64 {
    let mut x = n;
    for _ in 0..n / 10 {
        x ^= leaf(x);
    }
    x
}

#[inline(never)]
fn dive(n: u64, depth: u64) -> u64 {
    let x = if depth > 0 { dive(n, depth - 1) } else { spin(n) };
    black_box(x) ^ depth
}

#[inline(never)]
fn ask_kernel(n: u64) -> u64 {
    let mut x = 0;
    for i in 0..n / 1000 + 1 {
        x += std::fs::metadata("/proc").is_ok() as u64 + i;
    }
    black_box(x)
}

#[inline(never)]
fn fails(n: u64) -> u64 {
    if n > 0 {
        std::panic::resume_unwind(Box::new(n));
    }
    n
}

#[inline(never)]
fn panics(n: u64) -> u64 {
    let mut x = 0;
    for i in 0..n / 3000 + 1 {
        x += std::panic::catch_unwind(|| fails(i + 1)).is_err() as u64;
    }
    black_box(x)
}

#[inline(never)]
fn stage(worker: &dyn Worker, own: &Crate<u32>, truth: &mut Truth, n: u64) -> u64 {
    let mut x = worker.f60(n);
    truth.count(0);
    x ^= own.f30(n);
    truth.count(1);
    x ^= f10(4, |i| spin(n / 4) + i);
    truth.count(2);
    x ^= calls_leaf(n);
    truth.count(3);
    x ^= dive(n, 20);
    truth.count(4);
    x ^= ask_kernel(n);
    truth.count(5);
    x ^= panics(n);
    truth.count(6);
    x
}

#[inline(never)]
fn run(truth: &mut Truth, unit: u64) {
    let worker: Box<dyn Worker> = black_box(Box::new(Crate { factor: 7u16 }));
    let own = Crate { factor: 9u32 };
    let mut next = 0;
    loop {
        black_box(stage(&*worker, &own, truth, unit));
        if truth.start > next {
            truth.report();
            next = truth.start + 500_000_000;
            truth.count(7);
        }
    }
}

fn print_tree() {
    println!("TREE main\nTREE main;run\nTREE main;run;report\nTREE main;run;stage");
    for name in ["f60", "f30", "f10", "calls_leaf", "calls_leaf;leaf", "ask_kernel", "panics",
                 "panics;fails"] {
        println!("TREE main;run;stage;{}", name);
    }
    for depth in 1..=21 {
        println!("TREE main;run;stage{}", ";dive".repeat(depth));
    }
    println!("READY vcpus=1");
}

fn main() {
    print_tree();
    let mut truth =
        Truth { zero: Instant::now(), start: 0, seq: 0, ticks: [0; 8], calls: [0; 8] };
    black_box(spin(300_000));
    let unit = 300_000 * 3_000_000 / (truth.now() + 1) + 1;
    truth.start = truth.now();
    run(&mut truth, unit);
}
