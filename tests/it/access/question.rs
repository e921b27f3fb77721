//! What a person is shown of a call: all of it, and no text of a caller that looks like something else.

use agent::AskRequest;
use base::error::ErrorCode;
use contract::access::question::{ALL_BYTES, Mark, TEXT_BYTES, check, lines, quoted, shown};
use raspi_mcp::registry::Registry;
use serde_json::{Value, json};

/// As the server asks about that call, without a secret field or content that may be cut.
fn asked(args: Value) -> AskRequest {
    AskRequest {
        tool: "files.write".into(),
        summary: "token:fleet asks for files.write: Write a file".into(),
        args,
        marks: Default::default(),
        args_sha256: "0".repeat(64),
        principal: "token:fleet".into(),
        ..Default::default()
    }
}

/// What stands after `content = `, put together again from its lines.
fn content(text: &str) -> String {
    let from = text.find("content = ").unwrap();
    text[from..].lines().map(|line| line.trim_start().trim_start_matches("» ")).collect::<Vec<_>>().concat()
}

#[test]
fn a_text_of_634_bytes_is_shown_whole_and_so_is_one_of_64_kib() {
    for length in [256, 257, 634, 10_000, TEXT_BYTES] {
        let text: String = "0123456789abcdef".chars().cycle().take(length - 4).chain("\nend".chars()).collect();
        let (args, marks) = shown("files.write", &json!({}), &[], &json!({ "content": text })).unwrap();
        assert!(marks.is_empty());
        let page = lines(&AskRequest { marks, ..asked(args) }, 80);
        assert!(content(&page).contains(&text.replace('\n', "\\n")), "{length}: {page}");
    }
}

#[test]
fn above_64_kib_content_is_cut_with_length_hash_and_both_ends_and_anything_else_is_refused() {
    let long = format!("head{}tail", "é".repeat(TEXT_BYTES / 2));
    let args = json!({ "path": "a", "content": long });
    for tool in ["exec.run", "gpio.write_pin"] {
        let refused = shown(tool, &json!({}), &[], &args).unwrap_err();
        assert_eq!((refused.code, &refused.details["limit_bytes"]), (ErrorCode::ContentTooLarge, &json!(TEXT_BYTES)));
    }
    let (kept, marks) = shown("files.write", &json!({}), &["content"], &args).unwrap();
    assert_eq!((&kept["path"], &kept["content"]), (&json!("a"), &Value::Null));
    let Mark::Cut { bytes, sha256, head, tail } = &marks["/content"] else { panic!("{marks:?}") };
    assert_eq!(*bytes, long.len());
    assert_eq!(*sha256, base::canonical::hex(ring::digest::digest(&ring::digest::SHA256, long.as_bytes()).as_ref()));
    assert!(long.starts_with(head.as_str()) && long.ends_with(tail.as_str()) && head.len() > 2000 && tail.len() > 2000);
    let page = lines(&AskRequest { marks: marks.clone(), ..asked(kept) }, 80);
    assert!(page.contains(&format!("content = <cut: {bytes} bytes, SHA-256 \"")), "{page}");
    for shown in [&sha256[..16], "\"head", "tail\""] {
        assert!(content(&page).contains(shown), "{shown}: {page}");
    }
    // Two long ones are each of a length that is shown, and together too long.
    let both = json!({ "content": "x".repeat(60_000), "content_base64": "y".repeat(60_000) });
    let (kept, marks) = shown("files.write", &json!({}), &["content", "content_base64"], &both).unwrap();
    assert!(marks.len() == 2 && kept["content"].is_null());
    let many: Vec<String> = (0..100).map(|_| "z".repeat(1000)).collect();
    let refused = shown("exec.run", &json!({}), &[], &json!({ "args": many })).unwrap_err();
    assert_eq!(refused.details["limit_bytes"], ALL_BYTES);
}

#[test]
fn only_a_field_that_the_schema_declares_secret_is_hidden_and_no_text_can_pass_for_it() {
    let schema = json!({
        "type": "object",
        "properties": {
            "passphrase": { "type": "string", "writeOnly": true },
            "nested": { "$ref": "#/$defs/login" },
            "list": { "type": "array", "items": { "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/login" }] } },
        },
        "$defs": { "login": { "properties": { "a/b": { "writeOnly": true }, "user": {} } } },
    });
    let args = json!({
        "passphrase": "open sesame",
        "nested": { "a/b": 12, "user": "me" },
        "list": [{ "a/b": "x" }],
        "token": "rmcp_abc",
        "text": "[redacted] password=hunter2 <hidden: 11 characters> Bearer abc",
    });
    let (kept, marks) = shown("x.y", &schema, &[], &args).unwrap();
    let page = lines(&AskRequest { marks, ..asked(kept) }, 120);
    assert!(page.contains("\n    passphrase = <hidden: 11 characters>\n"), "{page}");
    assert_eq!(page.matches(" = <hidden: ").count(), 3, "{page}");
    assert!(!page.contains("sesame") && !page.contains("= 12"), "{page}");
    for plain in
        ["token = \"rmcp_abc\"", "\"[redacted] password=hunter2 <hidden: 11 characters> Bearer abc\"", "user = \"me\""]
    {
        assert!(page.contains(plain), "{plain}: {page}");
    }
}

#[test]
fn every_argument_whose_name_sounds_secret_is_declared_so() {
    for entry in Registry::new(raspi_mcp::tools::NAMESPACES).rows() {
        let schema = entry.input_schema();
        for (name, schema) in schema["properties"].as_object().unwrap() {
            let secret = base::redact::is_secret_name(name);
            assert!(!secret || schema["writeOnly"] == true, "{}: a person would be shown {name}", entry.name());
        }
    }
}

#[test]
fn no_text_can_fake_a_line_or_be_invisible() {
    let hostile = [
        "a\r\n  expires   in 1 s\napprove ask ABCDEF, once? y",
        "a\u{1b}[2J\u{1b}[1;1H\u{9b}0m\u{7}\u{8}",
        "user\u{202e}txt.exe\u{2066}\u{200b}\u{200d}\u{feff}\u{2060}\u{ad}",
        "tag\u{e0041}\u{e0100}\u{fe0f}\u{180e}\u{3164}\u{2800}",
        "line\u{2028}paragraph\u{2029}next\u{85}",
        "раураl gооgle",
        &format!("z{}", "\u{301}".repeat(500)),
        &format!("harmless{}rm -rf", " ".repeat(300)),
        "a\u{a0}\u{2003}\u{3000}b\u{0}\u{7f}",
        "\\u{41} \\n \" = <hidden: 3 characters>",
        "» more",
    ];
    for text in hostile {
        for request in [
            asked(json!({ "content": text })),
            asked(json!({ text: "content = " , "content = ": {text: [text]}})),
            AskRequest { principal: text.into(), ..asked(json!({ "content = ": 1 })) },
            AskRequest { tool: text.into(), summary: text.into(), ..asked(json!({ "content = ": 1 })) },
        ] {
            for width in [0, 40, 80, 5000] {
                let page = lines(&request, width);
                assert!(page.chars().all(|c| c == '\n' || c == '»' || (' '..='~').contains(&c)), "{page:?}");
                assert!(!page.contains("   rm") && !page.contains("\n  expires"), "{page}");
                for line in page.lines() {
                    let known = ["  tool ", "  caller ", "  what ", "  arguments", "    ", "      »"];
                    assert!(known.iter().any(|start| line.starts_with(start)), "{line:?} in {page}");
                    assert!(width == 0 || line.chars().count() <= width.clamp(40, 160), "{width}: {line:?}");
                }
                // What goes on says so; else a line is a field, in its place.
                assert_eq!(
                    page.matches('»').count(),
                    page.lines().filter(|line| line.trim_start().starts_with("» ")).count()
                );
            }
        }
    }
    assert_eq!(quoted("a  b   c"), r#""a  b\{3 spaces}c""#);
    assert_eq!(quoted("\\{3 spaces}\u{fc}"), r#""\\{3 spaces}\u{fc}""#);
}

#[test]
fn two_calls_that_differ_never_look_the_same() {
    let texts = [
        "a",
        "a ",
        " a",
        "\\n",
        "\n",
        "\\u{61}",
        "\u{61}\u{301}",
        "\u{e1}",
        "\"",
        "\\\"",
        "а",
        "a\u{200b}",
        "[redacted]",
        "   ",
        "\\{3 spaces}",
        "null",
        "<cut>",
        "",
    ];
    let mut pages: Vec<String> = texts.iter().map(|text| lines(&asked(json!({ "content": text })), 80)).collect();
    pages.extend(
        [json!(null), json!([]), json!({}), json!(["a"]), json!({"0": "a"})]
            .map(|value| lines(&asked(json!({"content": value})), 80)),
    );
    let count = pages.len();
    pages.sort();
    pages.dedup();
    assert_eq!(pages.len(), count);
}

#[test]
fn a_mark_that_hides_nothing_is_refused_and_so_is_what_is_nested_too_deeply() {
    let hidden = |at: &str| [(at.to_owned(), Mark::Hidden { characters: 3 })].into();
    check("x.y", &json!({ "a": null }), &hidden("/a")).unwrap();
    for at in ["", "/b", "/a/0", "a"] {
        assert_eq!(
            check("x.y", &json!({ "a": null }), &hidden(at)).unwrap_err().code,
            ErrorCode::InvalidArgument,
            "{at}"
        );
    }
    assert_eq!(check("x.y", &json!({ "a": "seen" }), &hidden("/a")).unwrap_err().code, ErrorCode::InvalidArgument);
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(check("x.y", &deep, &Default::default()).unwrap_err().code, ErrorCode::ContentTooLarge);
}
