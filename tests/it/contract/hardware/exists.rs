//! What a board has is what `system.get_capabilities` says it has.

use super::{Bench, assertions};
use serde_json::json;

assertions! {
    exists: |hand| hand.is_board() =>
        the_board_is_what_it_is,
        a_simulated_answer_says_so_and_no_other,
        what_the_board_has_is_told;
}

async fn the_board_is_what_it_is(bench: &Bench) {
    let board = &bench.call("system.get_capabilities", json!({})).await.ok()["board"];
    assert_eq!(board["kind"], json!(bench.hand.kind), "{board}");
}

async fn a_simulated_answer_says_so_and_no_other(bench: &Bench) {
    let answer = bench.call("system.get_capabilities", json!({})).await;
    let simulated = answer.simulated;
    assert_eq!(answer.ok()["board"]["simulated"], simulated);
    assert_eq!(simulated, bench.hand.kind == hw::model::BoardKind::Simulated);
}

async fn what_the_board_has_is_told(bench: &Bench) {
    let modules = &bench.call("system.get_capabilities", json!({})).await.ok()["modules"];
    let parts = [
        ("gpio", bench.hand.lines.is_some()),
        ("i2c", bench.hand.wires.is_some()),
        ("camera", bench.hand.scene.is_some()),
    ];
    for (module, there) in parts {
        assert!(!there || modules[module]["available"] == true, "{module}: {}", modules[module]);
    }
    for (module, word) in &bench.hand.devices {
        let told = modules[module]["devices"].as_array().unwrap_or_else(|| panic!("no devices of {module}: {modules}"));
        assert!(
            told.iter().any(|device| device.as_str().unwrap().contains(word.as_str())),
            "no {word:?} among {told:?}"
        );
    }
}
