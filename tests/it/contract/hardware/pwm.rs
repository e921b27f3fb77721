//! What holds of PWM, by hardware and by software on every board.

use super::{Bench, assertions, hand::Scope};
use contract::meta::Role;
use serde_json::{Value, json};

assertions! {
    pwm: |hand| hand.scope.is_some() =>
        a_pin_with_a_channel_has_its_wave_by_hardware,
        a_wave_is_changed_while_it_runs,
        a_released_wave_ends_and_its_channel_is_free,
        a_channel_that_another_program_has_is_left_to_it,
        another_pin_has_its_wave_by_software_and_says_what_it_achieves,
        the_ends_of_the_scale_are_levels,
        what_software_cannot_make_is_refused,
        a_wave_is_one_clients_at_a_time,
        a_client_that_hangs_up_takes_its_waves_with_it,
        many_waves_leak_neither_thread_nor_descriptor;
}

fn scope(bench: &Bench) -> &dyn Scope {
    bench.hand.scope.as_deref().expect("a board with PWM")
}

async fn set(bench: &Bench, pin: u8, frequency: f64, duty: f64) -> Value {
    let args = json!({"pin": pin, "frequency_hz": frequency, "duty_cycle_percent": duty});
    bench.call("gpio.set_pwm", args).await.ok()
}

/// What comes out is that wave, as closely as an emulated processor lets edges be seen.
async fn shows(bench: &Bench, pin: u8, frequency: f64, duty: f64) {
    let mut seen = Vec::new();
    // A busy machine disturbs one wave or another, and not ten looks at it.
    for _ in 0..10 {
        let (period, high) = scope(bench).signal(pin).unwrap_or_else(|| panic!("nothing comes out of GPIO {pin}"));
        let (found, share) = (1e9 / period as f64, high as f64 / period as f64 * 100.0);
        if (found / frequency - 1.0).abs() < 0.25 && (share - duty).abs() < 15.0 {
            return;
        }
        seen.push((found, share));
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    panic!("GPIO {pin}: {frequency} Hz and {duty} % were set, and these came out: {seen:?}");
}

async fn a_pin_with_a_channel_has_its_wave_by_hardware(bench: &Bench) {
    for pin in scope(bench).hardware() {
        let wave = set(bench, *pin, 20.0, 25.0).await;
        assert_eq!((&wave["source"], &wave["jitter"]), (&json!("hardware"), &json!("hardware")), "{wave}");
        assert_eq!((&wave["frequency_hz"], &wave["duty_cycle_percent"]), (&json!(20.0), &json!(25.0)), "{wave}");
        assert!(wave["channel"]["chip"].is_string() && wave.get("reason").is_none(), "{wave}");
        shows(bench, *pin, 20.0, 25.0).await;
        let seen = bench.call("gpio.read_pin", json!({"pin": pin})).await.ok();
        assert_eq!((&seen["mode"], &seen["pwm"]["frequency_hz"]), (&json!("output"), &json!(20.0)), "{seen}");
    }
}

async fn a_wave_is_changed_while_it_runs(bench: &Bench) {
    let pin = scope(bench).hardware()[0];
    // Longer and shorter, and each time a high part that the period before would not hold.
    for (frequency, duty) in [(40.0, 80.0), (10.0, 20.0), (50.0, 90.0), (20.0, 75.0)] {
        let wave = set(bench, pin, frequency, duty).await;
        assert_eq!((&wave["frequency_hz"], &wave["duty_cycle_percent"]), (&json!(frequency), &json!(duty)));
        shows(bench, pin, frequency, duty).await;
    }
    assert!(set(bench, pin, 1.0, 0.0).await["duty_cycle_percent"] == 0.0);
    assert!(set(bench, pin, 1.0, 100.0).await["duty_cycle_percent"] == 100.0);
}

async fn a_released_wave_ends_and_its_channel_is_free(bench: &Bench) {
    let pin = scope(bench).hardware()[0];
    set(bench, pin, 20.0, 50.0).await;
    let released = bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
    assert_eq!((released.get("pwm"), released.get("lease")), (None, None), "{released}");
    assert_eq!(scope(bench).signal(pin), None);
    drop(scope(bench).hold(pin));
    set(bench, pin, 20.0, 50.0).await;
}

async fn a_channel_that_another_program_has_is_left_to_it(bench: &Bench) {
    let pin = scope(bench).hardware()[0];
    let held = scope(bench).hold(pin);
    let args = json!({"pin": pin, "frequency_hz": 20, "duty_cycle_percent": 50});
    let refused = bench.call("gpio.set_pwm", args).await.refused();
    assert_eq!(refused["error_code"], "failed_precondition", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("another program has exported it"), "{refused}");
    drop(held);
    set(bench, pin, 20.0, 50.0).await;
}

async fn another_pin_has_its_wave_by_software_and_says_what_it_achieves(bench: &Bench) {
    for pin in scope(bench).software() {
        let wave = set(bench, *pin, 20.0, 40.0).await;
        assert_eq!(wave["source"], "software", "{wave}");
        assert!(wave["reason"].as_str().unwrap().starts_with(&format!("GPIO {pin} has no hardware PWM")), "{wave}");
        assert!(["low", "medium", "high"].contains(&wave["jitter"].as_str().unwrap()), "{wave}");
        shows(bench, *pin, 20.0, 40.0).await;
        // Measured over what the scope has seen; again where a busy machine disturbed it.
        let mut tries = 0;
        loop {
            let seen = bench.call("gpio.read_pin", json!({"pin": pin})).await.ok();
            let (frequency, duty) = (&seen["pwm"]["frequency_hz"], &seen["pwm"]["duty_cycle_percent"]);
            assert!(seen["pwm"]["measured"]["periods"].as_u64().unwrap() > 0, "{seen}");
            let near = (15.0..=21.0).contains(&frequency.as_f64().unwrap());
            if near && (25.0..=55.0).contains(&duty.as_f64().unwrap()) {
                break;
            }
            tries += 1;
            assert!(tries < 10, "{seen}");
            set(bench, *pin, 20.0, 40.0).await;
        }
    }
}

async fn the_ends_of_the_scale_are_levels(bench: &Bench) {
    let pin = scope(bench).software()[0];
    for (percent, value) in [(100.0, "high"), (0.0, "low"), (100.0, "high")] {
        set(bench, pin, 50_000.0, percent).await;
        let seen = bench.call("gpio.read_pin", json!({"pin": pin})).await.ok();
        assert_eq!(seen["value"], value, "{percent} %: {seen}");
    }
    bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
}

async fn what_software_cannot_make_is_refused(bench: &Bench) {
    let pin = scope(bench).software()[0];
    let args = json!({"pin": pin, "frequency_hz": 2001, "duty_cycle_percent": 50});
    let refused = bench.call("gpio.set_pwm", args).await.refused();
    assert_eq!(refused["error_code"], "failed_precondition", "{refused}");
    assert_eq!(refused["details"]["max_frequency_hz"], 2000.0, "{refused}");
    let hardware = scope(bench).hardware()[0].to_string();
    assert!(refused["message"].as_str().unwrap().contains(&hardware), "who has hardware: {refused}");
    let seen = bench.call("gpio.read_pin", json!({"pin": pin})).await.ok();
    assert_eq!((seen.get("pwm"), seen.get("lease")), (None, None), "{seen}");
}

async fn a_wave_is_one_clients_at_a_time(bench: &Bench) {
    let (ann, bob) = (bench.client("ann", Role::OpsRw), bench.client("bob", Role::OpsRw));
    for pin in [scope(bench).hardware()[0], scope(bench).software()[0]] {
        let args = json!({"pin": pin, "frequency_hz": 20, "duty_cycle_percent": 50});
        ann.call("gpio.set_pwm", args.clone()).await.ok();
        for (tool, args) in [
            ("gpio.set_pwm", args),
            ("gpio.write_pin", json!({"pin": pin, "value": "low"})),
            ("gpio.release_pin", json!({"pin": pin})),
        ] {
            assert_eq!(bob.call(tool, args).await.refused()["details"]["lent_to"], "ann", "{tool}");
        }
        shows(bench, pin, 20.0, 50.0).await;
    }
}

async fn a_client_that_hangs_up_takes_its_waves_with_it(bench: &Bench) {
    let ann = bench.client("ann", Role::OpsRw);
    let pins = [scope(bench).hardware()[0], scope(bench).software()[0]];
    for pin in pins {
        ann.call("gpio.set_pwm", json!({"pin": pin, "frequency_hz": 20, "duty_cycle_percent": 50})).await.ok();
    }
    ann.hang_up();
    for pin in pins {
        assert_eq!(scope(bench).signal(pin), None, "GPIO {pin}");
    }
}

async fn many_waves_leak_neither_thread_nor_descriptor(bench: &Bench) {
    let pins = [scope(bench).hardware()[0], scope(bench).software()[0]];
    let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    let before = (count("fd"), count("task"));
    for turn in 0..30 {
        for pin in pins {
            set(bench, pin, 1000.0, f64::from(turn % 2) * 100.0).await;
            bench.call("gpio.release_pin", json!({"pin": pin})).await.ok();
        }
    }
    // Other tests of the same process open and close theirs meanwhile.
    assert!(count("fd") < before.0 + 20 && count("task") < before.1 + 20, "{before:?} before");
}
