//! Moments in statements, and the moments that they mean.
//!
//! A TIMESTAMP column holds a moment, and the binlog has it in UTC. A statement writes and compares it as the clock shows it in the
//! session's time zone. Where the zone always has the same distance from UTC, the moment is found by adding a number. Named zones have
//! hours that occur twice: there, one time of the clock means two moments.

use freshet_sql::Datum;

/// A session's time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Zone {
    /// The zone is not known, or its distance from UTC is not always the same.
    #[default]
    Other,
    /// The clock is always this many seconds ahead of UTC.
    Fixed(i32),
}

/// The greatest distance that the servers accept, in hours and minutes.
const OFFSET_MAX: (i32, i32) = (14, 0);

impl Zone {
    /// UTC.
    pub const UTC: Self = Self::Fixed(0);

    /// Returns the zone of this name, if it is a distance: `+05:30`. Any other zone is not fixed. No named zone begins with a sign.
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        Self::of_distance(name).map_or(Self::Other, Self::Fixed)
    }

    fn of_distance(name: &str) -> Option<i32> {
        let (sign, distance) = match name.split_at_checked(1)? {
            ("+", distance) => (1, distance),
            ("-", distance) => (-1, distance),
            _ => return None,
        };
        let (hours, minutes) = distance.split_once(':')?;
        let number = |part: &str| {
            let is_number = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| part.parse::<i32>().ok()).flatten()
        };
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let is_taken = minutes < 60 && (hours, minutes) <= OFFSET_MAX;
        is_taken.then_some(sign * (hours * 60 + minutes) * 60)
    }

    /// Whether moments can be told in this zone.
    #[must_use]
    pub const fn is_fixed(self) -> bool {
        matches!(self, Self::Fixed(_))
    }
}

/// The parameters and the time zone with which a statement was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    /// The values of its parameters, in their order.
    pub parameters: &'a [Datum],
    /// The time zone of its moments.
    pub zone: Zone,
}

impl<'a> Values<'a> {
    /// Returns a parameter's value, or the literal itself.
    pub fn of(self, datum: &'a Datum) -> Option<&'a Datum> {
        match datum {
            Datum::Param(number) => self.parameters.get(usize::from(*number)),
            literal => Some(literal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Zone;

    #[test]
    fn distances_are_zones_and_names_are_not() {
        assert_eq!(Zone::of_name("+00:00"), Zone::UTC);
        assert_eq!(Zone::of_name("-00:00"), Zone::UTC);
        assert_eq!(Zone::of_name("+05:30"), Zone::Fixed(19_800));
        assert_eq!(Zone::of_name("-13:59"), Zone::Fixed(-50_340));
        assert_eq!(Zone::of_name("+14:00"), Zone::Fixed(50_400));
        for name in [
            "",
            "+",
            "UTC",
            "SYSTEM",
            "Europe/Berlin",
            "+14:01",
            "+1:00",
            "+01:60",
            "+01",
            "+01:00:00",
            "01:00",
            "+0a:00",
            "é",
        ] {
            assert_eq!(Zone::of_name(name), Zone::Other, "{name}");
        }
    }
}
