//! A sample in answers: one field for each metric that was measured.

use crate::sampling::metric::{COUNT, METRICS, Sample, ValueFormat, in_place};
use base::clock::Stamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, sync::Arc};

/// One sample of one job.
pub struct JobSample {
    pub job_id: String,
    /// The names of its sensors, in the order of their places.
    pub sensors: Arc<[String]>,
    pub sample: Sample,
}

/// A sample's metrics alone.
pub struct Readings(pub Sample);

impl Serialize for JobSample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("job_id", &self.job_id)?;
        map.serialize_entry("timestamp", &Stamp(self.sample.at_ms))?;
        metrics(&mut map, &self.sample)?;
        if self.sample.values[COUNT..].iter().any(Option::is_some) {
            map.serialize_entry("sensors", &Measured(self))?;
        }
        map.end()
    }
}

/// The sensors of a sample, by name.
struct Measured<'a>(&'a JobSample);

impl Serialize for Measured<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (place, name) in (COUNT..).zip(self.0.sensors.iter()) {
            if let Some(value) = self.0.sample.values[place] {
                map.serialize_entry(name, &in_place(place).shown(value))?;
            }
        }
        map.end()
    }
}

impl Serialize for Readings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        metrics(&mut map, &self.0)?;
        map.end()
    }
}

fn metrics<M: SerializeMap>(map: &mut M, sample: &Sample) -> Result<(), M::Error> {
    for (metric, value) in METRICS.iter().zip(sample.values) {
        if let Some(value) = value {
            map.serialize_entry(metric.name, &metric.shown(value))?;
        }
    }
    Ok(())
}

impl JsonSchema for JobSample {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Sample".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        properties.insert("job_id".into(), json!({ "type": "string" }));
        properties.insert("timestamp".into(), json!({ "type": "string", "format": "date-time" }));
        properties.extend(fields());
        let number = json!({ "type": "number" });
        let doc = "By their names, in the units of sensors.list.";
        properties
            .insert("sensors".into(), json!({ "type": "object", "additionalProperties": number, "description": doc }));
        json_schema!({
            "type": "object", "properties": properties, "required": ["job_id", "timestamp"], "additionalProperties": false,
        })
    }
}

impl JsonSchema for Readings {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Readings".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties: Map<String, Value> = fields().collect();
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
    }
}

fn fields() -> impl Iterator<Item = (String, Value)> {
    METRICS.iter().map(|metric| {
        let kind = match metric.kind {
            ValueFormat::Flag => "boolean",
            ValueFormat::Whole => "integer",
            ValueFormat::Decimal => "number",
        };
        (metric.name.to_owned(), json!({ "type": kind, "description": metric.doc }))
    })
}
