//! Servers that are killed at any moment, over and over, on one database: no
//! acknowledged result is lost, nothing is started twice, no cancelled task comes
//! back to life, every cancel reaches the vendor, and the user is told once.
//!
//! `cargo test` kills a few; this kills a thousand, and another seed makes other
//! choices:
//!
//! ```sh
//! BATHYSPHERE_CRASH_KILLS=1000 BATHYSPHERE_CRASH_SEED=7 \
//!     cargo test -p bathysphere --test integration crash:: -- --nocapture
//! ```
//!
//! That it would notice is shown by `mutations/`: each patch takes one safeguard out
//! of the program, and with it this test must fail. See `mutations/README.md`.

mod fleet;
mod memory;
mod random;
mod verdict;

use std::time::Instant;

use fleet::Fleet;
use verdict::Summary;

const KILLS: usize = 20;
const SEED: u64 = 20_261_115;

#[test]
fn nothing_is_lost_doubled_or_revived_by_kills_at_any_moment() {
    let seed = from_environment("BATHYSPHERE_CRASH_SEED", SEED);
    let kills = from_environment("BATHYSPHERE_CRASH_KILLS", KILLS as u64) as usize;
    eprintln!("crash: {kills} kills, BATHYSPHERE_CRASH_SEED={seed}");
    let begun = Instant::now();
    let mut fleet = Fleet::new(seed);
    let mut told = 0;
    while fleet.kills < kills {
        fleet.step();
        if fleet.kills >= told + 100 {
            told = fleet.kills;
            let (tasks, violations) = (fleet.memory.all.len(), fleet.memory.violations.len());
            let seconds = begun.elapsed().as_secs();
            eprintln!("crash: {told} kills, {tasks} tasks, {violations} violations, {seconds} s");
        }
    }
    fleet.kill_all();
    let killing = begun.elapsed().as_secs_f64();
    let mut summary = Summary::default();
    fleet.settle(&mut summary);
    fleet.judge(&mut summary);
    let memory = &fleet.memory;
    eprintln!(
        "crash: {} kills in {killing:.1} s, {:.1} s in all, {} takeovers from the living, {} just \
         before a start; at most {} lock files, {} refusals; {summary:#?}",
        fleet.kills,
        begun.elapsed().as_secs_f64(),
        fleet.usurpations.0,
        fleet.usurpations.1,
        fleet.most_locks,
        memory.complaints.len(),
    );
    for complaint in memory.complaints.iter().take(10) {
        eprintln!("crash: {complaint}");
    }
    let violations = &memory.violations;
    assert!(
        violations.is_empty(),
        "{} violations with BATHYSPHERE_CRASH_SEED={seed}:\n{}",
        violations.len(),
        violations.join("\n")
    );
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => otherwise,
    }
}
