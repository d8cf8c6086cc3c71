//! From the values of past runs to a range in which the next one will lie four
//! times out of five, and how often such ranges would have held before.
//!
//! With enough runs the range is made of their own ranks: of n values in no
//! particular order, the next lies between the k-th smallest and the k-th largest
//! with a chance of (n + 1 - 2k) / (n + 1), whatever they are spread like. Below
//! nine runs even the smallest and the largest are not enough; the range is then
//! widened by how much the runs differ, as for values whose logarithms are spread
//! like a bell, because times and costs are never negative and long on one side.

/// Low ≤ likely ≤ high, none of them negative.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    pub low: f64,
    pub likely: f64,
    pub high: f64,
}

/// The share of values that may lie below the range, and above it.
const TAIL: f64 = 0.1;

/// Below it, ranks alone cannot give the range.
const ENOUGH_FOR_RANKS: usize = 9;

/// What one value in ten exceeds, by how many differences were seen: Student's t.
const STUDENT: [f64; 8] = [3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397];

/// Smaller than any time or cost worth telling.
const TINY: f64 = 1e-6;

/// Larger is no time and no cost.
const HUGE: f64 = 1e12;

/// A range wider than this, to either side, tells nothing more.
const WIDEST: f64 = 20.0;

impl Interval {
    /// In order, whatever is given.
    pub fn new(low: f64, likely: f64, high: f64) -> Self {
        let sound = |value: f64| if value.is_nan() { 0.0 } else { value.clamp(0.0, HUGE) };
        let likely = sound(likely);
        Self { low: sound(low).min(likely), likely, high: sound(high).max(likely) }
    }

    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Both together, likely what `other` finds likely.
    pub fn widened_to(self, other: Self) -> Self {
        Self::new(self.low.min(other.low), other.likely, self.high.max(other.high))
    }

    /// Nothing above this.
    pub fn capped(self, most: f64) -> Self {
        if most.is_nan() || most < 0.0 {
            return self;
        }
        Self::new(self.low.min(most), self.likely.min(most), self.high.min(most))
    }

    /// From past values, of which there is at least one. `min_width` is the share
    /// below and above the middle that it reaches at least.
    pub fn of_values(values: &[f64], min_width: f64) -> Self {
        let mut sorted: Vec<f64> =
            values.iter().copied().filter(|value| is_sound(*value)).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let middle = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
        let (low, high) = if count >= ENOUGH_FOR_RANKS {
            let below = (TAIL * (count + 1) as f64).floor() as usize;
            (sorted[below - 1], sorted[count - below])
        } else {
            let factor = widening(&sorted);
            ((middle / factor).min(*first), (middle * factor).max(*last))
        };
        let share = min_width.clamp(0.0, 1.0);
        Self::new(low.min(middle * (1.0 - share)), middle, high.max(middle * (1.0 + share)))
    }
}

pub fn is_sound(value: f64) -> bool {
    value.is_finite() && (0.0..=HUGE).contains(&value)
}

/// By how much a few values must be widened, as a factor.
fn widening(sorted: &[f64]) -> f64 {
    let count = sorted.len() as f64;
    if sorted.len() < 2 {
        // One run tells where, and nothing of how far.
        return 2.0;
    }
    let logarithms: Vec<f64> = sorted.iter().map(|value| value.max(TINY).ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / count;
    let variance =
        logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let student = STUDENT[(sorted.len() - 2).min(STUDENT.len() - 1)];
    (student * variance.sqrt() * (1.0 + 1.0 / count).sqrt()).exp().min(WIDEST)
}

/// How often the range made of all other runs would have held the one left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    pub held: usize,
    pub of: usize,
}

impl Coverage {
    /// Of past values; none where the others are too few to make a range of.
    pub fn of_values(values: &[f64], min_width: f64, least: usize) -> Self {
        let sound: Vec<f64> = values.iter().copied().filter(|value| is_sound(*value)).collect();
        if sound.len() <= least {
            return Self::default();
        }
        let held = (0..sound.len())
            .filter(|left_out| {
                let mut others = sound.clone();
                let actual = others.remove(*left_out);
                Interval::of_values(&others, min_width).holds(actual)
            })
            .count();
        Self { held, of: sound.len() }
    }
}

/// As in `17 of 20`.
impl std::fmt::Display for Coverage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} of {}", self.held, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same numbers every time, spread evenly below 1.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Skewed as times are: the logarithm is spread like a bell.
        fn time(&mut self) -> f64 {
            let bell: f64 = (0..12).map(|_| self.roll()).sum::<f64>() - 6.0;
            600.0 * (0.5 * bell).exp()
        }
    }

    #[test]
    fn the_next_value_lies_inside_four_times_out_of_five() {
        let mut dice = Dice(7);
        for count in [3, 5, 8, 9, 12, 19, 40, 100] {
            let mut held = 0;
            for _ in 0..2000 {
                let values: Vec<f64> = (0..count).map(|_| dice.time()).collect();
                held += u32::from(Interval::of_values(&values, 0.0).holds(dice.time()));
            }
            let share = f64::from(held) / 2000.0;
            assert!((0.76..=0.93).contains(&share), "{count} runs: {share}");
        }
    }

    #[test]
    fn coverage_is_what_leaving_one_out_shows() {
        let mut dice = Dice(11);
        let values: Vec<f64> = (0..100).map(|_| dice.time()).collect();
        let coverage = Coverage::of_values(&values, 0.05, 3);
        assert_eq!(coverage.of, 100);
        assert!((74..=88).contains(&coverage.held), "{coverage}");
        // The one that is unlike all others is never held.
        let odd = [10.0, 10.1, 10.2, 9.9, 10.0, 500.0];
        assert_eq!(Coverage::of_values(&odd, 0.05, 3).to_string(), "5 of 6");
        assert_eq!(Coverage::of_values(&odd[..3], 0.05, 3), Coverage::default());
    }

    #[test]
    fn alike_runs_give_a_narrow_range() {
        let interval = Interval::of_values(&[60.0; 4], 0.05);
        assert_eq!(interval, Interval { low: 57.0, likely: 60.0, high: 63.0 });
        let interval = Interval::of_values(&[60.0; 50], 0.05);
        assert_eq!(interval, Interval { low: 57.0, likely: 60.0, high: 63.0 });
        assert_eq!(Interval::of_values(&[0.0; 5], 0.05), Interval::default());
    }

    #[test]
    fn fewer_runs_give_a_wider_range() {
        let few = Interval::of_values(&[50.0, 100.0, 200.0], 0.0);
        let more = Interval::of_values(&[50.0, 100.0, 200.0].repeat(2), 0.0);
        assert!(few.low < more.low && few.high > more.high, "{few:?} {more:?}");
        assert!(few.low < 50.0 && few.high > 200.0, "{few:?}");
    }

    #[test]
    fn whatever_is_given_the_range_is_in_order() {
        let odd = [
            0.0,
            -0.0,
            1e-300,
            f64::MIN_POSITIVE,
            1.0,
            1e300,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            -5.0,
        ];
        let mut dice = Dice(3);
        for count in 0..60 {
            let values: Vec<f64> =
                (0..count).map(|_| odd[(dice.roll() * odd.len() as f64) as usize]).collect();
            for width in [0.0, 0.05, 1.0, f64::NAN, f64::INFINITY, -1.0] {
                let range = Interval::of_values(&values, if width.is_nan() { 0.0 } else { width });
                assert!(
                    0.0 <= range.low && range.low <= range.likely && range.likely <= range.high,
                    "{values:?}: {range:?}"
                );
                assert!(range.high.is_finite());
            }
            let coverage = Coverage::of_values(&values, 0.05, 3);
            assert!(coverage.held <= coverage.of);
        }
        assert_eq!(Interval::new(f64::NAN, f64::NAN, f64::NAN), Interval::default());
        assert_eq!(Interval::new(9.0, 5.0, 1.0), Interval { low: 5.0, likely: 5.0, high: 5.0 });
    }

    #[test]
    fn a_cap_holds_for_all_of_it() {
        let range = Interval::new(1.0, 2.0, 3.0);
        assert_eq!(range.capped(2.5), Interval { low: 1.0, likely: 2.0, high: 2.5 });
        assert_eq!(range.capped(0.5), Interval { low: 0.5, likely: 0.5, high: 0.5 });
        assert_eq!(range.capped(f64::NAN), range);
        assert_eq!(range.capped(-1.0), range);
    }
}
