//! Medians, and lines that say what was measured and what it should be.

use std::time::Duration;

/// The middle of several measurements, in seconds.
pub fn median(measurements: &[Duration]) -> f64 {
    let mut seconds: Vec<f64> = measurements.iter().map(Duration::as_secs_f64).collect();
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}

pub fn largest(measurements: &[Duration]) -> f64 {
    measurements.iter().max().map_or(f64::NAN, Duration::as_secs_f64)
}

/// A figure that should stay below a bound.
pub fn at_most(what: &str, shown: &str, value: f64, bound: f64, wanted: &str) {
    line(what, shown, value <= bound, wanted);
}

/// A figure that should reach a bound.
pub fn at_least(what: &str, shown: &str, value: f64, bound: f64, wanted: &str) {
    line(what, shown, value >= bound, wanted);
}

fn line(what: &str, shown: &str, good: bool, wanted: &str) {
    let verdict = if good { "ok" } else { "MISSED" };
    println!("  {what:<52} {shown:>22}   wanted {wanted}: {verdict}");
}

/// A figure that is worth knowing and has no bound.
pub fn plain(what: &str, shown: &str) {
    println!("  {what:<52} {shown:>22}");
}

/// Something that could not be measured here.
pub fn left_out(what: &str, reason: &str) {
    println!("  {what}: left out, because {reason}");
}

/// `3.1 ms`, `240 µs`, `1.20 s`.
pub fn time(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.0} µs", seconds * 1e6)
    }
}

pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// A line of `/proc/PID/status` or `smaps_rollup` such as `VmRSS`, in bytes; none
/// where there is no such file.
pub fn memory(pid: rustix::process::Pid, file: &str, name: &str) -> Option<u64> {
    let path = format!("/proc/{}/{file}", pid.as_raw_nonzero());
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(&format!("{name}:")))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
