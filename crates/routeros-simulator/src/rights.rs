//! Policies of users and scripts.

/// What a policy such as `read,write,!policy` allows.
pub(crate) struct Rights<'a>(&'a str);

impl<'a> Rights<'a> {
    pub fn of(policy: &'a str) -> Self {
        Self(policy)
    }

    pub fn has(&self, right: &str) -> bool {
        self.0.split(',').any(|one| one == right)
    }
}
