//! Ways back that nobody asks for, and newer roots of trust.

use super::{update::*, *};
use crate::update::{NOW, PRODUCT, a_root, a_root_file, ids, signed};
use ::agent::{BootableCard, DEAD_MAN, UpdateTool, operations::update::RollBackRequest};
use ::update::{Slot, status::SlotState, trust::Purpose};
use base::error::ErrorCode;
use contract::meta::Mode;

const HOUR: i64 = 3_600_000;

/// Updates are let through, going back is denied to whoever asks.
fn with_dead_man(hours: u32) -> Pi {
    let mut pi = Pi::with(|settings| {
        settings.policy.namespaces.insert("manage".into());
        settings.policy.modes.insert("manage.update_server".into(), Mode::Allow);
        settings.policy.modes.insert("manage.rollback".into(), Mode::Deny);
        settings.update.product = PRODUCT.into();
        settings.update.trust = "/trust.json".into();
        settings.update.dead_man_hours = hours;
    });
    std::fs::write(pi.dir.path().join("trust.json"), a_root()).unwrap();
    pi.now_ms.store(NOW as i64 * 1000, Ordering::SeqCst);
    let card = BootableCard::simulated(&pi.dir.path().join("card")).unwrap();
    pi.update = CardPort {
        card: Ok(BootableCard { hardware: vec![crate::update::HARDWARE.into()], ..card }),
        ..CardPort::none()
    };
    pi.start();
    pi
}

fn going_back() -> RollBackRequest {
    RollBackRequest {
        dry_run: false,
        authorization: Authorization { principal: DEAD_MAN.into(), ..authorization(&json!({}), None) },
    }
}

#[tokio::test]
async fn the_dead_man_goes_back_when_his_time_has_come_and_only_once() {
    let pi = with_dead_man(24);
    let (link, args) = (pi.server(), json!({}));
    let early = link.call::<op::update::RollBack>(going_back()).await.unwrap_err();
    assert_eq!(early.code, ErrorCode::PermissionDenied, "nothing was committed: {early:?}");
    install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    restarted(&pi, 1).await;
    assert!(link.call::<op::update::ReportHealth>(healthy()).await.unwrap().committed);

    pi.now_ms.fetch_add(24 * HOUR - 1, Ordering::SeqCst);
    assert_eq!(
        link.call::<op::update::RollBack>(going_back()).await.unwrap_err().code,
        ErrorCode::PermissionDenied,
        "a moment too early"
    );
    pi.now_ms.fetch_add(1, Ordering::SeqCst);
    let other = RollBackRequest { authorization: authorization(&args, None), ..going_back() };
    assert_eq!(
        link.call::<op::update::RollBack>(other).await.unwrap_err().code,
        ErrorCode::PermissionDenied,
        "policy denies it to others"
    );
    let back = link.call::<op::update::RollBack>(going_back()).await.unwrap();
    assert_eq!((back.from, back.to, back.restarts), (Slot::B, Slot::A, true));
    restarted(&pi, 2).await;
    link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    let status = link.get::<op::update::GetUpdateStatus>().await.unwrap();
    assert_eq!(slot(&status, Slot::A), (SlotState::Good, Some("factory"), true), "{status:?}");
    // From the older version nothing leads back to the newer one by itself.
    pi.now_ms.fetch_add(1000 * HOUR, Ordering::SeqCst);
    assert_eq!(link.call::<op::update::RollBack>(going_back()).await.unwrap_err().code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn without_the_owners_word_there_is_no_dead_man() {
    let pi = with_dead_man(0);
    let (link, args) = (pi.server(), json!({}));
    install(&link, request(&args, None), &bundle("2.0.0", 2)).await.unwrap();
    link.call::<op::update::RebootIntoUpdate>(restart(&args)).await.unwrap();
    restarted(&pi, 1).await;
    link.call::<op::update::ReportHealth>(healthy()).await.unwrap();
    pi.now_ms.fetch_add(10_000 * HOUR, Ordering::SeqCst);
    assert_eq!(link.call::<op::update::RollBack>(going_back()).await.unwrap_err().code, ErrorCode::PermissionDenied);
}

fn root(version: u64, keys: &[u8]) -> String {
    let mut file = a_root_file(version);
    file.release.keys = ids(&[12, 13]);
    String::from_utf8(signed(Purpose::Root, &serde_json::to_vec(&file).unwrap(), keys)).unwrap()
}

#[tokio::test]
async fn a_newer_root_counts_once_enough_old_and_new_keys_have_signed_it() {
    let mut pi = with_dead_man(0);
    let link = pi.server();
    let head = |keys: &[u8]| {
        let boot = ::update::simulated::boot_image(256 << 10, "2.0.0").unwrap();
        let bundle = crate::update::a_bundle("2.0.0", 2, &boot, &[7; 4096], keys);
        bundle[..crate::update::envelope(&bundle).index_at as usize].to_vec()
    };
    link.judge_bundle(UpdateTool::UpdateServer, &head(&[11, 12])).await.unwrap();
    for bad in [root(2, &[1]), root(3, &[1, 2]), root(1, &[1, 2]), "no root".into(), String::new()] {
        let refused = link.call::<op::update::TrustRoot>(bad).await.unwrap_err();
        assert!(
            matches!(
                refused.code,
                ErrorCode::VerificationFailed | ErrorCode::InvalidArgument | ErrorCode::FailedPrecondition
            ),
            "{refused:?}"
        );
    }
    assert_eq!(link.call::<op::update::TrustRoot>(root(2, &[1, 2])).await.unwrap(), 2);
    assert_eq!(link.call::<op::update::TrustRoot>(root(2, &[1, 2])).await.unwrap(), 2, "twice is once");
    assert!(pi.log().contains("trust_root"));
    drop(link);
    // Key 11 signs releases no more; 12 and 13 do. So also for the agent that starts next.
    for again in [false, true] {
        if again {
            pi.restarted_agent().await;
        }
        let link = pi.server();
        let refused = link.judge_bundle(UpdateTool::UpdateServer, &head(&[11, 12])).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::VerificationFailed, "{refused:?}");
        link.judge_bundle(UpdateTool::UpdateServer, &head(&[12, 13])).await.unwrap();
    }
}
