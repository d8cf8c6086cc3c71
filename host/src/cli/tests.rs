//! Whole commands against a desk that only these tests have.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::desk::{Checkup, ConfigListing, PluginSummary};
use super::terminal::Look;
use super::terminal::tests::captured;
use super::*;
use crate::plugins::contract::{Passage, Preparation, Question, Scope};
use crate::report::tests as outcomes;
use crate::tasks::views::{ResearchStatus, Started};
use crate::tasks::{
    Cancellation, Costs, CostsBy, Estimate, Estimates, Event, Outcome, Subject, TaskRequest,
    TaskStatus, TaskSummary,
};

/// Answers with what a test gives it, and remembers what it was asked.
struct Fake {
    answer: Result<Outcome, ErrorReport>,
    asked: Mutex<Vec<TaskRequest>>,
}

impl Fake {
    fn new(answer: Result<Outcome, ErrorReport>) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::new(Vec::new()) })
    }
}

fn unavailable() -> ErrorReport {
    ErrorReport {
        code: "NOT_FOUND".to_owned(),
        message: "no task has an id that begins with 0199".to_owned(),
        hint: Some("`bathysphere history` lists them".to_owned()),
    }
}

fn question_of(request: &TaskRequest) -> &Question {
    match &request.subject {
        Subject::Question(question) => question,
        Subject::Task { id, .. } => panic!("asked to go on with {id}"),
    }
}

#[async_trait]
impl Desk for Fake {
    async fn run(
        &self,
        request: TaskRequest,
        events: UnboundedSender<Event>,
        _: CancellationToken,
    ) -> Result<Outcome, ErrorReport> {
        self.asked.lock().unwrap().push(request);
        let preparation = Preparation { items: 3, updated: 3, ..Preparation::default() };
        events
            .send(Event::Prepared { plugin: "search-documents".to_owned(), preparation })
            .unwrap();
        self.answer.clone()
    }

    async fn passages(
        &self,
        query: String,
        limit: u32,
        _: UnboundedSender<Event>,
        _: CancellationToken,
    ) -> Result<Vec<Passage>, ErrorReport> {
        if query == "nothing" {
            return Ok(Vec::new());
        }
        let source = outcomes::source("notes/tides.md", (12, 14), "Tides", "Tides › Spring tides");
        Ok(vec![Passage { source, text: format!("{query} and {limit}"), score: 1.0 }])
    }

    async fn history(
        &self,
        _: Option<String>,
        _: u32,
        _: Option<TaskStatus>,
    ) -> Result<Vec<TaskSummary>, ErrorReport> {
        Ok(Vec::new())
    }

    async fn estimate(&self, tool: &str, question: Question) -> Result<Estimate, ErrorReport> {
        let request = TaskRequest::new(tool, question);
        self.asked.lock().unwrap().push(request);
        Ok(estimate::tests::estimate())
    }

    async fn costs(
        &self,
        by: CostsBy,
        since: Option<Timestamp>,
        _: TimeZone,
    ) -> Result<Costs, ErrorReport> {
        let mut costs = costs::tests::costs(by);
        costs.since = since.map(|since| since.to_string());
        // Longer ago than anything was spent.
        if since.is_some_and(|since| since.to_string().as_str() > "2900") {
            costs.rows.clear();
        }
        Ok(costs)
    }

    async fn estimates(&self, _: u32) -> Result<Estimates, ErrorReport> {
        Ok(costs::tests::estimates())
    }

    async fn outcome(&self, id: &str) -> Result<Outcome, ErrorReport> {
        if outcomes::found().id.starts_with(id) { self.answer.clone() } else { Err(unavailable()) }
    }

    fn handoff(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }

    fn started(&self, _: &Outcome) -> Result<Started, ErrorReport> {
        Err(unavailable())
    }

    async fn status(&self, _: &str) -> Result<ResearchStatus, ErrorReport> {
        Err(unavailable())
    }

    async fn cancel(&self, _: &str, _: bool) -> Result<Cancellation, ErrorReport> {
        Err(unavailable())
    }

    async fn adopt(&self, id: &str, _: &str) -> Result<String, ErrorReport> {
        Ok(id.to_owned())
    }

    async fn retry(&self, id: &str) -> Result<String, ErrorReport> {
        Ok(id.to_owned())
    }

    async fn work(&self, _: bool, _: CancellationToken) -> Result<(), ErrorReport> {
        Ok(())
    }

    async fn tell(&self, _: &str) -> Result<bool, ErrorReport> {
        Ok(true)
    }

    fn config_directory(&self) -> Result<PathBuf, ErrorReport> {
        Ok(PathBuf::from("there/is/none"))
    }

    async fn plugins(&self) -> Result<Vec<PluginSummary>, ErrorReport> {
        Ok(vec![plugin::tests::documents()])
    }

    async fn config(&self) -> Result<ConfigListing, ErrorReport> {
        Err(unavailable())
    }

    async fn checkup(&self) -> Checkup {
        Checkup {
            configuration: Err(unavailable()),
            plugins: Vec::new(),
            directories: Vec::new(),
            documents: Vec::new(),
            notification: desk::Notification::default(),
        }
    }

    async fn serve(&self, _: CancellationToken) -> Result<(), ErrorReport> {
        Ok(())
    }
}

struct Ran {
    code: u8,
    printed: String,
    said: String,
}

async fn ran(desk: &Arc<Fake>, line: &[&str], stdin: &str) -> Ran {
    let arguments =
        std::iter::once("bathysphere").chain(line.iter().copied()).map(OsString::from).collect();
    let arguments = help::parse(arguments).unwrap();
    let (mut terminal, printed, said) = captured(Look::default());
    terminal.quiet = arguments.global.quiet;
    let desk = Arc::clone(desk);
    let code = carry_out(arguments, |_| desk, &mut terminal, &mut stdin.as_bytes()).await;
    Ran { code, printed: printed.text(), said: said.text() }
}

#[tokio::test]
async fn research_prints_the_report_and_tells_how_it_went() {
    let desk = Fake::new(Ok(outcomes::found()));
    let ran = ran(
        &desk,
        &["research", "--scope", "large", "--max-rounds", "2", "--context", "sailing", " why? "],
        "",
    )
    .await;
    assert_eq!(ran.code, 0);
    assert_eq!(ran.printed, crate::report::render_markdown(&outcomes::found()));
    insta::assert_snapshot!(ran.said, @r"
    [INFO] search-documents: 3 documents ready (3 read)
    done in 0.4 s · 2 rounds · 4 findings from 3 files · saved as 0198c2f4 (bathysphere show 0198c2f4)
    ");
    let asked = desk.asked.lock().unwrap();
    let [request] = asked.as_slice() else { panic!("asked once") };
    assert_eq!(request.tool, "research");
    let question = question_of(request);
    assert_eq!(question.text, "why?");
    assert_eq!(question.scope, Some(Scope::Large));
    assert_eq!(question.max_rounds, Some(2));
    assert_eq!(question.context.as_deref(), Some("sailing"));
}

#[tokio::test]
async fn each_way_of_asking_is_a_tool_of_its_own() {
    let desk = Fake::new(Ok(outcomes::written()));
    for (line, tool) in [
        (&["search", "why?", "--max-results", "3"][..], "search"),
        (&["deep-search", "why?", "--max-iterations", "3", "--scope", "tiny"], "deep_search"),
        (&["deep-research", "why?", "--context", "sailing"], "deep_research"),
    ] {
        let ran = ran(&desk, line, "").await;
        assert_eq!(ran.code, 0, "{}", ran.said);
        assert_eq!(ran.printed, crate::report::render_markdown(&outcomes::written()));
        assert!(ran.said.contains("a verified report from 3 sources"), "{}", ran.said);
        let asked = desk.asked.lock().unwrap().pop().unwrap();
        assert_eq!(asked.tool, tool);
        assert!(asked.max_wait.is_none(), "whoever sits at the terminal waits");
        let question = question_of(&asked);
        assert_eq!(question.text, "why?");
        assert_eq!(question.max_rounds, (tool == "deep_search").then_some(3));
        assert_eq!(question.context.is_some(), tool == "deep_research");
        assert_eq!(!question.extra.is_empty(), tool == "search");
    }
}

#[tokio::test]
async fn a_task_that_was_left_is_gone_on_with() {
    let desk = Fake::new(Ok(outcomes::written()));
    let line = ["deep-search", "--resume", "0198C2F4", "--max-iterations", "7"];
    assert_eq!(ran(&desk, &line, "").await.code, 0);
    let asked = desk.asked.lock().unwrap().pop().unwrap();
    let Subject::Task { id, max_rounds } = asked.subject else { panic!("a task") };
    assert_eq!((id.as_str(), max_rounds), ("0198c2f4", Some(7)));

    let cancelled = Fake::new(Ok(outcomes::cancelled()));
    let line = ["deep-search", "why?", "--docs", "."];
    let ran = ran(&cancelled, &line, "").await;
    assert_eq!(ran.code, 130);
    let last = ran.said.lines().last().unwrap();
    assert_eq!(last, "to go on: bathysphere deep-search --resume 0198c2f4 --docs .");
}

#[tokio::test]
async fn the_json_of_a_tool_is_what_its_clients_get() {
    for command in ["search", "deep-search", "deep-research"] {
        let desk = Fake::new(Ok(outcomes::written()));
        let found = ran(&desk, &[command, "--json", "why?"], "").await;
        let value: serde_json::Value = serde_json::from_str(&found.printed).unwrap();
        let answer = Answer::of_outcome(&outcomes::written());
        assert_eq!(value, serde_json::to_value(answer).unwrap());

        let failed = ran(&Fake::new(Err(unavailable())), &[command, "--json", "why?"], "").await;
        let value: serde_json::Value = serde_json::from_str(&failed.printed).unwrap();
        assert_eq!(value["success"], false);
        assert_eq!(value["error"]["code"], "NOT_FOUND");
    }
}

#[tokio::test]
async fn a_question_may_come_from_stdin() {
    let desk = Fake::new(Ok(outcomes::found()));
    assert_eq!(ran(&desk, &["research", "-q", "-"], "from stdin\n").await.said, "");
    assert_eq!(question_of(&desk.asked.lock().unwrap()[0]).text, "from stdin");
}

#[tokio::test]
async fn how_it_ended_decides_the_exit_code() {
    let cancelled = ran(&Fake::new(Ok(outcomes::cancelled())), &["research", "why?"], "").await;
    assert_eq!(cancelled.code, 130);
    assert!(cancelled.printed.contains("**Cancelled**"), "what was found is printed");
    assert!(
        cancelled
            .said
            .contains("cancelled after 0.4 s · 1 round · 2 findings from 1 file · kept as")
    );

    let failed = ran(&Fake::new(Ok(outcomes::failed())), &["research", "why?"], "").await;
    assert_eq!(failed.code, 1);
    assert_eq!(failed.printed, "");
    insta::assert_snapshot!(failed.said, @r"
    [INFO] search-documents: 3 documents ready (3 read)
    error: search-documents: the index is locked
    hint: try again when the other process is done
    failed after 0.4 s · 1 round · nothing found · kept as 0198c2f4 (bathysphere show 0198c2f4)
    to go on: bathysphere deep-search --resume 0198c2f4
    ");

    let nothing = ran(&Fake::new(Ok(outcomes::nothing_found())), &["research", "why?"], "").await;
    assert_eq!(nothing.code, 0);

    let error = ran(&Fake::new(Err(unavailable())), &["research", "why?"], "").await;
    assert_eq!(error.code, 1);
}

#[tokio::test]
async fn wrong_input_starts_nothing() {
    let desk = Fake::new(Ok(outcomes::found()));
    let long = "a".repeat(1_000_000);
    let lines: &[(&[&str], &str)] = &[
        (&["research", ""], ""),
        (&["research", "-"], &long),
        (&["research", "--docs", "no/such/directory", "why?"], ""),
        (&["research", "--output", "no/such/directory/report.md", "why?"], ""),
        (&["search", "  "], ""),
        (&["find", "  "], ""),
        (&["deep-search", ""], ""),
        (&["deep-search", "--resume", "latest"], ""),
        (&["show", "latest"], ""),
    ];
    let mut shown = String::new();
    for (line, stdin) in lines {
        let ran = ran(&desk, line, stdin).await;
        assert_eq!((ran.code, ran.printed.as_str()), (2, ""), "{line:?}");
        let _ = writeln!(shown, "$ bathysphere {}\n{}", line.join(" "), ran.said);
    }
    assert!(desk.asked.lock().unwrap().is_empty());
    insta::assert_snapshot!(shown);
}

#[tokio::test]
async fn json_is_json_whatever_happens() {
    let found = ran(&Fake::new(Ok(outcomes::found())), &["research", "--json", "why?"], "").await;
    let outcome: Outcome = serde_json::from_str(&found.printed).unwrap();
    assert_eq!(outcome.findings.len(), 4);

    let failed = ran(&Fake::new(Err(unavailable())), &["research", "--json", "why?"], "").await;
    let value: serde_json::Value = serde_json::from_str(&failed.printed).unwrap();
    assert_eq!(value["error"]["code"], "NOT_FOUND");
    assert_eq!(failed.code, 1);
    assert!(failed.said.contains("error: no task has an id"));

    let hits =
        ran(&Fake::new(Ok(outcomes::found())), &["find", "--json", "--limit", "3", "tides"], "")
            .await;
    let value: serde_json::Value = serde_json::from_str(&hits.printed).unwrap();
    assert_eq!(value["hits"][0]["text"], "tides and 3");
}

#[tokio::test]
async fn a_report_goes_to_the_file_that_was_named() {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("report.md");
    let line = ["research", "why?", "--output", path.to_str().unwrap()];
    let ran = ran(&Fake::new(Ok(outcomes::found())), &line, "").await;
    assert_eq!((ran.code, ran.printed.as_str()), (0, ""));
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        crate::report::render_markdown(&outcomes::found())
    );
    assert!(ran.said.contains("report written to"));
}

#[tokio::test]
async fn show_finds_by_prefix_or_says_so() {
    let desk = Fake::new(Ok(outcomes::found()));
    let shown = ran(&desk, &["show", "0198C2F4-7a1b"], "").await;
    assert!(shown.printed.starts_with("# When do spring tides"));
    let missing = ran(&desk, &["show", "0199"], "").await;
    assert_eq!(missing.code, 1);
    assert_eq!(
        missing.said,
        "error: no task has an id that begins with 0199\nhint: `bathysphere history` lists them\n"
    );
}

#[tokio::test]
async fn a_report_can_be_shown_as_a_page() {
    let desk = Fake::new(Ok(outcomes::researched()));
    let shown = ran(&desk, &["show", "0198c2f4", "--format", "html"], "").await;
    assert_eq!((shown.code, shown.said.as_str()), (0, ""));
    assert!(shown.printed.starts_with("<!doctype html>\n"), "{}", shown.printed);
    let shown = ran(&desk, &["show", "0198c2f4", "--format", "md"], "").await;
    assert_eq!(shown.printed, crate::report::render_markdown(&outcomes::researched()));
}

#[tokio::test]
async fn save_prints_where_the_report_is() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("reports");
    let at = directory.to_str().unwrap();
    let desk = Fake::new(Ok(outcomes::researched()));
    let saved = ran(&desk, &["save", "0198c2f4", "--output-dir", at], "").await;
    assert_eq!(saved.code, 0, "{}", saved.said);
    let text = std::fs::read_to_string(saved.printed.trim_end()).unwrap();
    assert!(text.starts_with("---\ntask_id: ") && text.contains("\n## Sources\n"), "{text}");
    assert!(saved.said.starts_with("saved (") && saved.said.ends_with(" KB)\n"), "{}", saved.said);

    let line = [
        "save-research-to-markdown",
        "0198c2f4",
        "--output-dir",
        at,
        "--prefix",
        "../tides",
        "--no-metadata",
        "--no-sources",
        "--json",
    ];
    let saved = ran(&desk, &line, "").await;
    let value: serde_json::Value = serde_json::from_str(&saved.printed).unwrap();
    assert_eq!((saved.code, &value["success"]), (0, &true.into()));
    assert!(value["filename"].as_str().unwrap().starts_with("tides_0198c2f4-"));
    let text = std::fs::read_to_string(value["file_path"].as_str().unwrap()).unwrap();
    assert!(text.starts_with("# What is") && !text.contains("## Sources"), "{text}");

    let saved = ran(&desk, &["save", "0198c2f4", "--output-dir", at, "--format", "html"], "").await;
    assert!(saved.printed.ends_with(".html\n"), "{}", saved.printed);
}

#[tokio::test]
async fn what_cannot_be_saved_is_said() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let line = ["save", "0198c2f4", "--output-dir", file.to_str().unwrap()];
    let refused = ran(&Fake::new(Ok(outcomes::researched())), &line, "").await;
    assert_eq!((refused.code, refused.printed.as_str()), (2, ""));
    assert!(refused.said.contains("file: it is not a directory\nhint: "), "{}", refused.said);

    let running = Fake::new(Ok(outcomes::ended_midway(TaskStatus::Running)));
    let early = ran(&running, &["save", "0198c2f4", "--json"], "").await;
    assert_eq!(
        early.said,
        "error: the research 0198c2f4 is not completed: its status is running_async\n\
         hint: wait until it is completed, then save it\n"
    );
    let value: serde_json::Value = serde_json::from_str(&early.printed).unwrap();
    assert_eq!((early.code, &value["success"]), (1, &false.into()));
    assert_eq!(value["error"]["code"], "NOT_COMPLETED");
    assert_eq!(ran(&running, &["save", "0199"], "").await.code, 1);
    assert_eq!(ran(&running, &["save", "latest"], "").await.code, 2);
}

#[tokio::test]
async fn what_is_empty_is_said_on_stderr() {
    let desk = Fake::new(Ok(outcomes::found()));
    let history = ran(&desk, &["history"], "").await;
    assert_eq!((history.code, history.printed.as_str()), (0, ""));
    assert!(history.said.starts_with("nothing yet"));
    assert_eq!(ran(&desk, &["history", "--json"], "").await.printed, "[]\n");
    let find = ran(&desk, &["find", "nothing"], "").await;
    assert_eq!((find.code, find.printed.as_str()), (0, ""));
    assert!(find.said.starts_with("nothing matches"));
}

#[tokio::test]
async fn an_estimate_starts_nothing_and_names_the_agent() {
    let desk = Fake::new(Ok(outcomes::found()));
    let line = ["estimate-research-cost", "--model", "deep-research-max", "-"];
    let told = ran(&desk, &line, "why?\n").await;
    assert_eq!((told.code, told.said.as_str()), (0, ""));
    assert!(told.printed.contains("$1.03 to $3.11, likely $2.07"), "{}", told.printed);
    let asked = desk.asked.lock().unwrap().pop().unwrap();
    assert_eq!(asked.tool, "start_deep_research");
    let question = question_of(&asked);
    assert_eq!(question.text, "why?");
    assert_eq!(question.extra, [("model".to_owned(), "deep-research-max".to_owned())]);
    let json = ran(&desk, &["estimate", "--json", "why?"], "").await;
    let value: serde_json::Value = serde_json::from_str(&json.printed).unwrap();
    assert_eq!(value["estimated_cost"]["likely_usd"], 2.07);
    assert_eq!(ran(&desk, &["estimate", " "], "").await.code, 2);
}

#[tokio::test]
async fn costs_are_data_and_how_the_budget_stands_is_talk() {
    let desk = Fake::new(Ok(outcomes::found()));
    let told = ran(&desk, &["costs"], "").await;
    assert!(told.printed.starts_with("DAY "), "{}", told.printed);
    assert!(told.said.contains("today: $2.07 of $10.00 spent"), "{}", told.said);
    let json = ran(&desk, &["costs", "--by", "task", "--json", "--since", "all"], "").await;
    let value: serde_json::Value = serde_json::from_str(&json.printed).unwrap();
    assert_eq!(value["by"], "task");
    assert_eq!(value["rows"][0]["cost_usd"], 2.0716);
    assert!(value.get("since").is_none(), "{value}");
    let nothing = ran(&desk, &["costs", "--since", "2999-01-01"], "").await;
    assert_eq!(nothing.printed, "");
    assert!(nothing.said.starts_with("nothing was spent"), "{}", nothing.said);
    let worth = ran(&desk, &["costs", "--estimates"], "").await;
    assert!(worth.said.contains("time 2 of 3 (67%), cost 1 of 2 (50%)"), "{}", worth.said);
}

#[tokio::test]
async fn doctor_fails_when_what_is_configured_is_broken() {
    let ran = ran(&Fake::new(Ok(outcomes::found())), &["doctor"], "").await;
    assert_eq!(ran.code, 1);
    assert!(ran.printed.contains("broken"), "{}", ran.printed);
}

#[test]
fn help_is_data_and_a_refusal_is_talk() {
    let parsed =
        |line: &[&str]| help::parse(line.iter().map(OsString::from).collect()).unwrap_err();
    let (mut terminal, printed, said) = captured(Look::default());
    assert_eq!(refuse(&parsed(&["bathysphere", "search", "--help"]), &mut terminal), 0);
    assert!(printed.text().contains("Examples:") && said.text().is_empty());

    let (mut terminal, printed, said) = captured(Look::default());
    assert_eq!(refuse(&parsed(&["bathysphere", "research", "two", "words"]), &mut terminal), 2);
    assert!(printed.text().is_empty());
    assert!(said.text().ends_with("such as \"how are snapshots stored?\"\n"), "{}", said.text());
}

#[test]
fn every_end_has_its_exit_code() {
    let (mut terminal, _, said) = captured(Look::default());
    assert_eq!(exit_code(Err(Stop::PipeClosed), &mut terminal), 0);
    assert_eq!(said.text(), "", "a reader that has enough is no error");
    for (code, expected) in [("INVALID_INPUT", 2), ("CANCELLED", 130), ("NOT_FOUND", 1)] {
        let report = ErrorReport { code: code.to_owned(), ..unavailable() };
        assert_eq!(exit_code(Err(Stop::Error(report)), &mut terminal), expected, "{code}");
    }
}

#[tokio::test]
async fn every_command_with_json_fails_in_json() {
    let desk = Fake::new(Ok(outcomes::found()));
    let json = ran(&desk, &["config", "--json"], "").await;
    let value: serde_json::Value = serde_json::from_str(&json.printed).unwrap();
    assert_eq!((json.code, &value["error"]["code"]), (1, &serde_json::json!("NOT_FOUND")));
}
