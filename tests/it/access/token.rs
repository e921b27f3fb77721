//! A token from its making to its end: printed once, pasted into the configuration, presented, expired.

use crate::config::Machine;
use base::error::ErrorCode;
use contract::{
    access::token::{EARLIEST, PREFIX, Token, TokenError, judge, run_new},
    meta::Role,
};
use std::collections::BTreeSet;
use time::{Duration, macros::datetime};

const NOW: time::OffsetDateTime = datetime!(2026-11-21 12:00 UTC);

/// The token and the lines for the configuration, as printed.
fn printed(text: &str) -> (String, String) {
    let token = text.lines().map(str::trim).find(|line| line.starts_with(PREFIX)).expect("the token");
    let lines = &text[text.find("[[access.tokens]]").expect("the lines to paste")..];
    (token.to_owned(), lines.to_owned())
}

#[test]
fn what_was_printed_is_accepted_until_it_expires() {
    let expires = NOW + Duration::hours(1);
    let (token, lines) = printed(&run_new("laptop", Role::OpsRw, None, Some(expires), Vec::new()).expect("a token"));
    assert!(!lines.contains(&token), "the configuration never has the secret");
    let tokens = Machine::new().site(&lines).starts().access.tokens;

    let found = judge(&tokens, &token, NOW).expect("known");
    assert_eq!((found.name.as_str(), found.role, found.devices.len()), ("laptop", Role::OpsRw, 0));
    let refused = |presented: &str, now| judge(&tokens, presented, now).expect_err("refused");
    assert!(judge(&tokens, &token, expires - Duration::seconds(1)).is_ok());
    assert_eq!(refused(&token, expires), TokenError::Expired);
    assert_eq!(refused(&token, EARLIEST - Duration::seconds(1)), TokenError::Clock);
    assert_eq!(refused(&token[..token.len() - 1], NOW), TokenError::Unknown);
    assert_eq!(refused("", NOW), TokenError::Unknown);
    assert_eq!(refused(&"x".repeat(100_000), NOW), TokenError::Unknown);
    assert_eq!(judge(&[], &token, NOW), Err(TokenError::Unknown));
}

#[test]
fn it_may_be_for_some_routers() {
    let routers = vec!["edge".to_owned(), "attic-2".to_owned()];
    let (_, lines) = printed(&run_new("watcher", Role::OpsRw, None, None, routers.clone()).expect("a token"));
    assert_eq!(Machine::new().site(&lines).starts().access.tokens[0].devices, routers);
}

#[test]
fn each_of_many_is_found_as_itself() {
    let mut pi = Machine::new();
    let mut minted = Vec::new();
    for (name, role) in [("one", Role::ReadOnly), ("two", Role::OpsRw), ("three", Role::Admin)] {
        let (token, lines) = printed(&run_new(name, role, None, None, Vec::new()).expect("a token"));
        pi = pi.file(&format!("/etc/raspi-mcp/{name}.toml"), lines);
        minted.push((token, name, role));
    }
    let tokens = pi.starts().access.tokens;
    for (token, name, role) in minted {
        let found = judge(&tokens, &token, NOW).expect("known");
        assert_eq!((found.name.as_str(), found.role), (name, role));
    }
}

#[test]
fn tokens_differ_and_do_not_show_themselves() {
    let tokens: Vec<Token> = (0..50).map(|_| Token::mint().expect("a token")).collect();
    let distinct: BTreeSet<&str> = tokens.iter().map(Token::reveal).collect();
    assert_eq!(distinct.len(), 50);
    assert!(distinct.iter().all(|token| token.len() == PREFIX.len() + 43), "256 bits in base64");
    assert_eq!(format!("{:?}", tokens[0]), "Token(…)");
}

#[test]
fn a_name_the_configuration_would_refuse_is_refused_before() {
    let error = run_new("My Laptop", Role::Admin, None, None, Vec::new()).expect_err("refused");
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert_eq!(error.message, "a token's name is 1 to 64 characters from a-z, 0-9, \"_\" and \"-\"");
    assert!(error.hint.is_some());
}
