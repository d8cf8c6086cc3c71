//! Research that outlives the call, through the real binary and against a stand-in
//! of the vendor: a module for each part of it.

mod handing_over;
mod load;
#[cfg(target_os = "linux")]
mod trouble;
