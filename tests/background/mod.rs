//! Research that outlives the call, through the real binary and against a stand-in
//! of the vendor.
//!
//! The first modules are the user stories, edge cases and requirements of the
//! specification: a test there has the number of its scenario in its name. The others
//! are the ways in which vendors, processes and users leave the straight path.

mod starting;

mod running;

mod estimating;

mod cancelling;

mod saving;

mod edge_cases;

mod non_functional;
mod requirements;
mod success_criteria;

mod budget;
mod command_line;
mod handing_over;
mod last_things;
mod listing;
mod notifying;
mod restarting;
mod unknown_fate;
mod vendor_trouble;
