//! `files.write`: writes a file atomically (docs/contract/files.md).

use super::{
    bounded_or_null,
    content::{Encoding, from_base64},
    place::{FileAccess, LONGEST_PATH, LONGEST_PATH_BASE64, PathArguments, RootedPath},
    put::{self, How, Put},
    visit::changing,
};
use crate::{
    registry::{context::Context, tool::Tool},
    tools::bounded,
};
use base::error::ToolError;
use contract::meta::{Effect, Meta};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::json;
use std::borrow::Cow;

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
    /// What to write, in `encoding`.
    content: Option<String>,
    /// What to write in base64, in place of content.
    content_base64: Option<String>,
    /// How content is written.
    #[serde(default)]
    encoding: Encoding,
    /// Whether the file may be new.
    #[serde(default = "yes")]
    create: bool,
    /// Whether it may replace what is there; false unless told, or true with etag.
    overwrite: Option<bool>,
    /// Write only if the file has this tag.
    #[serde(default, deserialize_with = "bounded_or_null::<_, 128>")]
    #[schemars(length(max = 128))]
    etag: Option<String>,
    /// How to write, in place of create and overwrite.
    #[serde(default)]
    #[schemars(with = "Mode")]
    mode: Option<Mode>,
    /// Permission bits as a number; 0644 is 420, which a new file gets.
    #[schemars(with = "Option<u32>", range(max = 0o777))]
    #[serde(default, deserialize_with = "permissions")]
    permissions: Option<u32>,
    /// Make the folders on the way that are not there.
    #[serde(default = "yes")]
    mkdirs: bool,
    /// Only say what would happen.
    #[serde(default)]
    dry_run: bool,
}

fn yes() -> bool {
    true
}

fn permissions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Option::<u32>::deserialize(deserializer)?.map(bits).transpose().map_err(D::Error::custom)
}

fn bits(bits: u32) -> Result<u32, String> {
    if bits <= 0o777 { Ok(bits) } else { Err(format!("permission bits {bits} are outside 0..=511")) }
}

/// Permission bits or the way to write: clients use both forms (docs/contract/files.md).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "Written")]
enum Mode {
    Bits(u32),
    Way(Way),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    Overwrite,
    Append,
    CreateNew,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Bits(u32),
    Way(Way),
}

impl TryFrom<Written> for Mode {
    type Error = String;
    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Way(way) => Ok(Self::Way(way)),
            Written::Bits(mode) => bits(mode).map(Self::Bits),
        }
    }
}

impl JsonSchema for Mode {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Mode".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let ways = json!({ "type": "string", "enum": ["overwrite", "append", "create_new"] });
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 0o777 }, ways],
            "x-advertised": ways,
        })
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Out {
    /// Full path.
    path: String,
    /// Name of the root it is in.
    root: String,
    /// Bytes of the whole file now; with dry_run, as it would be.
    size: u64,
    /// SHA-256 of the whole file now, in hexadecimal.
    etag: String,
    /// When it was written.
    #[schemars(extend("format" = "date-time"))]
    mtime: String,
    created: bool,
    /// Whether there was a file that it replaces.
    overwritten: bool,
    /// Whether the content went to the end of what was there.
    appended: bool,
    /// Permission bits.
    mode: u32,
    /// What was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Before")]
    previous: Option<Before>,
    /// Folders that were made on the way.
    created_directories: Vec<String>,
    dry_run: bool,
}

/// A file that is another one now.
#[derive(Serialize, JsonSchema)]
struct Before {
    size: u64,
    etag: String,
    mode: u32,
    /// Whether the new file belongs to the same user and group; a server without root's rights cannot always see to that.
    owner_kept: bool,
}

pub struct Write;

impl Tool for Write {
    type Args = Args;
    type Out = Out;
    const META: Meta = Meta {
        name: "files.write",
        title: "Write a file",
        description: "Write a file in one of the configured folders: whole, or not at all.\n\nUse when: a file has to be made, replaced or continued.\n\nReturns: size and etag now, and what was there before.\n\nTip: pass the etag that files.read gave, so that nobody's change is lost.",
        effect: Effect::Write { destructive: true, idempotent: false },
        dry_run: true,
        bulk: &["content", "content_base64"],
        estimated_tokens: 150,
        tags: &["fs", "file"],
        ..Meta::WRITE
    };

    fn check(args: &Args) -> Result<(), ToolError> {
        if args.content_base64.is_some() && args.encoding == Encoding::Ascii {
            return Err(ToolError::ignored("encoding", "content_base64 is base64"));
        }
        args.how().map(drop)
    }

    fn permit(cx: &Context, args: &Args) -> Result<(), ToolError> {
        args.place(cx).map(drop)
    }

    fn asks(args: &Args) -> bool {
        !args.dry_run
    }

    async fn call(cx: &Context, args: Args) -> Result<Out, ToolError> {
        let place = args.place(cx)?;
        let (dry_run, how) = (args.dry_run, args.how()?);
        let bytes = args.bytes()?;
        let out =
            changing(cx, place, move |place, stop| Ok(Out::of(place, put::put(place, &bytes, &how, stop)?, dry_run)))
                .await?;
        if !dry_run {
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
        let place = RootedPath::of(cx, self.named(), FileAccess::Write)?;
        if place.is_root() || self.path.ends_with('/') {
            return Err(ToolError::invalid(
                "the path names a folder; files.write writes files, and makes folders on the way",
            )
            .with("parameter", "path"));
        }
        Ok(place)
    }

    fn how(&self) -> Result<How, ToolError> {
        let both = |flag: &str| Err(ToolError::ignored(flag, "mode says how to write already"));
        let (mut overwrite, mut append, mut bits) = (self.overwrite, false, self.permissions);
        match self.mode {
            Some(Mode::Way(_)) if !self.create => return both("create"),
            Some(Mode::Way(_)) if overwrite.is_some() => return both("overwrite"),
            Some(Mode::Way(way)) => {
                overwrite = Some(way == Way::Overwrite);
                append = way == Way::Append;
                if way == Way::CreateNew && self.etag.is_some() {
                    return Err(ToolError::invalid("a new file has no tag yet; leave etag or create_new out")
                        .with("parameter", "etag"));
                }
            }
            Some(Mode::Bits(_)) if bits.is_some() => {
                return Err(ToolError::ignored("permissions", "mode has permission bits already"));
            }
            Some(Mode::Bits(mode)) => bits = Some(mode),
            None => {}
        }
        let create = self.create && self.etag.is_none();
        Ok(How {
            create,
            // A tag states which content may be replaced, so it allows replacing.
            replace: overwrite.unwrap_or(false) || (self.etag.is_some() && !append),
            append,
            etag: self.etag.clone(),
            bits,
            mkdirs: self.mkdirs && create,
            dry_run: self.dry_run,
        })
    }

    fn bytes(self) -> Result<Vec<u8>, ToolError> {
        match (self.content, self.content_base64, self.encoding) {
            (Some(text), None, Encoding::Base64) => from_base64(&text, "content"),
            (Some(text), None, Encoding::Ascii) if !text.is_ascii() => {
                Err(ToolError::invalid("the content has letters that ASCII has not")
                    .with("parameter", "content")
                    .hint("use encoding utf-8"))
            }
            (Some(text), None, _) => Ok(text.into_bytes()),
            (None, Some(text), _) => from_base64(&text, "content_base64"),
            _ => Err(ToolError::invalid(
                "exactly one of content and content_base64 is needed; content \"\" is an empty file",
            )
            .with("parameter", "content")),
        }
    }
}

impl Out {
    fn of(place: &RootedPath, put: Put, dry_run: bool) -> Self {
        let was_there = put.before.is_some();
        Self {
            path: place.shown(),
            root: place.root.name.clone(),
            size: put.size,
            etag: put.etag,
            mtime: put.mtime,
            created: !was_there,
            overwritten: was_there && !put.appended,
            appended: put.appended,
            mode: put.mode,
            previous: put.before.map(|before| Before {
                size: before.size,
                etag: before.etag,
                mode: before.mode,
                owner_kept: before.owner_kept,
            }),
            created_directories: put.folders,
            dry_run,
        }
    }
}
