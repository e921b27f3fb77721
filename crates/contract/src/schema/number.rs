//! The bounds of numbers. Integers are compared as integers: 2^53 + 1 is not 2^53.

use serde_json::Number;
use std::cmp::Ordering;

#[derive(Debug, Default)]
pub(super) struct NumberBounds {
    least: Option<Number>,
    most: Option<Number>,
    above: Option<Number>,
    below: Option<Number>,
    step: Option<Number>,
}

impl NumberBounds {
    pub(super) fn read(&mut self, word: &str, value: &Number) {
        let place = match word {
            "minimum" => &mut self.least,
            "maximum" => &mut self.most,
            "exclusiveMinimum" => &mut self.above,
            "exclusiveMaximum" => &mut self.below,
            _ => &mut self.step,
        };
        *place = Some(value.clone());
    }

    pub(super) fn complaint(&self, number: &Number) -> Option<String> {
        let is =
            |bound: &Number, wanted: &[Ordering]| compare(number, bound).is_some_and(|found| wanted.contains(&found));
        use Ordering::{Equal, Greater, Less};
        if let Some(least) = self.least.as_ref().filter(|least| is(least, &[Less])) {
            return Some(format!("is {number}, and {least} is the least"));
        }
        if let Some(most) = self.most.as_ref().filter(|most| is(most, &[Greater])) {
            return Some(format!("is {number}, and {most} is the most"));
        }
        if let Some(above) = self.above.as_ref().filter(|above| is(above, &[Less, Equal])) {
            return Some(format!("is {number}, and has to be more than {above}"));
        }
        if let Some(below) = self.below.as_ref().filter(|below| is(below, &[Greater, Equal])) {
            return Some(format!("is {number}, and has to be less than {below}"));
        }
        let step = self.step.as_ref().filter(|step| !multiple(number, step))?;
        Some(format!("is {number}, which is no multiple of {step}"))
    }
}

fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn multiple(number: &Number, step: &Number) -> bool {
    match (whole(number), whole(step)) {
        (Some(number), Some(step)) => step != 0 && number % step == 0,
        _ => match (number.as_f64(), step.as_f64()) {
            (Some(number), Some(step)) => (number / step).fract() == 0.0,
            _ => false,
        },
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}
