//! Random numbers from a seed: the same choices again for whoever looks for a bug.
//! What the machine makes of them, in which moment, is another matter.

use std::time::Duration;

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0, and less than this.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True so many times of a hundred.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// At most this long.
    pub fn within(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.below(most.as_micros() as usize + 1) as u64)
    }
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    let choices = |seed| {
        let mut random = Random::new(seed);
        (0..50).map(|_| random.below(1000)).collect::<Vec<_>>()
    };
    assert_eq!(choices(7), choices(7));
    assert_ne!(choices(7), choices(8));
}
