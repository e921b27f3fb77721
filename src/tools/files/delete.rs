//! `files.delete`: deletes a file or folder (docs/contract/files.md).

use super::{
    bounded_or_null,
    place::{FileAccess, LONGEST_PATH, LONGEST_PATH_BASE64, PathArguments, RootedPath},
    remove,
    visit::changing,
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::bounded,
};
use base::error::ToolError;
use contract::meta::{Effect, Listing, Meta};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// Full path, or relative to a root.
    #[serde(deserialize_with = "bounded::<_, 1, LONGEST_PATH>")]
    #[schemars(length(min = 1, max = LONGEST_PATH))]
    path: String,
    /// As files.list gives it beside path.
    #[serde(default, deserialize_with = "bounded_or_null::<_, LONGEST_PATH_BASE64>")]
    #[schemars(length(max = LONGEST_PATH_BASE64))]
    path_base64: Option<String>,
    /// Where a relative path begins; else the first root.
    #[serde(default, deserialize_with = "bounded_or_null::<_, 64>")]
    #[schemars(length(max = 64))]
    root: Option<String>,
    /// Needed for a folder, which goes with all that is in it.
    #[serde(default)]
    recursive: bool,
    /// Delete only if the file has this tag.
    #[serde(default, deserialize_with = "bounded_or_null::<_, 128>")]
    #[schemars(length(max = 128))]
    etag: Option<String>,
    /// Only say what would go.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full path of what was there.
    path: String,
    /// Name of the root it was in.
    root: String,
    r#type: Kind,
    /// Files, links and the like that went; with dry_run, that would go.
    files: u64,
    directories: u64,
    /// Bytes in the files.
    bytes: u64,
    /// The tag it had, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    previous_etag: Option<String>,
    /// Whether it is gone; false with dry_run.
    deleted: bool,
    dry_run: bool,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Kind {
    File,
    Directory,
    /// The link; what it points to stays.
    Symlink,
    Other,
}

pub struct Delete;

impl Tool for Delete {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "files.delete",
        title: "Delete a file or folder",
        description: "Delete a file, or a folder with all that is in it, in one of the configured folders.\n\nUse when: something there has to go for good.\n\nReturns: how much went.\n\nTip: dry_run says first what would go.",
        listing: Listing::Extra,
        effect: Effect::Write { destructive: true, idempotent: false },
        dry_run: true,
        estimated_tokens: 100,
        tags: &["fs", "file", "folder"],
        ..Meta::WRITE
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        args.place(cx).map(drop)
    }

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let place = args.place(cx)?;
        let out = changing(cx, place, move |place, stop| {
            let removed = remove::remove(place, args.recursive, args.etag.as_deref(), args.dry_run, stop)?;
            Ok(Out {
                path: place.shown(),
                root: place.root.name.clone(),
                r#type: match removed.kind {
                    FileType::RegularFile => Kind::File,
                    FileType::Directory => Kind::Directory,
                    FileType::Symlink => Kind::Symlink,
                    _ => Kind::Other,
                },
                files: removed.gone.files,
                directories: removed.gone.directories,
                bytes: removed.gone.bytes,
                previous_etag: removed.etag,
                deleted: !args.dry_run,
                dry_run: args.dry_run,
            })
        })
        .await?;
        if out.deleted {
            cx.notes.changed();
        }
        Ok(out)
    }
}

impl Args {
    fn named(&self) -> PathArguments<'_> {
        PathArguments { path: &self.path, path_base64: self.path_base64.as_deref(), root: self.root.as_deref() }
    }

    fn place(&self, cx: &Context) -> Result<RootedPath, ToolError> {
        let place = RootedPath::of(cx, self.named(), FileAccess::Delete)?;
        if place.is_root() {
            let name = &place.root.name;
            return Err(ToolError::denied(format!("{} is the root {name} itself, which stays", place.shown()))
                .with("parameter", "path")
                .with("required_permission", place.permission())
                .hint("delete what is in it, name by name"));
        }
        Ok(place)
    }
}
