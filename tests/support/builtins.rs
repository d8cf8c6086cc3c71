//! The built-in plugins inside this process, without the program around them.

use std::path::Path;
use std::sync::Arc;

use bathysphere::config::{self, Directories, LoadOptions};
use bathysphere::gates::secrets::Secrets;
use bathysphere::plugins::{Plugins, builtin};

/// The built-in plugins under the default configuration.
pub fn plugins(home: &Path) -> Plugins {
    let directories = Directories::beneath(home);
    let loaded = config::load(&LoadOptions {
        config_file: None,
        docs: Vec::new(),
        working_directory: home.to_owned(),
        directories: &directories,
        environment: &|_| None,
        builtins: &builtin::names(),
    });
    let config = loaded.expect("the defaults are sound").config;
    Plugins::new(Arc::new(config), Arc::new(Secrets::default()), directories.cache)
}
