//! Where the channel's index is published: a folder, or a web space that takes PUT. An index is only written over the one that
//! was expected there.

use super::folder::FolderPlace;
use crate::client::{Remote, Trust};
use base::error::{ErrorCode, ToolError};
use fleet_protocol::rollout::RolloutTarget;
use reqwest::{
    Certificate, Response, StatusCode, Url,
    header::{CACHE_CONTROL, ETAG, IF_MATCH},
};
use std::{fs, path::Path, sync::Arc, time::Duration};
use update::{channel::INDEX, trust::MAX_SIGNED};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place for one channel's index.
pub trait IndexPlace {
    /// The index that is there.
    fn present(&self) -> impl Future<Output = Result<Vec<u8>, ToolError>>;

    /// Replaces it by `with`, if it still has the bytes `expected`; otherwise `conflict`. While somebody else holds the place it is a
    /// `conflict` as well, which `details.held_by` tells apart.
    fn replace(&self, expected: &[u8], with: &[u8]) -> impl Future<Output = Result<(), ToolError>>;
}

/// The place that a plan names.
pub enum ChannelPlace {
    Folder(FolderPlace),
    Web { remote: Remote },
}

impl ChannelPlace {
    /// Opens it. `base`: the folder of the plan, to which its paths are relative.
    ///
    /// # Errors
    /// `invalid_argument` for an address, token or authority that cannot be used.
    pub fn open(target: &RolloutTarget, channel: &str, base: &Path) -> Result<Self, ToolError> {
        match target {
            RolloutTarget::Folder(folder) => Ok(Self::Folder(FolderPlace::new(base.join(folder), channel))),
            RolloutTarget::Address { url, token_file, ca_file } => {
                let bad = |what: &str| ToolError::invalid(format!("{url}: {what}"));
                let mut address: Url = url.parse().map_err(|_| bad("is no address"))?;
                address.path_segments_mut().map_err(|()| bad("has no path"))?.pop_if_empty().extend([channel, INDEX]);
                let read = |file: &String| {
                    let path = base.join(file);
                    fs::read(&path).map_err(|error| super::failed(&path, &error))
                };
                let trust = match ca_file {
                    None => Trust::System,
                    Some(file) => Trust::Authorities(Arc::from(
                        Certificate::from_pem_bundle(&read(file)?).map_err(|error| bad(&format!("{file}: {error}")))?,
                    )),
                };
                let token = token_file.as_ref().map(|file| {
                    crate::client::checked(&String::from_utf8_lossy(&read(file)?))
                        .map_err(|why| bad(&format!("{file}: {why}")))
                });
                Ok(Self::Web { remote: Remote::listed(address, &trust, token.transpose()?)? })
            }
        }
    }
}

impl IndexPlace for ChannelPlace {
    async fn present(&self) -> Result<Vec<u8>, ToolError> {
        match self {
            Self::Folder(folder) => folder.present(),
            Self::Web { remote } => Ok(get(remote).await?.0),
        }
    }

    async fn replace(&self, expected: &[u8], with: &[u8]) -> Result<(), ToolError> {
        match self {
            Self::Folder(folder) => folder.replace(expected, with),
            Self::Web { remote } => put(remote, expected, with).await,
        }
    }
}

/// The index and its tag.
async fn get(remote: &Remote) -> Result<(Vec<u8>, String), ToolError> {
    let request = remote.client.get(remote.url.clone()).header(CACHE_CONTROL, "no-cache");
    let mut response = sent(remote, request).await?;
    if response.status() != StatusCode::OK {
        return Err(refused(remote, &response));
    }
    let tag = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).filter(|tag| tag.starts_with('"'));
    let tag = tag.map(str::to_owned).ok_or_else(|| {
        ToolError::precondition(format!("{} has no strong ETag", remote.url))
            .hint("a rollout needs a web space that has one and honours If-Match; or use a folder")
    })?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| remote.offline(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_SIGNED {
            return Err(ToolError::unavailable(format!("{} is longer than any index", remote.url)));
        }
    }
    Ok((bytes, tag))
}

async fn put(remote: &Remote, expected: &[u8], with: &[u8]) -> Result<(), ToolError> {
    let changed = || ToolError::new(ErrorCode::Conflict, format!("{} was changed meanwhile", remote.url));
    let (present, tag) = get(remote).await?;
    if present != expected {
        return Err(changed());
    }
    let request = remote.client.put(remote.url.clone()).header(IF_MATCH, tag).body(with.to_vec());
    let response = sent(remote, request).await?;
    match response.status() {
        StatusCode::PRECONDITION_FAILED => return Err(changed()),
        status if !status.is_success() => return Err(refused(remote, &response)),
        _ => {}
    }
    // A web space that ignores If-Match, or does not store what it takes, is noticed here.
    if get(remote).await?.0 == with { Ok(()) } else { Err(changed()) }
}

async fn sent(remote: &Remote, request: reqwest::RequestBuilder) -> Result<Response, ToolError> {
    let request = match remote.token() {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.timeout(PATIENCE).send().await.map_err(|error| remote.offline(&error))
}

fn refused(remote: &Remote, response: &Response) -> ToolError {
    let message = format!("{} answers {}", remote.url, response.status());
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            ToolError::denied(message).hint("check token_file in the plan: it has to be allowed to write there")
        }
        _ => ToolError::unavailable(message),
    }
}
