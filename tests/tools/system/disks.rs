//! The file systems of a health snapshot, from a literal mountinfo.

use crate::support::{
    pi::Pi,
    trees::{Copied, machine},
};
use serde_json::{Value, json};

async fn health(mounts: &str) -> Value {
    let copy = Copied::of("pi-5");
    copy.write("data/kept", "x").write("boot/firmware/config.txt", "").write("proc/self/mountinfo", mounts);
    Pi::on(machine(copy.root())).call("system.get_health_snapshot", json!({})).await.ok()
}

#[tokio::test(start_paused = true)]
async fn every_real_one_once() {
    let health = health(
        "28 1 179:2 / / ro - squashfs /dev/mapper/root ro\n\
         29 28 0:22 / /run rw,nosuid - tmpfs tmpfs rw\n\
         30 28 179:1 / /boot/firmware rw - vfat /dev/mmcblk0p1 rw\n\
         31 28 179:8 / /data rw - ext4 /dev/mmcblk0p8 rw\n\
         32 28 179:8 /var /var rw - ext4 /dev/mmcblk0p8 rw\n\
         33 28 0:41 / /mnt/nas rw - nfs4 nas:/export rw\n\
         34 28 8:1 / /mnt/gone rw - ext4 /dev/sda1 rw\n",
    )
    .await;
    let disks = health["file_systems"].as_array().unwrap();
    let places: Vec<&Value> = disks.iter().map(|disk| &disk["mount_point"]).collect();
    assert_eq!(places, ["/", "/boot/firmware", "/data", "/mnt/nas", "/mnt/gone"]);
    assert_eq!((&disks[0]["read_only"], &disks[2]["read_only"]), (&json!(true), &json!(false)));
    let data = &disks[2];
    assert_eq!((&data["device"], &data["file_system"]), (&json!("/dev/mmcblk0p8"), &json!("ext4")));
    let number = |name: &str| data[name].as_u64().unwrap();
    assert!(number("total_bytes") >= number("used_bytes") + number("free_bytes") && number("used_bytes") > 0, "{data}");
    assert!(data["used_percent"].as_f64().unwrap() > 0.0 && data.get("problem").is_none());
    for without in &disks[3..] {
        assert!(without.get("used_percent").is_none() && without.get("total_bytes").is_none(), "{without}");
    }
    assert!(disks[3]["problem"].as_str().unwrap().starts_with("not asked"));
    assert!(disks[4]["problem"].as_str().unwrap().contains("No such file"), "{}", disks[4]);
    assert!(health["disk_total_bytes"].is_u64() && health.get("file_systems_left_out").is_none());
}

#[tokio::test(start_paused = true)]
async fn no_more_than_an_answer_holds() {
    let many: String = (0..40).map(|n| format!("{n} 1 8:{n} / /mnt/{n} rw - ext4 /dev/sda{n} rw\n")).collect();
    let health = health(&many).await;
    assert_eq!((health["file_systems"].as_array().unwrap().len(), &health["file_systems_left_out"]), (32, &json!(8)));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_understood_is_told_and_none_is_no_fault() {
    let bad = health("28 1 179:2 / /\n").await;
    assert!(bad.get("file_systems").is_none());
    assert!(bad["unreadable"]["file_systems"].as_str().unwrap().contains("mountinfo"), "{bad}");
    let none = Pi::like("pi-5").call("system.get_health_snapshot", json!({})).await.ok();
    assert!(none.get("file_systems").is_none() && none.get("unreadable").is_none());
    assert_eq!(health("").await["file_systems"], json!([]));
}
