//! The starts that are under way in this process: sent to a vendor, and the answer
//! not yet written down. Whoever ends the process waits for them, because a start
//! that is cut off is one whose fate nobody knows.

use std::time::Duration;

use tokio::sync::watch;

/// Counts them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Starts(watch::Sender<usize>);

impl Default for Starts {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

/// One that is under way, until it is dropped.
pub struct Starting(watch::Sender<usize>);

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Starts {
    pub(super) fn begin(&self) -> Starting {
        self.0.send_modify(|count| *count += 1);
        Starting(self.0.clone())
    }

    /// Waits until none is under way, but no longer than this.
    pub async fn settle(&self, most: Duration) {
        let mut counts = self.0.subscribe();
        let settled = counts.wait_for(|count| *count == 0);
        // Its sender is this one, and is never closed.
        let _ = tokio::time::timeout(most, settled).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_is_waited_for_but_not_for_ever() {
        let starts = Starts::default();
        starts.settle(Duration::from_hours(1)).await;
        let one = starts.begin();
        let begun = tokio::time::Instant::now();
        starts.settle(Duration::from_secs(2)).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(2));
        let ending = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(one);
        };
        tokio::join!(starts.settle(Duration::from_secs(9)), ending);
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
    }
}
