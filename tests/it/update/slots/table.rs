//! Rule 1: the table of docs/update.md is the table of the code, has no hole and no row that never decides.

use ::update::{
    Slot,
    boot::{Evidence, ResetCause, Tries},
    bundle::Digest,
    slots::{
        Orderly, PendingUpdate, Stage, StateRecord, TrialKind,
        table::{ANY, Case, TABLE, TableRow, ValueSet, View, flag, place, recorded, row, since},
    },
    status::SlotState,
};
use std::{collections::BTreeSet, fs};

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/update.md");

/// No update is recorded.
const NOTHING: ValueSet = recorded::GOOD | recorded::UNKNOWN | recorded::BAD | recorded::LOST;

fn every_view() -> impl Iterator<Item = View> {
    let bits = |names: &[(ValueSet, &str)]| names.iter().map(|(bit, _)| *bit).collect::<Vec<_>>();
    let places = bits(&place::NAMES);
    let mut views = Vec::new();
    for flag in bits(&flag::NAMES) {
        for booted in &places {
            for root in &places {
                for default in &places {
                    for recorded in bits(&recorded::NAMES) {
                        for since in bits(&since::NAMES) {
                            let (booted, root, default) = (*booted, *root, *default);
                            views.push(View { flag, booted, root, default, recorded, since });
                        }
                    }
                }
            }
        }
    }
    views.into_iter()
}

/// With nothing recorded the running slot is `O`: `T` runs only with an update.
fn possible(view: &View) -> bool {
    let nothing = view.recorded & NOTHING != 0;
    let target_runs = view.booted != place::O && view.root != place::O && (view.booted | view.root) & place::T != 0;
    !(nothing && target_runs)
}

#[test]
fn every_boot_has_a_row_and_every_row_has_a_boot() {
    let mut decided = vec![0; TABLE.len()];
    for view in every_view().filter(possible) {
        let place = TABLE.iter().position(|row| row.fits(view));
        decided[place.unwrap_or_else(|| panic!("no row for {view:?}"))] += 1;
    }
    for (row, times) in TABLE.iter().zip(decided) {
        assert!(times > 0, "{:?} never decides", row.case);
    }
}

#[test]
fn a_trial_begins_only_with_the_flag_and_both_halves_of_the_target_and_the_other_slot_as_default() {
    for view in every_view() {
        let Some(TableRow { case: Case::TrialBegins | Case::TrialGoesOn | Case::CommitCut, .. }) = row(view) else {
            continue;
        };
        let View { flag, booted, root, default, .. } = view;
        assert_eq!((flag, booted, root, default), (flag::YES, place::T, place::T, place::O), "{view:?}");
        assert_ne!(view.recorded & recorded::STARTED, 0, "{view:?}");
    }
}

/// Words of the columns, from a record and evidence made for them: what `settle` sees is what the table speaks of.
#[test]
fn evidence_and_record_are_seen_in_the_words_of_the_table() {
    for view in every_view().filter(possible) {
        for target in Slot::BOTH {
            let (state, seen) = staged(view, target);
            let found = View::of(&state, &seen);
            if state.update.is_none() && seen.running().is_none() {
                // From elsewhere, or from halves of both, there is no slot that the words could be about.
                continue;
            }
            let settled = view.recorded & NOTHING != 0;
            let not_armed = view.recorded != recorded::ARMED;
            let same = View { since: found.since, ..view };
            assert_eq!(found, if settled || not_armed { same } else { view }, "{state:?} {seen:?}");
        }
    }
}

/// A record and evidence that show this view, with that slot as `T`.
pub fn staged(view: View, target: Slot) -> (StateRecord, Evidence) {
    let slot = |place: ValueSet| match place {
        place::T => Some(target),
        place::O => Some(target.other()),
        _ => None,
    };
    let boot = "this".to_owned();
    let mut state = StateRecord::default();
    let stage = match view.recorded {
        recorded::WRITING => Some(Stage::Writing),
        recorded::ARMED => Some(Stage::Armed),
        recorded::TRIAL => Some(Stage::Trial),
        recorded::COMMITTING => Some(Stage::Committing),
        recorded::ROLLED_BACK => Some(Stage::RolledBack),
        known => {
            state.lost = known == recorded::LOST;
            state.slots.of_mut(target.other()).state = match known {
                recorded::GOOD => SlotState::Good,
                recorded::BAD => SlotState::Bad,
                _ => SlotState::Unknown,
            };
            None
        }
    };
    let recorded_in = if view.since == since::NOW { boot.clone() } else { "earlier".into() };
    state.update = stage.map(|stage| pending(stage, target, &recorded_in));
    if view.since == since::TRIED {
        state.orderly = Some(Orderly { boot_id: Some("earlier".into()), trial: true, reason: "update".into() });
    }
    let seen = Evidence {
        trial: Some(view.flag == flag::YES),
        booted: slot(view.booted),
        root: slot(view.root),
        default: slot(view.default),
        armed: Some(target),
        tries: None,
        boot_id: Some(boot),
        reset: Some(ResetCause::PowerOn),
        last_words: Vec::new(),
        faults: Vec::new(),
    };
    (state, seen)
}

pub fn pending(stage: Stage, target: Slot, boot: &str) -> PendingUpdate {
    let trials = if matches!(stage, Stage::Writing | Stage::Armed) { vec![] } else { vec![boot.to_owned()] };
    let json = serde_json::json!({
        "kind": TrialKind::Install, "manifest": Digest([7; 32]), "version": "2.0.0", "counter": 2, "target": target,
        "stage": stage, "armings": 1, "armed_in": boot, "trials": trials,
    });
    serde_json::from_value(json).unwrap()
}

/// What tells a lost flag from a trial that died.
#[test]
fn since_is_read_from_the_marker_the_reset_and_the_chains_own_count() {
    let view = View {
        flag: flag::NO,
        booted: place::O,
        root: place::O,
        default: place::O,
        recorded: recorded::ARMED,
        since: since::UNTRIED,
    };
    let (state, seen) = staged(view, Slot::B);
    let asked = StateRecord {
        orderly: Some(Orderly { boot_id: Some("earlier".into()), trial: true, reason: String::new() }),
        ..state.clone()
    };
    let elsewise =
        StateRecord { orderly: asked.orderly.clone().map(|asked| Orderly { trial: false, ..asked }), ..state.clone() };
    let reset = |reset| Evidence { reset, ..seen.clone() };
    let counts = |armed, b| Evidence { armed, tries: Some(Tries { a: 3, b }), reset: None, ..seen.clone() };
    let watchdog = Some(ResetCause::Watchdog);
    for (state, seen, expected) in [
        // tryboot: only a restart that was asked for starts a trial, whatever the chip says of its cause.
        (&state, reset(Some(ResetCause::PowerOn)), since::UNTRIED),
        (&state, reset(watchdog), since::UNTRIED),
        (&state, reset(Some(ResetCause::SwitchedOff)), since::UNTRIED),
        (&state, reset(Some(ResetCause::UnderVoltage)), since::UNTRIED),
        (&state, reset(None), since::UNTRIED),
        (&elsewise, reset(watchdog), since::UNTRIED),
        (&asked, reset(watchdog), since::TRIED),
        (&asked, reset(Some(ResetCause::PowerOn)), since::TRIED),
        // U-Boot: it has counted.
        (&asked, counts(Some(Slot::B), 1), since::UNTRIED),
        (&state, counts(Some(Slot::B), 0), since::TRIED),
        // U-Boot forgot, or was never told.
        (&state, counts(None, 3), since::UNTRIED),
        (&asked, counts(None, 3), since::TRIED),
    ] {
        assert_eq!(View::of(state, &seen).since, expected, "{:?} {seen:?}", state.orderly);
    }
    // A hundred nights without power are no trial.
    let mut often = state.clone();
    often.update.as_mut().unwrap().lost = 100;
    assert_eq!(View::of(&often, &seen).since, since::UNTRIED);
}

fn name(case: Case) -> String {
    format!("{case:?}")
}

fn cell(set: ValueSet, names: &[(ValueSet, &str)]) -> String {
    if set == ANY {
        return String::new();
    }
    let words: Vec<&str> = names.iter().filter(|(bit, _)| set & bit != 0).map(|(_, word)| *word).collect();
    words.join(", ")
}

fn rendered() -> String {
    let mut table =
        String::from("| row | flag | booted | root | default | recorded | since | what it is | what is done |\n");
    table += "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for row in TABLE {
        let cells = [
            name(row.case),
            cell(row.flag, &flag::NAMES),
            cell(row.booted, &place::NAMES),
            cell(row.root, &place::NAMES),
            cell(row.default, &place::NAMES),
            cell(row.recorded, &recorded::NAMES),
            cell(row.since, &since::NAMES),
            row.means.into(),
            row.does.into(),
        ];
        table += &format!("| {} |\n", cells.join(" | "));
    }
    table
}

#[test]
fn the_document_shows_this_very_table() {
    let document = fs::read_to_string(DOC).unwrap();
    let (before, rest) = document.split_once("<!-- table -->\n").expect("its begin");
    let (shown, after) = rest.split_once("<!-- end -->").expect("its end");
    let table = rendered();
    if std::env::var_os("BLESS").is_some() && shown != table {
        fs::write(DOC, format!("{before}<!-- table -->\n{table}<!-- end -->{after}")).unwrap();
        return;
    }
    assert_eq!(shown, table, "run BLESS=1 cargo test --test it update::slots::table");
}

#[test]
fn names_of_cases_are_rows() {
    let names: BTreeSet<String> = TABLE.iter().map(|row| name(row.case)).collect();
    assert_eq!(names.len(), 28);
}
