//! The share of draws that falls on the most drawn keys. No cache of that many keys can have a higher share of hits for long.

use crate::keys::{Distribution, Draw, Rest};

/// The mean of twelve even draws spreads by this share of the whole range.
const DEVIATION: f64 = 1.0 / 12.0;

/// Returns the share of draws, from 0 to 1, that falls on the `share` of the keys that are drawn most.
pub fn hits(draw: &Draw, keys: u32, share: f64) -> f64 {
    let mut weights = weights(draw, keys);
    weights.sort_by(|one, other| other.total_cmp(one));
    let most = ((f64::from(keys) * share) as usize).min(weights.len());
    weights.iter().take(most).sum()
}

/// Returns the probability of each key. The sum of all is 1.
fn weights(draw: &Draw, keys: u32) -> Vec<f64> {
    let even = 1.0 / f64::from(keys);
    if draw.distribution == Distribution::Uniform {
        return vec![even; keys as usize];
    }
    if draw.distribution == Distribution::Zipf {
        return normal((1..=keys).map(|key| 1.0 / f64::from(key)).collect());
    }
    let hot = draw.hot(keys);
    let first = (keys - hot) / 2;
    let of_hot = f64::from(draw.hot_draws) / 100.0;
    let rest = match draw.rest {
        Rest::Uniform => vec![even; keys as usize],
        Rest::Gaussian => normal((0..keys).map(|key| bell((f64::from(key) + 0.5) * even)).collect()),
    };
    let add = |(key, rest): (u32, f64)| {
        let is_hot = (first..first + hot).contains(&key);
        rest * (1.0 - of_hot) + if is_hot { of_hot / f64::from(hot) } else { 0.0 }
    };
    (0..keys).zip(rest).map(add).collect()
}

fn bell(at: f64) -> f64 {
    let deviations = (at - 0.5) / DEVIATION;
    (-deviations * deviations / 2.0).exp()
}

fn normal(weights: Vec<f64>) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(distribution: Distribution, hot_keys: f64, rest: Rest) -> Draw {
        Draw { distribution, hot_keys, hot_draws: 75, rest }
    }

    #[test]
    fn the_most_drawn_are_hit_most() {
        for (draw, share, expected) in [
            (draw(Distribution::Uniform, 1.0, Rest::Uniform), 0.3, 0.3),
            (draw(Distribution::Special, 20.0, Rest::Uniform), 0.2, 0.80),
            (draw(Distribution::Special, 20.0, Rest::Uniform), 0.1, 0.40),
            // Of a normal distribution, 77 % lie within 1.2 deviations.
            (draw(Distribution::Special, 20.0, Rest::Gaussian), 0.2, 0.9425),
            (draw(Distribution::Special, 20.0, Rest::Gaussian), 1.6, 1.0),
        ] {
            let hits = hits(&draw, 10_000, share);
            assert!((hits - expected).abs() < 0.005, "{draw:?} {share}: {hits}");
        }
    }
}
