//! Which past runs are like the one that is asked about: the same model, the same
//! plan, the same complexity; fewer of these where too few runs have them all.

use bathysphere_sdk::estimator::PastRun;
use bathysphere_sdk::types::{Plan, Question};

use crate::complexity::Complexity;
use crate::extra;
use crate::interval::is_sound;
use crate::settings::Settings;

/// Past runs, and what they have in common with this one.
pub struct Alike<'a> {
    pub runs: Vec<&'a PastRun>,
    pub in_common: &'static str,
    /// There are enough of them to go by.
    pub enough: bool,
}

/// The nearest runs of which there are enough, or else all.
pub fn alike<'a>(
    settings: &Settings,
    question: &Question,
    plan: &Plan,
    complexity: Complexity,
    history: &'a [PastRun],
) -> Alike<'a> {
    let model = extra(&question.extra, "model").or_else(|| extra(&plan.extra, "model"));
    let newest: Vec<Likeness<'a>> = history
        .iter()
        .filter(|run| is_sound(run.seconds))
        .take(settings.max_runs as usize)
        .map(|run| Likeness {
            run,
            model: model.is_none() || extra(&run.plan.extra, "model") == model,
            plan: is_same(&run.plan, plan),
            complexity: Complexity::of_text(settings, &run.question) == complexity,
        })
        .collect();
    let least = settings.min_runs.max(1) as usize;
    let circles: [(&str, IsInside); 4] = [
        ("of the same complexity", |run| run.model && run.plan && run.complexity),
        ("with the same plan", |run| run.model && run.plan),
        ("with the same model", |run| run.model),
        ("of any kind", |_| true),
    ];
    for (in_common, is_inside) in circles {
        let runs: Vec<&PastRun> =
            newest.iter().filter(|run| is_inside(run)).map(|run| run.run).collect();
        if runs.len() >= least {
            return Alike { runs, in_common, enough: true };
        }
    }
    Alike {
        runs: newest.into_iter().map(|run| run.run).collect(),
        in_common: "of any kind",
        enough: false,
    }
}

type IsInside = fn(&Likeness<'_>) -> bool;

struct Likeness<'a> {
    run: &'a PastRun,
    model: bool,
    plan: bool,
    complexity: bool,
}

/// As large a plan.
fn is_same(one: &Plan, other: &Plan) -> bool {
    one.level == other.level
        && one.rounds == other.rounds
        && one.results == other.results
        && one.pages == other.pages
        && one.depth == other.depth
}

/// What they took, in seconds.
pub fn seconds(runs: &[&PastRun]) -> Vec<f64> {
    runs.iter().map(|run| run.seconds).collect()
}

/// What they cost, of those of which it is known.
pub fn costs(runs: &[&PastRun]) -> Vec<f64> {
    runs.iter().filter_map(|run| run.usage.cost_usd).filter(|cost| is_sound(*cost)).collect()
}
