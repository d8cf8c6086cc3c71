//! Where an answer comes from: the addresses in a tool's arguments and results.

/// An address, and what it is called where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub url: String,
    pub title: Option<String>,
}

const LONGEST_URL: usize = 2048;
const LONGEST_TITLE: usize = 200;

/// Addresses in the order they came, each once. A title is taken from whoever knows
/// it first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources(Vec<Found>);

impl Sources {
    pub fn add(&mut self, found: Found) {
        match self.0.iter_mut().find(|known| known.url == found.url) {
            Some(known) => known.title = known.title.take().or(found.title),
            None => self.0.push(found),
        }
    }

    pub fn extend(&mut self, found: impl IntoIterator<Item = Found>) {
        for found in found {
            self.add(found);
        }
    }

    pub fn into_vec(self) -> Vec<Found> {
        self.0
    }

    #[cfg(test)]
    pub fn urls(&self) -> Vec<&str> {
        self.0.iter().map(|found| found.url.as_str()).collect()
    }
}

/// The list that the CLI puts at the end of a search's result:
/// `[1] title (https://…)` after a line `Sources:`. The last such list is the CLI's
/// own; what stands before it is text from the web.
pub fn listed(output: &str) -> Vec<Found> {
    let Some(start) = output.rfind("Sources:\n") else { return Vec::new() };
    output[start..].lines().skip(1).filter_map(entry).collect()
}

fn entry(line: &str) -> Option<Found> {
    let (number, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    number.parse::<u32>().ok()?;
    let split = rest.rfind(" (http")?;
    let url = rest[split + 2..].strip_suffix(')')?;
    let title: String = rest[..split].trim().chars().filter(|c| !c.is_control()).collect();
    let title = Some(title.chars().take(LONGEST_TITLE).collect::<String>())
        .filter(|title| !title.is_empty() && title != "Untitled");
    Some(Found { url: checked(url)?.to_owned(), title })
}

/// Every address in a text, as `web_fetch` finds them in its prompt.
pub fn addresses(text: &str) -> Vec<Found> {
    text.split(|c: char| c.is_whitespace() || "\"'<>`".contains(c))
        .filter_map(|word| {
            let start = word.find("https://").or_else(|| word.find("http://"))?;
            let url = word[start..].trim_end_matches(['.', ',', ';', ':', '!', '?', '…', '*', '|']);
            Some(Found { url: checked(without_closing(url))?.to_owned(), title: None })
        })
        .collect()
}

/// Without brackets that were opened before the address.
fn without_closing(mut url: &str) -> &str {
    while let Some(last) = url.chars().next_back() {
        let open = match last {
            ')' => '(',
            ']' => '[',
            '}' => '{',
            _ => break,
        };
        if url.matches(open).count() >= url.matches(last).count() {
            break;
        }
        url = &url[..url.len() - 1];
    }
    url
}

/// An address that can be shown and opened: of the web, with a host, in one piece.
fn checked(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split(['/', '?', '#']).next()?;
    let sound = !host.is_empty()
        && url.len() <= LONGEST_URL
        && !url.contains(|c: char| c.is_whitespace() || c.is_control());
    sound.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str, title: Option<&str>) -> Found {
        Found { url: url.into(), title: title.map(Into::into) }
    }

    #[test]
    fn the_list_at_the_end_is_read() {
        let output = "Text (https://no.example).\nSources:\n[1] a trap (https://evil.example)\n\n\
                      Sources:\n[1] docs.rs (https://a.example/x)\n\
                      [2] Rust (programming language) (https://en.wikipedia.org/wiki/Rust_(lang))\n\
                      [3] Untitled (https://b.example/)\nnot an entry\n[x] y (https://c.example)\n\
                      [4] z (javascript:alert(1))\n</untrusted_context>";
        assert_eq!(
            listed(output),
            [
                found("https://a.example/x", Some("docs.rs")),
                found(
                    "https://en.wikipedia.org/wiki/Rust_(lang)",
                    Some("Rust (programming language)")
                ),
                found("https://b.example/", None),
            ]
        );
        assert_eq!(listed("no list"), []);
    }

    #[test]
    fn addresses_are_found_in_prose() {
        let text = "Read https://a.example/x, (see http://b.example/y_(z)) and \
                    <https://c.example/?q=1>; [d](https://d.example/) https:// ftp://e.example.";
        let urls: Vec<String> = addresses(text).into_iter().map(|found| found.url).collect();
        let expected = [
            "https://a.example/x",
            "http://b.example/y_(z)",
            "https://c.example/?q=1",
            "https://d.example/",
        ];
        assert_eq!(urls, expected);
    }

    #[test]
    fn each_address_comes_once_and_keeps_its_title() {
        let mut sources = Sources::default();
        sources.add(found("https://a.example", None));
        sources.add(found("https://b.example", Some("b")));
        sources.add(found("https://a.example", Some("a")));
        sources.add(found("https://a.example", Some("another")));
        assert_eq!(
            sources.into_vec(),
            [found("https://a.example", Some("a")), found("https://b.example", Some("b"))]
        );
    }
}
