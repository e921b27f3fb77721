//! `get_recent_logs`: lines of at most a day, the newest first. RouterOS has no limit, no order and no time zone in its log: all
//! of that is made here.

use super::{
    super::{
        call::RouterCall,
        client::RouterClient,
        rows::KeptRows,
        value::{Kind, typed},
    },
    begun,
};
use base::{clock, error::ToolError};
use serde_json::{Map, Value, json};
use time::{Date, Duration, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// The longest window.
const DAY: Duration = Duration::DAY;

/// # Errors
/// `invalid_argument` for a window that ends before it begins or is longer than a day; see [`super::super::failure`].
pub async fn recent(client: &RouterClient, call: &RouterCall) -> Result<Map<String, Value>, ToolError> {
    let clock = client.get("system/clock").await?;
    let text = |name: &str| clock[name].as_str().unwrap_or_default();
    let offset = offset(text("gmt-offset")).unwrap_or(UtcOffset::UTC);
    // A router whose clock is not understood has times as they are, and no window.
    let now = day(text("date"), None).zip(clock_time(text("time"))).map(|(day, time)| day.with_time(time));
    let (from, until) = window(call, now.map(|now| now.assume_offset(offset)))?;
    let (topics, words) = (call.texts("topics"), call.text("message"));
    // The newest line comes last: as many of the last ones are kept as the page needs.
    let (limit, skipped) = (call.number("limit"), call.number("offset"));
    let read = client.fold("log", None, Lines::default, |lines, row| {
        let field = |name: &str| row[name].as_str().unwrap_or_default();
        let at = now.and_then(|now| moment(field("time"), now)).map(|at| at.assume_offset(offset));
        let in_window = at.is_none_or(|at| from.is_none_or(|from| from <= at) && until.is_none_or(|until| at <= until));
        let of = typed(Kind::List, field("topics"));
        let has = |topic: &String| of.as_array().is_some_and(|all| all.iter().any(|one| *one == topic.as_str()));
        if !(in_window && topics.iter().all(has) && field("message").contains(words)) {
            return Ok(());
        }
        let time = at.map_or_else(|| field("time").to_owned(), clock::stamp);
        lines.total += 1;
        if lines.last.len() >= limit.saturating_add(skipped) {
            lines.last.drop_first();
        }
        let line = json!({ "id": field(".id"), "time": time, "topics": of, "message": field("message") });
        lines.last.push(line).map_err(|_| client.too_long("log"))
    });
    let Lines { total, last } = read.await?.rows(client, "log")?;
    let page = last.into_rows().into_iter().rev().skip(skipped).collect();
    let mut answer = begun(client);
    answer.extend(call.page_of("log_entries", page, total));
    Ok(answer)
}

/// The last lines, and how many there were.
#[derive(Default)]
struct Lines {
    total: usize,
    last: KeptRows,
}

type Moment = Option<OffsetDateTime>;

/// The last day, or what the arguments say.
fn window(call: &RouterCall, now: Moment) -> Result<(Moment, Moment), ToolError> {
    let given = |name: &str| match call.text(name) {
        "" => Ok(None),
        text => clock::parse(text).map(Some).map_err(|why| ToolError::invalid(why).with("parameter", name)),
    };
    let (from, until) = (given("start_time")?, given("end_time")?);
    let from = from.or(until.or(now).map(|until| until - DAY));
    let end = until.or(from.map(|from| from + DAY));
    if let Some((from, end)) = from.zip(end)
        && !(Duration::ZERO..=DAY).contains(&(end - from))
    {
        return Err(ToolError::invalid("the log is read for at most 24 hours, from start_time to end_time")
            .with("parameter", "start_time")
            .hint("ask for one day after the other"));
    }
    Ok((from, end))
}

/// The time of a line: `2026-11-26 08:00:00`, `11-26 08:00:00`, `nov/26/2026 08:00:00`, `nov/26 08:00:00` or `08:00:00`. What lies
/// in the future is of the year before.
fn moment(text: &str, now: PrimitiveDateTime) -> Option<PrimitiveDateTime> {
    let Some((date, time)) = text.split_once(' ') else { return Some(now.date().with_time(clock_time(text)?)) };
    let at = day(date, Some(now.year()))?.with_time(clock_time(time)?);
    if at <= now + DAY || date.len() >= 10 {
        return Some(at);
    }
    Some(day(date, Some(now.year() - 1))?.with_time(at.time()))
}

fn day(text: &str, this_year: Option<i32>) -> Option<Date> {
    let parts: Vec<&str> = text.split(['-', '/']).collect();
    let number = |text: &str| text.parse::<u8>().ok();
    let (year, month, day) = match parts[..] {
        [year, month, day] if year.len() == 4 => (year.parse().ok(), month, day),
        [month, day, year] => (year.parse().ok(), month, day),
        [month, day] => (this_year, month, day),
        _ => return None,
    };
    const NAMES: &str = "jan feb mar apr may jun jul aug sep oct nov dec";
    let month = number(month).or_else(|| u8::try_from(NAMES.find(month)? / 4 + 1).ok())?;
    Date::from_calendar_date(year?, Month::try_from(month).ok()?, number(day)?).ok()
}

fn clock_time(text: &str) -> Option<Time> {
    let mut parts = text.split(':').map(|part| part.parse::<u8>());
    let mut next = || parts.next()?.ok();
    Time::from_hms(next()?, next()?, next()?).ok()
}

/// `+02:00`
fn offset(text: &str) -> Option<UtcOffset> {
    let (sign, rest) = (if text.starts_with('-') { -1 } else { 1 }, text.trim_start_matches(['+', '-']));
    let (hours, minutes) = rest.split_once(':')?;
    UtcOffset::from_hms(sign * hours.parse::<i8>().ok()?, sign * minutes.parse::<i8>().ok()?, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn times_of_all_versions_are_understood() {
        let now = datetime!(2026-01-02 10:00:00);
        for (text, at) in [
            ("2026-01-02 08:00:00", datetime!(2026-01-02 08:00:00)),
            ("01-02 08:00:00", datetime!(2026-01-02 08:00:00)),
            ("12-31 23:00:00", datetime!(2025-12-31 23:00:00)),
            ("jan/02/2026 08:00:00", datetime!(2026-01-02 08:00:00)),
            ("dec/31 23:00:00", datetime!(2025-12-31 23:00:00)),
            ("08:00:01", datetime!(2026-01-02 08:00:01)),
        ] {
            assert_eq!(moment(text, now), Some(at), "{text}");
        }
        for bad in ["", "yesterday", "13-41 08:00:00", "08:00", "x/02 08:00:00"] {
            assert_eq!(moment(bad, now), None, "{bad}");
        }
        assert_eq!(offset("-03:30").map(UtcOffset::as_hms), Some((-3, -30, 0)));
        assert_eq!(offset("no"), None);
    }
}
