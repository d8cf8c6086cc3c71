//! Deep search from outside: the real binary over MCP stdio, with a fake Gemini CLI
//! that answers as each test scripts it.
//!
//! The first eleven modules are the requirements of the specification, one each; a
//! test there is named after its scenario, and asserts every line of it.

mod graceful_degradation;
mod iteration_limit;
mod multi_round;
mod progress_logging;
mod prompt_templates;
mod result_format;

mod correction_prompt;
mod model_field;
mod model_selection;
mod retry_with_correction;
mod startup_cleanup;

mod cancelling;
mod command_line;
mod corrections;
mod errors;
mod load;
mod other_tools;
mod prompts;
mod real;
mod resuming;
mod secrets;
mod verbatim;
mod waiting;
