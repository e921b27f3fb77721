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
            let count = |count: &mut usize, _| {
                *count += 1;
                Ok(())
            };
            let read = router.client.fold("ip/dns/cache?.proplist=.id", None, || 0, count).await?;
            let entries = read.rows(&router.client, "ip/dns/cache")?;
            service.authorize(call).await?;
            router.client.write(Method::POST, "ip/dns/cache/flush", &Map::new()).await?;
            Ok(entries)
        };
        let flushed = flushed.await;
        router.note(flushed.as_ref().err());
        let count = flushed?;
        Ok(json!({ "device_id": router.id(), "changed": true, "entries_flushed": count }))
    })
}
