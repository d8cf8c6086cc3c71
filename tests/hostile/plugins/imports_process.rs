//! A strategy that starts a program, through the interface meant for backends.

use hostile::sdk::process::{Child, Command};

fn launch() -> String {
    let command = Command {
        program: "true".to_owned(),
        arguments: Vec::new(),
        environment: Vec::new(),
        input: Vec::new(),
        files: Vec::new(),
        timeout_ms: None,
    };
    match Child::spawn(&command) {
        Ok(_) => "started".to_owned(),
        Err(error) => error.message,
    }
}

hostile::strategy!(launch);
