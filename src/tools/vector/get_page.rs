//! `vector.get_page`: a page of the manual. Also serves `raspi://docs/{path}`.

use crate::{
    registry::{
        context::Context,
        tool::{Blob, Tool},
    },
    tools::files::bounded_or_null,
};
use base::{canonical, error::ToolError, os::blocking};
use contract::meta::{Listing, Meta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Like "claim.md" or "contract/errors.md"; without it all pages are listed.
    #[schemars(length(max = 255))]
    #[serde(default, deserialize_with = "bounded_or_null::<_, 255>")]
    path: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// The paths of all pages, where none was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pages: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    path: Option<String>,
    /// As vector.search gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    etag: Option<String>,
    /// The page, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    text: Option<String>,
}

pub struct GetPage;

impl Tool for GetPage {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "vector.get_page",
        title: "Read a page of the manual",
        description: "Read a page of the manual that is installed with this server.\n\nUse when: vector.search found a passage of it.\n\nReturns: the page in Markdown; without a path, all pages.",
        listing: Listing::Extra,
        estimated_tokens: 4000,
        tags: &["search", "manual"],
        resource_uri: Some("raspi://docs/{path}"),
        ..Meta::READ
    };

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let indexing = cx.services.indexing.clone();
        blocking::run("vector.get_page", move |_| {
            let Some(path) = args.path else {
                return Ok(Out { pages: Some(indexing.pages()), path: None, etag: None, text: None });
            };
            let text = indexing.page(&path)?;
            let etag = Some(canonical::sha256_of(text.as_bytes()));
            Ok(Out { pages: None, path: Some(path), etag, text: Some(text) })
        })
        .await
    }

    fn blob(out: &Out) -> Option<Blob> {
        out.text.clone().map(|text| Blob { mime: "text/markdown", bytes: text.into() })
    }
}
