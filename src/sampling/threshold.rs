//! A threshold of a job: a value that is watched in its samples. Nothing is sampled for it.

use super::metric::MetricKey;

/// Where a value is too high, or too low.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    pub metric: MetricKey,
    pub limit: f64,
    /// Crossed above the limit, else below it.
    pub above: bool,
    /// It is over when the value is back by this much.
    pub hysteresis: f64,
}

/// How a job's threshold is.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdState {
    pub job: String,
    pub threshold: Threshold,
    /// Of the newest sample that has it.
    pub value: Option<f64>,
    /// Since when it is crossed, in milliseconds since 1970 UTC.
    pub crossed_ms: Option<i64>,
}

impl Threshold {
    /// Whether it is crossed with this value. `crossed`: whether it was before.
    pub fn is_crossed(&self, value: f64, crossed: bool) -> bool {
        let over = if self.above { value - self.limit } else { self.limit - value };
        if crossed { over > -self.hysteresis } else { over > 0.0 }
    }

    /// As the store writes it, among the names of metrics: `cpu_usage_percent>80~5`.
    pub fn written(&self) -> String {
        let Self { metric, limit, above, hysteresis } = self;
        format!("{}{}{limit}~{hysteresis}", metric.name(), if *above { '>' } else { '<' })
    }

    pub fn parse(text: &str) -> Option<Self> {
        let at = text.find(['<', '>'])?;
        let (metric, rest) = text.split_at(at);
        let (limit, hysteresis) = rest[1..].split_once('~')?;
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        Some(Self {
            metric: MetricKey::find(metric)?,
            limit: number(limit)?,
            above: rest.starts_with('>'),
            hysteresis: number(hysteresis)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_when_the_value_is_back_by_its_hysteresis() {
        let above = Threshold::parse("cpu_usage_percent>80~5").unwrap();
        for (value, before, crossed) in
            [(80.0, false, false), (80.1, false, true), (75.1, true, true), (75.0, true, false), (75.1, false, false)]
        {
            assert_eq!(above.is_crossed(value, before), crossed, "{value}");
        }
        let below = Threshold { above: false, hysteresis: 0.0, ..above };
        assert!(below.is_crossed(79.9, false) && !below.is_crossed(80.0, true) && !below.is_crossed(81.0, true));
    }

    #[test]
    fn it_comes_back_as_it_was_written() {
        for text in ["cpu_usage_percent>80~5", "sensor:lm75@1-0048/temp1<-2.5~0.125"] {
            assert_eq!(Threshold::parse(text).unwrap().written(), text);
        }
        for bad in ["", "cpu_usage_percent", "cpu_usage_percent>80", "nothing>80~5", "cpu_usage_percent>inf~5", ">1~1"]
        {
            assert_eq!(Threshold::parse(bad), None, "{bad}");
        }
    }
}
