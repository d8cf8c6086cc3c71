//! Decides once how much research a question deserves. Conservative: shallow and
//! medium are the usual answer, because most questions are answered by the first
//! or second search.

use bathysphere_sdk::types::{Level, Plan, Question, Scope, SearchDepth, TaskType};

use crate::settings::{Mode, Settings};
use crate::words::{asks_nothing, key_words, parts};

/// The tool that was called, where the host tells it.
pub fn tool(question: &Question) -> Option<&str> {
    extra(question, "tool")
}

fn extra<'a>(question: &'a Question, wanted: &str) -> Option<&'a str> {
    question.extra.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

/// What a round of this question is: never `Auto`.
pub fn mode(settings: &Settings, question: &Question) -> Mode {
    match settings.mode {
        Mode::Auto => match extra(question, "steps") {
            Some(steps) => {
                let can = |wanted| steps.split(',').any(|step| step.trim() == wanted);
                if can("gather") {
                    Mode::Gather
                } else if can("delegate") && !can("ask") {
                    Mode::Delegate
                } else {
                    Mode::Ask
                }
            }
            None => Mode::Gather,
        },
        said => said,
    }
}

/// Context of more bytes than this says that the work is larger than one fact.
const LONG_CONTEXT: usize = 800;
/// A first answer, and a round that checks it.
const LEAST_TO_VERIFY: u32 = 2;
/// `deep_search` promises a second look.
const DEEP_SEARCH_ROUNDS: u32 = 2;

/// Makes the plan.
pub fn make_plan(settings: &Settings, question: &Question) -> Plan {
    match mode(settings, question) {
        Mode::Ask => return plan_to_ask(settings, question),
        Mode::Delegate => return plan_to_delegate(settings),
        Mode::Auto | Mode::Gather => {}
    }
    if asks_nothing(&question.text) {
        return Plan {
            level: Level::None,
            rounds: 0,
            results: 0,
            pages: 0,
            depth: SearchDepth::Basic,
            reason: "the question names nothing to look for".to_owned(),
            extra: Vec::new(),
        };
    }
    let (score, mut reasons) = points(settings, question);
    let mut level = if score >= i64::from(settings.deep_score) {
        Level::Deep
    } else if score >= i64::from(settings.medium_score) {
        Level::Medium
    } else {
        Level::Shallow
    };
    let mut least = 1;
    match tool(question) {
        Some("search") => {
            level = Level::Shallow;
            reasons = vec!["a quick search was asked for".to_owned()];
        }
        Some("deep_search") => {
            level = deeper(level, Level::Medium);
            least = DEEP_SEARCH_ROUNDS;
            reasons.push("a deep search was asked for".to_owned());
        }
        _ => {}
    }
    let amount = match level {
        Level::None | Level::Shallow => settings.shallow(),
        Level::Medium => settings.medium(),
        Level::Deep => settings.deep(),
    };
    let mut rounds = amount.rounds.max(least);
    if tool(question) == Some("search") {
        rounds = 1;
    } else if let Some(most) = question.max_rounds {
        // What the asker says goes, up to the owner's limit: more rounds than the
        // level would have are leave to go on, not an order to.
        rounds = most;
        reasons.push(format!("at most {} asked for", rounds_in_words(most.max(1))));
    }
    let rounds = rounds.clamp(1, settings.max_rounds.max(1));
    if reasons.is_empty() {
        reasons.push("a plain question".to_owned());
    }
    Plan {
        level,
        rounds,
        results: amount.results.max(1),
        pages: amount.pages,
        depth: if level == Level::Deep { SearchDepth::Advanced } else { SearchDepth::Basic },
        reason: reasons.join("; "),
        extra: Vec::new(),
    }
}

/// An agent that searches by itself decides how much; what is planned is how
/// often its answer is looked at.
fn plan_to_ask(settings: &Settings, question: &Question) -> Plan {
    let (level, rounds, reason) = match tool(question) {
        Some("search") => (Level::Shallow, 1, "a quick search was asked for".to_owned()),
        Some("deep_research") => {
            (Level::Deep, 1, "one prompt, the rounds being the agent's own affair".to_owned())
        }
        _ => {
            let usual = extra(question, "max_iterations").and_then(|most| most.parse().ok());
            let usual = usual.unwrap_or(settings.verify_rounds);
            let usual = match question.scope {
                Some(Scope::Tiny) => usual.min(LEAST_TO_VERIFY),
                _ => usual,
            };
            let rounds = question.max_rounds.unwrap_or(usual).clamp(1, settings.max_rounds.max(1));
            let reason = match rounds {
                1 => "a first answer, not checked: one round was asked for".to_owned(),
                _ => "a first answer, then rounds that check it".to_owned(),
            };
            (Level::Deep, rounds, reason)
        }
    };
    let amount = settings.deep();
    Plan {
        level,
        rounds,
        results: amount.results.max(1),
        pages: amount.pages,
        depth: SearchDepth::Advanced,
        reason,
        extra: Vec::new(),
    }
}

/// One round: whoever takes the whole question decides the rest.
fn plan_to_delegate(settings: &Settings) -> Plan {
    let amount = settings.deep();
    Plan {
        level: Level::Deep,
        rounds: 1,
        results: amount.results.max(1),
        pages: amount.pages,
        depth: SearchDepth::Advanced,
        reason: "the whole question goes to a research backend".to_owned(),
        extra: Vec::new(),
    }
}

fn deeper(a: Level, b: Level) -> Level {
    let rank = |level: &Level| match level {
        Level::None => 0,
        Level::Shallow => 1,
        Level::Medium => 2,
        Level::Deep => 3,
    };
    if rank(&a) >= rank(&b) { a } else { b }
}

fn rounds_in_words(rounds: u32) -> String {
    if rounds == 1 { "1 round".to_owned() } else { format!("{rounds} rounds") }
}

/// How much the question seems to deserve, and why.
fn points(settings: &Settings, question: &Question) -> (i64, Vec<String>) {
    let mut score = 0;
    let mut reasons = Vec::new();
    let mut add = |points: i64, reason: &str| {
        score += points;
        reasons.push(reason.to_owned());
    };
    if parts(&question.text) > 1 {
        add(1, "it has several parts");
    }
    if key_words(&question.text).len() > settings.long_question_words as usize {
        add(1, "it is long");
    }
    if question
        .goal
        .as_deref()
        .is_some_and(|goal| !goal.trim().is_empty() && goal.trim() != question.text.trim())
    {
        add(1, "it serves a larger goal");
    }
    if question.context.as_deref().is_some_and(|context| context.len() > LONG_CONTEXT) {
        add(1, "it comes with much context");
    }
    match question.scope {
        Some(Scope::Tiny) => add(-2, "the scope is tiny"),
        Some(Scope::Large) => add(2, "the scope is large"),
        Some(Scope::Normal) | None => {}
    }
    match &question.task_type {
        Some(TaskType::Reference) => add(-1, "it looks something up"),
        Some(TaskType::Debug) => add(1, "it looks for the cause of a fault"),
        Some(TaskType::Architecture) => add(2, "it is about architecture"),
        Some(TaskType::Research) => add(3, "it asks for research"),
        Some(TaskType::Other(_)) | None => {}
    }
    if tool(question) == Some("research") {
        add(2, "research was asked for");
    }
    (score, reasons)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        Question {
            text: text.into(),
            goal: None,
            scope: None,
            task_type: None,
            context: None,
            max_rounds: None,
            max_cost_usd: None,
            extra: Vec::new(),
        }
    }

    fn plan(question: &Question) -> Plan {
        make_plan(&Settings::default(), question)
    }

    #[test]
    fn the_table_of_levels() {
        let plain = question("What is a gate?");
        let parts = question("How do gates work and why are secrets kept in the host?");
        let with = |change: fn(&mut Question)| {
            let mut changed = question("How do gates work and why are secrets kept in the host?");
            change(&mut changed);
            changed
        };
        let cases = [
            (plain, Level::Shallow, 1),
            (parts, Level::Shallow, 1),
            (with(|q| q.scope = Some(Scope::Tiny)), Level::Shallow, 1),
            (with(|q| q.scope = Some(Scope::Large)), Level::Medium, 3),
            (with(|q| q.task_type = Some(TaskType::Reference)), Level::Shallow, 1),
            (with(|q| q.task_type = Some(TaskType::Debug)), Level::Medium, 3),
            (with(|q| q.task_type = Some(TaskType::Architecture)), Level::Medium, 3),
            (with(|q| q.task_type = Some(TaskType::Research)), Level::Medium, 3),
            (
                with(|q| {
                    q.task_type = Some(TaskType::Research);
                    q.scope = Some(Scope::Large);
                }),
                Level::Deep,
                5,
            ),
            (with(|q| q.max_rounds = Some(7)), Level::Shallow, 7),
            (with(|q| q.max_rounds = Some(0)), Level::Shallow, 1),
            (with(|q| q.max_rounds = Some(4_000_000)), Level::Shallow, 50),
        ];
        for (question, level, rounds) in cases {
            let plan = plan(&question);
            assert_eq!((plan.level, plan.rounds), (level, rounds), "{question:?}: {}", plan.reason);
            assert!(!plan.reason.is_empty());
        }
    }

    #[test]
    fn tools_set_the_frame() {
        let mut asked = question("How do gates work?");
        asked.scope = Some(Scope::Large);
        asked.task_type = Some(TaskType::Research);
        asked.extra = vec![("tool".into(), "search".into())];
        asked.max_rounds = Some(5);
        let quick = plan(&asked);
        assert_eq!((quick.level, quick.rounds), (Level::Shallow, 1));
        let mut asked = question("What is a gate?");
        asked.extra = vec![("tool".into(), "deep_search".into())];
        let deep = plan(&asked);
        assert!(deep.rounds >= 2 && deep.level == Level::Medium);
        asked.max_rounds = Some(1);
        assert_eq!(plan(&asked).rounds, 1, "the asker's own limit holds");
    }

    #[test]
    fn an_agent_that_searches_by_itself_is_asked() {
        let asked = |tool: &str, steps: &str, most: Option<u32>| {
            let mut asked = question("What is a gate?");
            asked.extra = vec![("tool".into(), tool.into()), ("steps".into(), steps.into())];
            asked.max_rounds = most;
            asked
        };
        let settings = Settings::default();
        assert_eq!(mode(&settings, &asked("search", "ask", None)), Mode::Ask);
        assert_eq!(mode(&settings, &asked("search", "ask,gather", None)), Mode::Gather);
        assert_eq!(mode(&settings, &question("What is a gate?")), Mode::Gather);
        for (tool, most, rounds) in [
            ("search", Some(7), 1),
            ("deep_research", None, 1),
            ("deep_search", None, 5),
            ("deep_search", Some(3), 3),
            ("deep_search", Some(1000), 50),
            ("research", None, 5),
        ] {
            let plan = plan(&asked(tool, "ask", most));
            assert_eq!(plan.rounds, rounds, "{tool}: {}", plan.reason);
        }
        let mut usual = asked("deep_search", "ask", None);
        usual.extra.push(("max_iterations".into(), "7".into()));
        assert_eq!(plan(&usual).rounds, 7);
        usual.scope = Some(Scope::Tiny);
        assert_eq!(plan(&usual).rounds, 2);
        // One word may be a question to an agent that searches by itself.
        assert_eq!(
            plan(&Question { text: "IT?".into(), ..asked("search", "ask", None) }).rounds,
            1
        );
    }

    #[test]
    fn a_research_backend_alone_takes_the_whole_question() {
        let asked = |steps: &str| {
            let mut asked = question("What is a gate?");
            asked.extra = vec![("steps".into(), steps.into())];
            asked.max_rounds = Some(7);
            asked
        };
        let settings = Settings::default();
        for (steps, expected) in [
            ("delegate", Mode::Delegate),
            ("ask,delegate", Mode::Ask),
            ("gather,delegate", Mode::Gather),
            ("ask, gather, delegate", Mode::Gather),
            ("", Mode::Ask),
        ] {
            assert_eq!(mode(&settings, &asked(steps)), expected, "{steps}");
        }
        let said = Settings { mode: Mode::Delegate, ..Settings::default() };
        for plan in [plan(&asked("delegate")), make_plan(&said, &asked("ask,gather,delegate"))] {
            assert_eq!((plan.level, plan.rounds), (Level::Deep, 1));
            assert!(plan.reason.contains("research backend"), "{}", plan.reason);
        }
        // Whether it is worth the money is for the asker to say.
        let courtesy = Question { text: "thanks!".into(), ..asked("delegate") };
        assert_eq!(plan(&courtesy).rounds, 1);
    }

    #[test]
    fn a_courtesy_needs_no_research() {
        let none = plan(&question("thanks!"));
        assert_eq!((none.level, none.rounds, none.results), (Level::None, 0, 0));
        assert!(none.reason.contains("nothing to look for"));
    }
}
