//! What was expected, and what it took.

use super::*;
use crate::store::{CallEnd, NewForecast};

fn forecast(seconds: (f64, f64), cost_usd: (f64, f64)) -> NewForecast {
    NewForecast { complexity: "medium".to_owned(), seconds, cost_usd, runs: 7 }
}

async fn completed(store: &Store, text: &str, duration_ms: u64, cost: Option<f64>) -> Claim {
    let claim = create(store, text).await;
    store.save_forecast(&claim, forecast((1.0, 10.0), (0.1, 1.0))).await.unwrap();
    let number = store.begin_call(&claim, call("answer")).await.unwrap();
    let call = CallEnd {
        outcome: Ok("{}".to_owned()),
        usage: Some(r#"{"input_tokens":5,"output_tokens":2}"#.to_owned()),
        cost_usd: cost,
    };
    store.finish_call(&claim, number, call).await.unwrap();
    store.save_plan(&claim, r#"{"rounds":1}"#.to_owned()).await.unwrap();
    store.save_round(&claim, round(1)).await.unwrap();
    let result = NewResult {
        outcome: format!(r#"{{"duration_ms":{duration_ms}}}"#),
        markdown: String::new(),
    };
    let end = TaskEnd { result: Some(result), ..end(Ending::Completed) };
    store.finish_task(&claim, end).await.unwrap();
    claim
}

#[tokio::test]
async fn forecasts_are_held_against_what_completed_tasks_took() {
    let (_directory, store) = scratch();
    let done = completed(&store, "done", 4500, Some(0.5)).await;
    let unpriced = completed(&store, "unpriced", 60_000, None).await;
    let running = create(&store, "running").await;
    store.save_forecast(&running, forecast((1.0, 2.0), (0.0, 0.0))).await.unwrap();

    let records = store.forecasts(10).await.unwrap();
    assert_eq!(records.len(), 2, "{records:#?}");
    let of = |id: &str| records.iter().find(|record| record.task == id).unwrap();
    let record = of(&done.id);
    assert_eq!((record.tool.as_str(), record.text.as_str()), ("search", "done"));
    assert_eq!(record.forecast, forecast((1.0, 10.0), (0.1, 1.0)));
    assert!((record.actual_seconds - 4.5).abs() < 1e-9);
    assert_eq!(record.actual_cost_usd, Some(0.5));
    assert_eq!(of(&unpriced.id).actual_cost_usd, None);
    assert_eq!(store.forecasts(1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_first_forecast_of_a_task_counts() {
    let (_directory, store) = scratch();
    let claim = create(&store, "twice").await;
    store.save_forecast(&claim, forecast((1.0, 2.0), (0.0, 1.0))).await.unwrap();
    store.save_forecast(&claim, forecast((5.0, 6.0), (5.0, 6.0))).await.unwrap();
    store.finish_task(&claim, end(Ending::Completed)).await.unwrap();
    let record = store.forecasts(10).await.unwrap().remove(0);
    assert_eq!(record.forecast.seconds, (1.0, 2.0));
    // Its result does not tell how long it took.
    assert!((0.0..60.0).contains(&record.actual_seconds), "{record:?}");
    let late = store.save_forecast(&claim, forecast((1.0, 2.0), (0.0, 1.0))).await;
    assert!(late.is_err(), "a task that has ended is not forecast");
}

#[tokio::test]
async fn past_tasks_of_a_tool_come_newest_first_with_what_they_took() {
    let (_directory, store) = scratch();
    completed(&store, "older", 1000, Some(0.25)).await;
    completed(&store, "newer", 2000, None).await;
    create(&store, "running").await;
    let failed = create(&store, "failed").await;
    store.finish_task(&failed, end(Ending::Failed)).await.unwrap();

    let past = store.past_tasks("search", 10).await.unwrap();
    let texts: Vec<&str> = past.iter().map(|task| task.text.as_str()).collect();
    assert_eq!(texts, ["newer", "older"]);
    assert_eq!(past[1].question, r#"{"text":"older"}"#);
    assert_eq!(past[1].plan.as_deref(), Some(r#"{"rounds":1}"#));
    assert_eq!(past[1].rounds, 1);
    assert!((past[1].seconds - 1.0).abs() < 1e-9);
    assert_eq!((past[1].spent.input_tokens, past[1].spent.output_tokens), (5, 2));
    assert!((past[1].spent.cost_usd - 0.25).abs() < 1e-9);
    assert_eq!((past[0].spent.calls, past[0].spent.unpriced), (1, 1));
    assert_eq!(store.past_tasks("search", 1).await.unwrap().len(), 1);
    assert_eq!(store.past_tasks("research", 10).await.unwrap(), []);
}
