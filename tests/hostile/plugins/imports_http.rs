//! A search backend that asks a host over HTTP, which its kind may do, but which
//! nothing in plugins.toml grants to it.

use hostile::sdk::http::{Request, send};

fn fetch() -> String {
    let request = Request {
        method: "GET".to_owned(),
        url: "http://127.0.0.1:9/".to_owned(),
        headers: Vec::new(),
        body: None,
        timeout_ms: Some(1000),
        max_bytes: Some(1024),
    };
    match send(&request) {
        Ok(response) => response.status.to_string(),
        Err(error) => error.message,
    }
}

hostile::search!(fetch);
