//! `files.read`: reads a file (docs/contract/files.md).

use super::{
    bounded_or_null,
    content::{Encoding, to_base64, to_text},
    mtime,
    place::{FileAccess, LONGEST_PATH, LONGEST_PATH_BASE64, PathArguments, RootedPath},
    size,
    visit::visiting,
    whole::{self, WholeFile},
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::bounded,
};
use base::{
    error::{ErrorCode, ToolError},
    os::{beneath::OpenedFile, blocking::StopSignal},
};
use contract::meta::Meta;
use rustix::fs::{FileType, Stat};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use std::{fs::File, num::NonZeroU32};

/// Most content in one answer, in bytes; in base64 that is 5.6 MB of the 10 MiB limit of an answer.
const LARGEST: u64 = 4 << 20;
/// Default size limit in bytes; more would fill a model's context with one call.
const DEFAULT_MAX: u64 = 1 << 20;

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
    /// How content is written.
    #[serde(default)]
    encoding: Encoding,
    /// Refuse more content; 1 MiB unless told.
    max_bytes: Option<NonZeroU32>,
    /// Of the content you have: it is not sent again.
    #[serde(default, deserialize_with = "bounded_or_null::<_, 128>")]
    #[schemars(length(max = 128))]
    etag: Option<String>,
    /// First byte.
    #[serde(default)]
    offset: u32,
    /// Bytes at most.
    #[serde(default, deserialize_with = "length")]
    #[schemars(with = "Option<u32>", range(min = 1, max = LARGEST))]
    length: Option<u64>,
}

fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Option::<u64>::deserialize(deserializer)? {
        Some(length) if !(1..=LARGEST).contains(&length) => {
            Err(D::Error::custom(format!("{length} bytes where 1 to {LARGEST} are sent")))
        }
        length => Ok(length),
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full path.
    path: String,
    /// Name of the root it is in.
    root: String,
    /// With encoding utf-8 or ascii.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    content: Option<String>,
    /// With encoding base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    content_base64: Option<String>,
    encoding: Encoding,
    /// Bytes of the whole file.
    size: u64,
    /// SHA-256 of the whole file, in hexadecimal.
    etag: String,
    /// When it was last written.
    #[schemars(extend("format" = "date-time"))]
    mtime: String,
    /// First byte of the content.
    offset: u64,
    /// Bytes of the file that the content holds.
    length: u64,
    /// Whether the file goes on after the content.
    truncated: bool,
    /// Where it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    next_offset: Option<u64>,
    /// The file has the tag you gave; there is no content.
    not_modified: bool,
}

pub struct Read;

impl Tool for Read {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "files.read",
        title: "Read a file",
        description: "Read a file in one of the configured folders.\n\nUse when: you need what a file says.\n\nReturns: content, size, time and an etag for files.write.",
        estimated_tokens: 1500,
        tags: &["fs", "file"],
        ..Meta::READ
    };

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        args.place(cx).map(drop)
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let place = args.place(cx)?;
        visiting(cx, place, move |place, stop| {
            let opened = place.open()?.regular(&place.relative).map_err(|fault| place.fault(fault))?;
            let (file, about) = match opened {
                (OpenedFile::File(file), about) => (file, about),
                (OpenedFile::Other(kind), _) => return Err(no_file(place, kind)),
            };
            whole::fits(place, size(&about))?;
            args.read(place, &file, &about, stop)
        })
        .await
    }
}

impl Args {
    fn named(&self) -> PathArguments<'_> {
        PathArguments { path: &self.path, path_base64: self.path_base64.as_deref(), root: self.root.as_deref() }
    }

    fn place(&self, cx: &Context) -> Result<RootedPath, ToolError> {
        RootedPath::of(cx, self.named(), FileAccess::Read)
    }

    fn read(self, place: &RootedPath, file: &File, about: &Stat, stop: &StopSignal) -> Result<Out, ToolError> {
        let from = u64::from(self.offset);
        let unless_told = if self.length.is_some() { LARGEST } else { DEFAULT_MAX };
        let bound = self.max_bytes.map_or(unless_told, |most| u64::from(most.get())).min(LARGEST);
        let wanted = self.length.unwrap_or(bound + 1);
        let mut whole = whole::read(place, file, size(about), from, from + wanted, stop)?;
        let part = std::mem::take(&mut whole.part);
        let size = whole.size;
        if from > size {
            return Err(ToolError::invalid(format!("offset {from} is beyond the end of {}", place.shown()))
                .with("parameter", "offset")
                .with("size", size)
                .hint(format!("the file has {size} bytes")));
        }
        let mut out = self.empty(place, about, whole);
        if out.not_modified {
            return Ok(out);
        }
        if part.len() as u64 > bound {
            return Err(ToolError::new(
                ErrorCode::ContentTooLarge,
                format!("{} has {} bytes from there on; at most {bound} are sent", place.shown(), size - from),
            )
            .with("parameter", if self.length.is_some() { "length" } else { "max_bytes" })
            .with("size", size)
            .with("limit_bytes", bound)
            .hint("read it in parts: give length, then the next_offset of each answer as offset"));
        }
        let read = part.len() as u64;
        out.length = read;
        match self.encoding {
            Encoding::Base64 => out.content_base64 = Some(to_base64(&part)),
            text => {
                let text = to_text(part, from, from + read >= size, text == Encoding::Ascii)?;
                out.length = text.len() as u64;
                out.content = Some(text);
            }
        }
        let end = from + out.length;
        out.truncated = end < size;
        out.next_offset = out.truncated.then_some(end);
        Ok(out)
    }

    /// The answer without content.
    fn empty(&self, place: &RootedPath, about: &Stat, whole: WholeFile) -> Out {
        let size = whole.size;
        let etag = whole.etag();
        Out {
            path: place.shown(),
            root: place.root.name.clone(),
            content: None,
            content_base64: None,
            encoding: self.encoding,
            size,
            not_modified: self.etag.as_ref() == Some(&etag),
            etag,
            mtime: mtime(about),
            offset: u64::from(self.offset),
            length: 0,
            truncated: false,
            next_offset: None,
        }
    }
}

/// The error for something without readable content.
fn no_file(place: &RootedPath, kind: FileType) -> ToolError {
    let shown = place.shown();
    let error = match kind {
        FileType::Directory => {
            ToolError::precondition(format!("{shown} is a directory")).hint("files.list shows what is in it")
        }
        other => ToolError::precondition(format!("{shown} is {}, which is never opened", kind_words(other)))
            .hint("only regular files are read and written"),
    };
    error.with("parameter", "path").with("resource", shown)
}

/// The file type in words, for example "a fifo".
pub fn kind_words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a fifo",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "of a kind unknown here",
    }
}
