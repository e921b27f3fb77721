//! The text of a unit file (systemd.syntax(7)): sections, settings, and invalid lines.

/// One setting of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub section: String,
    pub key: String,
    pub value: String,
    /// Line number from 1; the first line of a continued one.
    pub line: usize,
}

/// A file with its drop-ins, combined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitFile {
    pub sections: Vec<String>,
    pub settings: Vec<Setting>,
    /// Errors in single lines.
    pub faults: Vec<String>,
}

impl UnitFile {
    /// Adds the text of the file called `name`.
    pub fn add(&mut self, name: &str, text: &str) {
        let mut section = String::new();
        let mut lines = text.lines().enumerate();
        while let Some((at, first)) = lines.next() {
            let line = first.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(inner) = line.strip_prefix('[') {
                match inner.strip_suffix(']').filter(|inner| !inner.is_empty()) {
                    Some(inner) => {
                        inner.clone_into(&mut section);
                        if !self.sections.contains(&section) {
                            self.sections.push(section.clone());
                        }
                    }
                    None => self.faults.push(format!("{name}:{}: the section's name has no end", at + 1)),
                }
                continue;
            }
            // A trailing backslash joins the next line; comments in between are skipped.
            let mut whole = line.to_owned();
            while let Some(joined) = whole.strip_suffix('\\') {
                let next = lines.find(|(_, text)| !text.trim_start().starts_with(['#', ';']));
                whole = format!("{joined} {}", next.map_or("", |(_, text)| text.trim()));
            }
            match whole.split_once('=') {
                _ if section.is_empty() => {
                    self.faults.push(format!("{name}:{}: a setting before the first [section]", at + 1));
                }
                Some((key, value)) if !key.trim().is_empty() => self.settings.push(Setting {
                    section: section.clone(),
                    key: key.trim().to_owned(),
                    value: value.trim().to_owned(),
                    line: at + 1,
                }),
                _ => self.faults.push(format!("{name}:{}: neither a [section] nor a setting=value", at + 1)),
            }
        }
    }

    pub fn has(&self, section: &str) -> bool {
        self.sections.iter().any(|known| known == section)
    }

    /// All values of a setting; an empty one resets those before it.
    pub fn values(&self, section: &str, key: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for setting in self.settings.iter().filter(|setting| setting.section == section && setting.key == key) {
            if setting.value.is_empty() {
                found.clear();
            } else {
                found.push(setting.value.as_str());
            }
        }
        found
    }

    /// The names in a list setting.
    pub fn words(&self, section: &str, key: &str) -> Vec<&str> {
        self.values(section, key).into_iter().flat_map(str::split_whitespace).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> UnitFile {
        let mut file = UnitFile::default();
        file.add("a.service", text);
        file
    }

    #[test]
    fn sections_settings_comments_and_continued_lines() {
        let read = file(
            "# about\n[Unit]\nDescription = A b\n; no\nAfter=x.service \\\n# between\n  y.service\n\n[Install]\nAlso=a.socket\nAlso=\nAlso=b.socket c.service\n",
        );
        assert_eq!(read.sections, ["Unit", "Install"]);
        assert_eq!(read.values("Unit", "Description"), ["A b"]);
        assert_eq!(read.words("Unit", "After"), ["x.service", "y.service"]);
        assert_eq!(read.words("Install", "Also"), ["b.socket", "c.service"], "an empty value takes back");
        assert_eq!(read.settings[1].line, 5);
        assert!(read.faults.is_empty() && read.has("Unit") && !read.has("Service"));
    }

    #[test]
    fn what_is_neither_is_a_fault_with_its_line() {
        let read = file("Before=it\n[Unit\n[]\n[Service]\nExecStart\n=x\n");
        assert_eq!(read.faults.len(), 5, "{:?}", read.faults);
        assert!(read.faults[3].starts_with("a.service:5: neither"), "{:?}", read.faults);
        assert!(read.settings.is_empty());
        // A backslash at the very end has nothing to join.
        assert_eq!(file("[A]\nb=c\\").values("A", "b"), ["c"]);
    }
}
