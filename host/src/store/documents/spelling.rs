//! One spelling for what people write in several: without accents, and British as
//! American. A change here needs a new schema version, as one in `words` does.

pub fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200c}' | '\u{200d}')
}

/// Scripts that are written without spaces between words.
pub fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' | '\u{e00}'..='\u{e7f}')
}

/// Writes a character in lower case without its accent.
pub fn fold(character: char, into: &mut String) {
    let plain = match character {
        'À'..='Å' | 'à'..='å' | 'Ā'..='ą' => "a",
        'Æ' | 'æ' => "ae",
        'Ç' | 'ç' | 'Ć'..='č' => "c",
        'È'..='Ë' | 'è'..='ë' | 'Ē'..='ě' => "e",
        'Ì'..='Ï' | 'ì'..='ï' | 'Ĩ'..='ı' => "i",
        'Ð' | 'ð' | 'Ď'..='đ' => "d",
        'Ñ' | 'ñ' | 'Ń'..='ň' => "n",
        'Ò'..='Ö' | 'Ø' | 'ò'..='ö' | 'ø' | 'Ō'..='ő' => "o",
        'Œ' | 'œ' => "oe",
        'Ù'..='Ü' | 'ù'..='ü' | 'Ũ'..='ų' => "u",
        'Ý' | 'ý' | 'ÿ' | 'Ŷ'..='Ÿ' => "y",
        'ß' => "ss",
        'Ĝ'..='ģ' => "g",
        'Ĥ'..='ħ' => "h",
        'Ĵ' | 'ĵ' => "j",
        'Ķ' | 'ķ' => "k",
        'Ĺ'..='ł' => "l",
        'Ŕ'..='ř' => "r",
        'Ś'..='š' => "s",
        'Ţ'..='ŧ' => "t",
        'Ŵ' | 'ŵ' => "w",
        'Ź'..='ž' => "z",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        // Full-width forms of ASCII letters and digits.
        '\u{ff10}'..='\u{ff5a}' => {
            let ascii = char::from_u32(character as u32 - 0xfee0).unwrap_or(' ');
            into.push(ascii.to_ascii_lowercase());
            return;
        }
        character if character.is_ascii() => {
            into.push(character);
            return;
        }
        character => {
            into.extend(character.to_lowercase());
            return;
        }
    };
    into.push_str(plain);
}

/// The American spelling of a word written the British way, as far as rules can
/// tell. A rule that also touches other words does no harm, since documents and
/// questions are treated alike.
pub fn american(word: &str) -> Option<String> {
    if word.len() < 5 {
        return None;
    }
    for (british, american) in
        [("centre", "center"), ("fibre", "fiber"), ("metre", "meter"), ("litre", "liter")]
    {
        if let Some(ending) = word.strip_prefix(british) {
            return Some(format!("{american}{ending}"));
        }
    }
    for stem in
        ["model", "label", "travel", "cancel", "signal", "channel", "tunnel", "level", "fuel"]
    {
        if let Some(ending) = word.strip_prefix(stem).and_then(|rest| rest.strip_prefix('l'))
            && matches!(ending, "ing" | "ed" | "er" | "ers" | "ings")
        {
            return Some(format!("{stem}{ending}"));
        }
    }
    if word.len() < 6 {
        return None;
    }
    let mut changed = false;
    let mut spelling = word.to_owned();
    for digraph in ["ae", "oe"] {
        if spelling.contains(digraph) {
            spelling = spelling.replace(digraph, "e");
            changed = true;
        }
    }
    for (british, american) in [
        ("isation", "ization"),
        ("isations", "izations"),
        ("ise", "ize"),
        ("ised", "ized"),
        ("ises", "izes"),
        ("ising", "izing"),
        ("iser", "izer"),
        ("isers", "izers"),
        ("yse", "yze"),
        ("ysed", "yzed"),
        ("yses", "yzes"),
        ("ysing", "yzing"),
        ("our", "or"),
        ("ours", "ors"),
        ("oured", "ored"),
        ("ouring", "oring"),
        ("oural", "oral"),
        ("ourally", "orally"),
        ("ourite", "orite"),
        ("ourites", "orites"),
    ] {
        if let Some(stem) = spelling.strip_suffix(british)
            && stem.len() >= 3
        {
            return Some(format!("{stem}{american}"));
        }
    }
    changed.then_some(spelling)
}
