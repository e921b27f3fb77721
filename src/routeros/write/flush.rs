//! The cache of DNS answers.

use crate::routeros::{call::RouterCall, service::RouterService, table::Answer};
use reqwest::Method;
use serde_json::{Map, json};

/// RouterOS does not say how many it forgot: they are counted before.
pub fn flush<'a>(service: &'a RouterService, call: &'a RouterCall) -> Answer<'a> {
    Box::pin(async move {
        let router = service.router(call, call.text("device_id"))?;
        let _claim = service.work.claim([router.id().to_owned()])?;
        let flushed = async {
            let cache = router.client.get("ip/dns/cache?.proplist=.id").await?;
            service.authorize(call).await?;
            router.client.write(Method::POST, "ip/dns/cache/flush", &Map::new()).await?;
            Ok(cache.as_array().map_or(0, Vec::len))
        };
        let flushed = flushed.await;
        router.note(flushed.as_ref().err());
        let count = flushed?;
        Ok(json!({ "device_id": router.id(), "changed": true, "entries_flushed": count }))
    })
}
