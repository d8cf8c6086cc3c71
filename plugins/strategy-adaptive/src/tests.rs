//! Whole runs: a stand-in for the host carries out each step.

use bathysphere_sdk::strategy::{Round, Situation, Step, StopReason};
use bathysphere_sdk::types::{
    Error, ErrorKind, Level, Quality, Question, Scope, SearchDepth, Source, TaskType, Usage,
};

use crate::{Mode, Settings, make_plan, next_step};

fn question(text: &str, tool: &str) -> Question {
    Question {
        text: text.into(),
        goal: None,
        scope: None,
        task_type: None,
        context: None,
        max_rounds: None,
        max_cost_usd: None,
        extra: vec![("tool".into(), tool.into())],
    }
}

fn usage(cost: Option<f64>) -> Usage {
    Usage {
        input_tokens: 0,
        output_tokens: 0,
        searches: 1,
        pages: 0,
        cost_usd: cost,
        extra: Vec::new(),
    }
}

/// What a round brings: sources, findings, quality (alike in all three figures),
/// follow-ups.
#[derive(Clone)]
struct Brings {
    sources: &'static [&'static str],
    findings: u32,
    quality: f64,
    follow_ups: &'static [&'static str],
    verified: Option<bool>,
    error: Option<ErrorKind>,
    cost: f64,
}

const NOTHING: Brings = Brings {
    sources: &[],
    findings: 0,
    quality: 0.0,
    follow_ups: &[],
    verified: None,
    error: None,
    cost: 0.0,
};

fn situation(question: Question, settings: &Settings) -> Situation {
    let plan = make_plan(settings, &question);
    Situation { question, plan, rounds: Vec::new(), memo: String::new(), spent: usage(None) }
}

fn carry_out(situation: &mut Situation, step: &Step, brings: &Brings) {
    let (name, queries) = match step {
        Step::Gather(gather) => ("gather", gather.queries.clone()),
        Step::Ask(_) => ("ask", Vec::new()),
        Step::Delegate(_) => ("delegate", Vec::new()),
        other => panic!("not a round: {other:?}"),
    };
    let known: Vec<String> = situation
        .rounds
        .iter()
        .flat_map(|round| &round.sources)
        .map(|source| source.url.clone())
        .collect();
    let sources: Vec<Source> = brings
        .sources
        .iter()
        .map(|url| Source {
            url: (*url).into(),
            title: String::new(),
            location: None,
            published: None,
            extra: Vec::new(),
        })
        .collect();
    let new = sources.iter().filter(|source| !known.contains(&source.url)).count() as u32;
    let quality = brings.quality;
    situation.rounds.push(Round {
        number: situation.rounds.len() as u32 + 1,
        step: name.into(),
        queries,
        sources,
        new_sources: new,
        new_findings: brings.findings,
        answer: (name != "gather" && brings.error.is_none()).then(|| "an answer".into()),
        verified: brings.verified,
        quality: Quality { relevance: quality, coverage: quality, confidence: quality },
        follow_ups: brings.follow_ups.iter().map(|query| (*query).to_owned()).collect(),
        usage: usage(Some(brings.cost)),
        error: brings.error.clone().map(|kind| Error {
            kind,
            message: "it broke".into(),
            hint: None,
        }),
        extra: Vec::new(),
    });
    let spent = situation.spent.cost_usd.unwrap_or(0.0) + brings.cost;
    situation.spent.cost_usd = Some(spent);
}

/// Runs to the end; returns the queries (or prompts) of each round, and why it
/// ended.
fn run(
    settings: &Settings,
    question: Question,
    brings: &[Brings],
) -> (Vec<Vec<String>>, StopReason, Option<String>) {
    let mut situation = situation(question, settings);
    let mut asked = Vec::new();
    for number in 0..100 {
        let decision = next_step(settings, &situation);
        assert!(!decision.reason.is_empty());
        match &decision.step {
            Step::Finish(finish) => return (asked, finish.reason.clone(), finish.note.clone()),
            Step::Gather(gather) => asked.push(gather.queries.clone()),
            Step::Ask(ask) => asked.push(vec![ask.prompt.clone()]),
            Step::Delegate(delegate) => asked.push(vec![delegate.input.clone()]),
            Step::Other(name) => panic!("not a step: {name}"),
        }
        let last = brings.last().unwrap_or(&NOTHING);
        carry_out(&mut situation, &decision.step, brings.get(number).unwrap_or(last));
    }
    panic!("no end");
}

#[test]
fn a_good_first_round_is_enough() {
    let good = Brings { sources: &["a", "b"], findings: 3, quality: 0.9, ..NOTHING };
    let (asked, reason, note) =
        run(&Settings::default(), question("what is a gate?", "deep_search"), &[good]);
    assert_eq!(asked, [["what is a gate?"]]);
    assert_eq!((reason, note), (StopReason::GoodEnough, None));
}

#[test]
fn one_source_is_enough_only_when_nothing_is_left_to_ask() {
    let one = Brings { sources: &["a"], findings: 3, quality: 0.9, ..NOTHING };
    let (_, reason, note) = run(
        &Settings::default(),
        question("what is a gate?", "deep_search"),
        std::slice::from_ref(&one),
    );
    assert_eq!(reason, StopReason::GoodEnough);
    assert!(note.unwrap().contains("one source"));
    let open = Brings { follow_ups: &["gate grants"], ..one };
    let (asked, _, _) =
        run(&Settings::default(), question("what is a gate?", "deep_search"), &[open]);
    assert_eq!(asked.len(), 2);
}

#[test]
fn the_parts_are_asked_before_giving_up() {
    let text = "What may a hatch hold, and who seals it?";
    let (asked, reason, _) =
        run(&Settings::default(), question(text, "deep_search"), &[NOTHING, NOTHING]);
    assert_eq!(asked, [vec![text], vec!["hatch hold", "seals hatch"]]);
    assert_eq!(reason, StopReason::NothingFound);
    // What the agent proposes goes first.
    let proposes = Brings { follow_ups: &["hatch seal"], ..NOTHING };
    let (asked, ..) =
        run(&Settings::default(), question(text, "deep_search"), &[proposes, NOTHING]);
    assert_eq!(asked[1], ["hatch seal"]);
}

#[test]
fn follow_ups_are_asked_once_and_gain_decides() {
    let first = Brings {
        sources: &["a"],
        findings: 2,
        quality: 0.4,
        follow_ups: &["gate grants", "What is a Gate"],
        ..NOTHING
    };
    let second = Brings {
        sources: &["b"],
        findings: 1,
        quality: 0.42,
        follow_ups: &["gate secrets"],
        ..NOTHING
    };
    let (asked, reason, _) =
        run(&Settings::default(), question("what is a gate?", "deep_search"), &[first, second]);
    assert_eq!(asked, [vec!["what is a gate?"], vec!["gate grants"]]);
    assert_eq!(reason, StopReason::DiminishingReturns, "after the second round");
}

#[test]
fn a_round_that_repeats_ends_the_run() {
    let first = Brings {
        sources: &["a"],
        findings: 2,
        quality: 0.3,
        follow_ups: &["one", "two"],
        ..NOTHING
    };
    let again =
        Brings { sources: &["a"], findings: 0, quality: 0.3, follow_ups: &["three"], ..NOTHING };
    let (_, reason, _) = run(
        &Settings::default(),
        question("what is a gate?", "deep_search"),
        &[first.clone(), again],
    );
    assert_eq!(reason, StopReason::Repetition);
    let silent = Brings { follow_ups: &[], ..first };
    let (asked, reason, _) = run(&Settings::default(), question("gate", "deep_search"), &[silent]);
    assert_eq!((asked.len(), reason), (1, StopReason::Repetition));
}

#[test]
fn nothing_found_is_said() {
    let empty = Brings { follow_ups: &["gate host"], ..NOTHING };
    let (asked, reason, _) =
        run(&Settings::default(), question("what is a gate?", "deep_search"), &[empty]);
    assert_eq!((asked.len(), reason), (2, StopReason::NothingFound));
    let (asked, reason, _) =
        run(&Settings::default(), question("what is a gate?", "deep_search"), &[NOTHING]);
    assert_eq!((asked.len(), reason), (1, StopReason::NothingFound));
    let (asked, reason, _) =
        run(&Settings::default(), question("what is a gate?", "search"), &[NOTHING]);
    assert_eq!((asked.len(), reason), (1, StopReason::NothingFound));
}

#[test]
fn a_failed_round_does_not_end_the_run() {
    let failed = Brings { error: Some(ErrorKind::Unavailable), ..NOTHING };
    let good = Brings { sources: &["a", "b"], findings: 3, quality: 0.9, ..NOTHING };
    let (asked, reason, _) = run(
        &Settings::default(),
        question("what is a gate?", "deep_search"),
        &[failed.clone(), good.clone()],
    );
    assert_eq!((asked.len(), reason), (2, StopReason::GoodEnough));
    let some = Brings {
        sources: &["a"],
        findings: 1,
        quality: 0.3,
        follow_ups: &["x", "y", "z", "v"],
        ..NOTHING
    };
    let one_query = Settings { max_queries: 1, ..Settings::default() };
    let (asked, reason, note) = run(
        &one_query,
        question("what is a gate?", "deep_search"),
        &[some, failed.clone(), failed],
    );
    assert_eq!((asked.len(), reason), (3, StopReason::Limit));
    assert!(note.is_none());
    let wrong_key = Brings { error: Some(ErrorKind::Auth), ..NOTHING };
    let (asked, reason, note) =
        run(&Settings::default(), question("what is a gate?", "deep_search"), &[wrong_key]);
    assert_eq!((asked.len(), reason), (1, StopReason::NothingFound));
    assert!(note.unwrap().contains("it broke"));
}

#[test]
fn money_ends_the_run_and_says_so() {
    let some = Brings {
        sources: &["a"],
        findings: 1,
        quality: 0.1,
        follow_ups: &["x"],
        cost: 0.02,
        ..NOTHING
    };
    let mut asked = question("what is a gate?", "deep_search");
    asked.max_cost_usd = Some(0.01);
    let (rounds, reason, note) = run(&Settings::default(), asked, &[some]);
    assert_eq!((rounds.len(), reason), (1, StopReason::Budget));
    assert!(note.unwrap().contains("0.01"));
}

#[test]
fn a_long_question_is_also_asked_by_its_key_words() {
    let text = "please tell me how the host keeps each plugin from reading secrets files network processes memory \
                environment directories outside grants given by the owner";
    let (asked, _, _) = run(&Settings::default(), question(text, "search"), &[NOTHING]);
    assert_eq!(asked[0].len(), 2);
    assert!(asked[0][1].starts_with("host keeps"), "{asked:?}");
    let huge = "gate ".repeat(200_000);
    let (asked, _, _) = run(&Settings::default(), question(&huge, "search"), &[NOTHING]);
    assert!(asked[0].iter().all(|query| query.len() <= 400));
}

#[test]
fn a_courtesy_is_not_researched() {
    let (asked, reason, _) = run(&Settings::default(), question("hi", "search"), &[NOTHING]);
    assert_eq!((asked.len(), reason), (0, StopReason::NotNeeded));
}

#[test]
fn asking_verifies_until_verified_or_the_limit() {
    let ask = Settings { mode: Mode::Ask, ..Settings::default() };
    let open = Brings { verified: Some(false), ..NOTHING };
    let sure = Brings { verified: Some(true), ..NOTHING };
    let (asked, reason, _) =
        run(&ask, question("what is a gate?", "deep_search"), &[open.clone(), sure.clone()]);
    assert_eq!(asked, [["deep-search"], ["verify"]]);
    assert_eq!(reason, StopReason::Verified);
    let (asked, reason, note) = run(&ask, question("what is a gate?", "deep_search"), &[open]);
    assert_eq!((asked.len(), reason), (5, StopReason::Limit));
    assert!(note.unwrap().contains("verification was not completed"));
    let (asked, reason, note) = run(&ask, question("what is a gate?", "search"), &[sure]);
    assert_eq!((asked, reason, note), (vec![vec!["search".to_owned()]], StopReason::Limit, None));
    let failed = Brings { error: Some(ErrorKind::Unavailable), ..NOTHING };
    let (asked, reason, _) = run(&ask, question("what is a gate?", "deep_search"), &[failed]);
    assert_eq!((asked, reason), (vec![vec!["deep-search".to_owned()]], StopReason::NothingFound));
}

#[test]
fn a_round_of_verification_that_fails_is_followed_by_the_next() {
    let ask = Settings { mode: Mode::Ask, ..Settings::default() };
    let open = Brings { verified: Some(false), ..NOTHING };
    let sure = Brings { verified: Some(true), ..NOTHING };
    let failed = |kind: ErrorKind| Brings { error: Some(kind), ..NOTHING };
    for passing in [ErrorKind::Unavailable, ErrorKind::Other("timeout".into())] {
        let (asked, reason, _) = run(
            &ask,
            question("what is a gate?", "deep_search"),
            &[open.clone(), failed(passing.clone()), failed(passing), sure.clone()],
        );
        assert_eq!((asked.len(), reason), (4, StopReason::Verified));
        assert_eq!(asked[3], ["verify"]);
    }
    let (asked, reason, note) = run(
        &ask,
        question("what is a gate?", "deep_search"),
        &[open, failed(ErrorKind::Unavailable)],
    );
    assert_eq!((asked.len(), reason), (5, StopReason::Limit));
    assert!(note.unwrap().contains("verification was not completed"));
}

#[test]
fn what_cannot_succeed_is_not_tried_again_and_the_answer_stays() {
    let ask = Settings { mode: Mode::Ask, ..Settings::default() };
    let open = Brings { verified: Some(false), ..NOTHING };
    for name in ["quota-exhausted", "model-not-found", "safety-blocked", "context-overflow"] {
        let failed = Brings { error: Some(ErrorKind::Other(name.into())), ..NOTHING };
        let asked = || question("what is a gate?", "deep_search");
        let (prompts, reason, note) = run(&ask, asked(), &[open.clone(), failed.clone()]);
        assert_eq!(prompts.len(), 2, "{name}");
        assert!(matches!(reason, StopReason::Other(reason) if reason == "round-failed"));
        let note = note.unwrap();
        assert!(note.contains("it broke") && note.contains("not verified"), "{note}");
        let (prompts, reason, _) = run(&ask, asked(), &[failed]);
        assert_eq!((prompts.len(), reason), (1, StopReason::NothingFound), "{name}");
    }
}

/// A small generator with a fixed seed: the same cases every time.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.next(from.len() as u64) as usize].clone()
    }

    fn question(&mut self) -> Question {
        let words = [
            "gate",
            "hi",
            "how do",
            "and",
            "secrets",
            "?",
            "the",
            "memory limit",
            "compare",
            "; ",
            "潜水",
        ];
        let text: Vec<&str> = (0..self.next(30)).map(|_| self.pick(&words)).collect();
        Question {
            text: text.join(" "),
            goal: self.pick(&[None, Some("a larger goal".to_owned()), Some(String::new())]),
            scope: self.pick(&[None, Some(Scope::Tiny), Some(Scope::Normal), Some(Scope::Large)]),
            task_type: self.pick(&[
                None,
                Some(TaskType::Reference),
                Some(TaskType::Debug),
                Some(TaskType::Architecture),
                Some(TaskType::Research),
                Some(TaskType::Other("x".into())),
            ]),
            context: self.pick(&[None, Some("c".repeat(2000))]),
            max_rounds: self.pick(&[None, Some(0), Some(1), Some(2), Some(9), Some(u32::MAX)]),
            max_cost_usd: self.pick(&[None, Some(0.0), Some(0.05), Some(f64::NAN), Some(-1.0)]),
            extra: vec![(
                "tool".into(),
                self.pick(&["search", "deep_search", "research", "other"]).to_owned(),
            )],
        }
    }

    fn brings(&mut self) -> Brings {
        Brings {
            sources: self.pick(&[&[] as &[&str], &["a"], &["a", "b"], &["c", "d", "e"]]),
            findings: self.next(4) as u32,
            quality: self.pick(&[0.0, 0.2, 0.5, 0.7, 1.0, f64::NAN]),
            follow_ups: self.pick(&[
                &[] as &[&str],
                &["x", "x", ""],
                &["y y", "z"],
                &["u", "v", "w", "q"],
            ]),
            verified: self.pick(&[None, Some(true), Some(false)]),
            error: self.pick(&[
                None,
                None,
                None,
                Some(ErrorKind::Unavailable),
                Some(ErrorKind::RateLimited(Some(3))),
                Some(ErrorKind::Auth),
            ]),
            cost: self.pick(&[0.0, 0.01, 1.0]),
        }
    }
}

#[test]
fn every_run_ends_within_its_plan_and_the_same_way_twice() {
    let mut seeded = Seeded(0x0dee_9001);
    for case in 0..4000 {
        let settings = Settings {
            mode: seeded.pick(&[Mode::Gather, Mode::Ask]),
            max_queries: 1 + seeded.next(4) as u32,
            min_gain: seeded.pick(&[0.0, 0.05, 0.3]),
            ..Settings::default()
        };
        let asked = seeded.question();
        let plan = make_plan(&settings, &asked);
        assert_eq!(plan, make_plan(&settings, &asked));
        let none = plan.level == Level::None;
        assert_eq!(plan.rounds == 0, none, "case {case}");
        assert!(plan.rounds <= settings.max_rounds && plan.results <= settings.deep_results);
        if let Some(most) = asked.max_rounds {
            assert!(plan.rounds <= most.max(1));
        }
        let brings: Vec<Brings> = (0..25).map(|_| seeded.brings()).collect();
        let (rounds, _, _) = run(&settings, asked.clone(), &brings);
        assert!(
            rounds.len() <= plan.rounds as usize,
            "case {case}: {} of {}",
            rounds.len(),
            plan.rounds
        );
        assert!(
            rounds.iter().all(
                |queries| !queries.is_empty() && queries.len() <= settings.max_queries as usize
            )
        );
        assert!(rounds.iter().flatten().all(|query| !query.trim().is_empty()));
        assert_eq!(rounds, run(&settings, asked, &brings).0);
    }
}

#[test]
fn more_scope_never_means_less_research() {
    let mut seeded = Seeded(0x5c0be);
    let settings = Settings::default();
    for _ in 0..2000 {
        let mut asked = seeded.question();
        let mut before: Option<(u32, u32, u32, bool)> = None;
        for scope in [Scope::Tiny, Scope::Normal, Scope::Large] {
            asked.scope = Some(scope);
            let plan = make_plan(&settings, &asked);
            let now = (plan.rounds, plan.results, plan.pages, plan.depth == SearchDepth::Advanced);
            if let Some(before) = before {
                assert!(
                    now.0 >= before.0
                        && now.1 >= before.1
                        && now.2 >= before.2
                        && now.3 >= before.3
                );
            }
            before = Some(now);
        }
    }
}

fn delegated(context: Option<&str>) -> Question {
    let mut asked = question(" What is a gate? ", "start_deep_research");
    asked.extra.push(("steps".into(), "delegate".into()));
    asked.context = context.map(str::to_owned);
    asked
}

#[test]
fn a_whole_question_is_handed_over_once() {
    for (context, input) in [
        (None, "What is a gate?"),
        (Some(" "), "What is a gate?"),
        (Some("We dive.\n"), "What is a gate?\n\nContext:\nWe dive."),
    ] {
        let mut asked = delegated(context);
        // What the report cost is known only when it is there.
        asked.max_cost_usd = Some(1.0);
        let dear = Brings { cost: 5.0, ..NOTHING };
        let (handed, reason, note) = run(&Settings::default(), asked, &[dear]);
        assert_eq!(handed, [[input]]);
        assert_eq!((reason, note), (StopReason::Other("reported".to_owned()), None));
    }
}

#[test]
fn what_a_research_backend_failed_at_is_not_paid_for_again() {
    for kind in [
        ErrorKind::Unavailable,
        ErrorKind::Auth,
        ErrorKind::RateLimited(Some(1)),
        ErrorKind::Other("empty-answer".into()),
    ] {
        let fails = Brings { error: Some(kind), ..NOTHING };
        let (handed, reason, note) = run(&Settings::default(), delegated(None), &[fails]);
        assert_eq!(handed.len(), 1);
        assert_eq!(reason, StopReason::NothingFound);
        assert_eq!(note.as_deref(), Some("the last round failed: it broke"));
    }
}
