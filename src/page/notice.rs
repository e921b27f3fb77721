//! Refusals as a page, for a browser at `/` that nothing else can be shown to. Without script and style: no file of this
//! server is served to it.

use base::error::ToolError;

/// For a machine without an owner. It has no code, no fingerprint and no form: only the machine's own screen can be
/// believed about these, since anybody in the network could have made this page (docs/claim.md).
pub const UNCLAIMED: &str = include_str!("unclaimed.html");

/// The refusal as a page.
pub fn of(error: &ToolError) -> String {
    let hint = error.hint.as_deref().unwrap_or_default();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>raspi-mcp</title><h1>Not served</h1><p>{}</p><p>{}</p></html>\n",
        escaped(&error.message),
        escaped(hint)
    )
}

/// Text as text of a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_text_whatever_it_quotes() {
        let error = ToolError::denied("no <script>alert('&')</script>").hint("\"x\"");
        let page = of(&error);
        assert!(page.contains("no &lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"), "{page}");
        assert!(page.contains("&quot;x&quot;") && !page.contains("<script"), "{page}");
    }
}
