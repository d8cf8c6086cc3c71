//! What a file is, by its name.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Markdown,
    ReStructured,
    Html,
    Text,
    Code,
}

/// Sorted, so that they can be searched.
const CODE: &[&str] = &[
    "ada", "adb", "ads", "agda", "asm", "astro", "awk", "bash", "bat", "bazel", "bzl", "c", "cc",
    "cfg", "cjs", "clj", "cljs", "cmake", "cmd", "cob", "coffee", "conf", "cpp", "cr", "cs", "css",
    "cts", "cu", "cxx", "d", "dart", "diff", "el", "elm", "erl", "ex", "exs", "f", "f90", "f95",
    "fish", "frag", "fs", "fsx", "gd", "gleam", "glsl", "go", "gql", "gradle", "graphql", "groovy",
    "h", "hcl", "hh", "hpp", "hrl", "hs", "hxx", "idr", "ini", "ino", "java", "jl", "js", "json5",
    "jsonc", "jsx", "kt", "kts", "lean", "less", "lisp", "lua", "m", "make", "mjs", "mk", "ml",
    "mli", "mm", "mts", "nim", "nix", "nu", "odin", "pas", "patch", "php", "pl", "plist", "pm",
    "po", "pp", "proto", "ps1", "purs", "py", "pyi", "pyx", "r", "rake", "rb", "re", "rkt", "rs",
    "s", "sass", "sbt", "scala", "scm", "scss", "service", "sh", "smt2", "sol", "sql", "ss", "sv",
    "svelte", "swift", "tcl", "tf", "thrift", "toml", "ts", "tsx", "v", "vb", "vert", "vhd",
    "vhdl", "vim", "vue", "wat", "wgsl", "wit", "xsl", "yaml", "yml", "zig", "zsh",
];

const NAMED_CODE: &[&str] = &[
    "brewfile",
    "cmakelists.txt",
    "containerfile",
    "dockerfile",
    "gemfile",
    "gnumakefile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "procfile",
    "rakefile",
    "vagrantfile",
];

const NAMED_TEXT: &[&str] = &[
    "authors",
    "bugs",
    "changelog",
    "changes",
    "contributing",
    "contributors",
    "copying",
    "copyright",
    "credits",
    "faq",
    "hacking",
    "history",
    "install",
    "licence",
    "license",
    "maintainers",
    "news",
    "notice",
    "readme",
    "security",
    "thanks",
    "todo",
    "upgrading",
];

/// The kind of a file, or none for one that is not text as far as its name
/// tells. `extra` are further extensions to be read as text.
pub fn of(name: &str, extra: &[String]) -> Option<Kind> {
    let lower = name.to_ascii_lowercase();
    if NAMED_CODE.contains(&lower.as_str()) {
        return Some(Kind::Code);
    }
    let Some((_, extension)) = lower.rsplit_once('.') else {
        return NAMED_TEXT.contains(&lower.as_str()).then_some(Kind::Text);
    };
    match extension {
        "md" | "markdown" | "mdx" | "mkd" | "mdown" | "qmd" | "rmd" => Some(Kind::Markdown),
        "rst" | "rest" => Some(Kind::ReStructured),
        "html" | "htm" | "xhtml" => Some(Kind::Html),
        "txt" | "text" | "adoc" | "asciidoc" | "org" | "tex" | "textile" | "wiki" | "log"
        | "bib" | "typ" | "pod" | "eml" => Some(Kind::Text),
        extension if CODE.binary_search(&extension).is_ok() => Some(Kind::Code),
        extension
            if extra
                .iter()
                .any(|one| one.trim_start_matches('.').eq_ignore_ascii_case(extension)) =>
        {
            Some(Kind::Text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_kind() {
        assert!(CODE.is_sorted());
        assert_eq!(of("README.md", &[]), Some(Kind::Markdown));
        assert_eq!(of("index.HTM", &[]), Some(Kind::Html));
        assert_eq!(of("main.rs", &[]), Some(Kind::Code));
        assert_eq!(of("Makefile", &[]), Some(Kind::Code));
        assert_eq!(of("LICENSE", &[]), Some(Kind::Text));
        assert_eq!(of("photo.jpeg", &[]), None);
        assert_eq!(of("data.foo", &[".FOO".to_owned()]), Some(Kind::Text));
    }
}
