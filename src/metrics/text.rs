//! Prometheus' text exposition format, version 0.0.4. It consists of simple lines, so no library is used.

use std::fmt::{Display, Write};

/// The `Content-Type` of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page under construction.
#[derive(Default)]
pub struct MetricsText(String);

/// The type of a family.
#[derive(Clone, Copy, Debug)]
pub enum MetricType {
    Counter,
    Gauge,
    Histogram,
}

impl MetricsText {
    /// Begins a family, whose samples follow. `help` is one line.
    pub fn family(&mut self, name: &str, kind: MetricType, help: &str) {
        let kind = match kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram => "histogram",
        };
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// Adds one sample. Label values may be any text.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (n, (label, text)) in labels.iter().enumerate() {
            self.0.push(if n == 0 { '{' } else { ',' });
            self.0.push_str(label);
            self.0.push_str("=\"");
            for c in text.chars() {
                match c {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    plain => self.0.push(plain),
                }
            }
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        self.line(format_args!(" {value}"));
    }

    /// Adds a family with one sample.
    pub fn single(&mut self, name: &str, kind: MetricType, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    pub fn done(self) -> String {
        self.0
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{text}").expect("writing to a String does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_lines_of_help_type_and_samples() {
        let mut text = MetricsText::default();
        text.family("calls_total", MetricType::Counter, "Calls.");
        text.sample("calls_total", &[("tool", "a.b"), ("note", "\"\\\n")], 3);
        text.single("load", MetricType::Gauge, "Now.", 0.25);
        let expected = "# HELP calls_total Calls.\n# TYPE calls_total counter\n\
                        calls_total{tool=\"a.b\",note=\"\\\"\\\\\\n\"} 3\n\
                        # HELP load Now.\n# TYPE load gauge\nload 0.25\n";
        assert_eq!(text.done(), expected);
    }
}
