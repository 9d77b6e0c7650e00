//! The time of day, as it is stored with results.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in UTC: `2026-11-18T01:53:15.123456Z`. Texts of this form sort like the times.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    text(since.as_secs(), since.subsec_micros())
}

fn text(seconds: u64, micros: u32) -> String {
    // The calendar in which years begin in March, so that leap days are last.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let [hour, minute, second] = [seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
    format!("{year}-{month:02}-{of_month:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000007Z"),
            (951_782_399, "2000-02-28T23:59:59.000007Z"),
            (951_782_400, "2000-02-29T00:00:00.000007Z"),
            (1_794_753_096, "2026-11-15T14:31:36.000007Z"),
        ] {
            assert_eq!(text(seconds, 7), expected);
        }
    }
}
