//! What the rules of the bus let the accounts of agents do, and let others do with agents.

use super::*;

fn denied(answer: zbus::Result<zbus::Message>) {
    match answer.unwrap_err() {
        zbus::Error::FDO(error) if matches!(*error, zbus::fdo::Error::AccessDenied(_)) => {}
        other => panic!("not denied: {other}"),
    }
}

#[tokio::test]
async fn only_the_accounts_of_agents_may_have_such_a_name_and_no_other() {
    if !is_root() {
        return;
    }
    let bus = PrivateBus::shipped();
    let ask = async |connection: &Connection, name: &str| {
        connection.call_method(Some(BUS), "/", Some(BUS), "RequestName", &(name, 4_u32)).await
    };
    // nobody, and the server's account.
    for connection in [connect_as(&bus, 65534).await, bus.connect().await] {
        denied(ask(&connection, "org.dbusmcp.Agent.greenhouse").await);
    }
    for n in 0..10 {
        let agent = connect_as(&bus, agent_uid(n)).await;
        let name = format!("org.dbusmcp.Agent.greenhouse{n}");
        assert_eq!(ask(&agent, &name).await.unwrap().body().deserialize::<u32>().unwrap(), 1);
        for name in ["org.raspimcp", "org.dbusmcp.Orchestrator", "org.freedesktop.systemd1", "org.example"] {
            denied(ask(&agent, name).await);
        }
    }
}

#[tokio::test]
async fn an_agent_can_call_nobody_and_hears_nothing() {
    if !is_root() {
        return;
    }
    let bus = PrivateBus::shipped();
    let machine = Machine::on(&bus, declared).await;
    let door = raspi_mcp::transport::bus::BusDoor::open(bus.bus(), true).await.unwrap();
    machine.pi.server().tasks.spawn(door.run(machine.pi.server()));
    let systemd = Thing::on(bus.connect().await);
    systemd.connection.request_name("org.freedesktop.systemd1").await.unwrap();
    let (agent, other) = (connect_as(&bus, agent_uid(0)).await, Thing::come(&bus, 1).await);
    let call = async |to: &str, path: &str, interface: &str, method: &str| {
        agent.call_method(Some(to), path, Some(interface), method, &()).await
    };
    denied(call("org.raspimcp", "/org/raspimcp", "org.raspimcp.Tools1", "List").await);
    denied(call("org.raspimcp", "/org/raspimcp", "org.freedesktop.DBus.Introspectable", "Introspect").await);
    denied(call("org.dbusmcp.Orchestrator", "/", "org.dbusmcp.Orchestrator", "ListAgents").await);
    let manager = "org.freedesktop.systemd1.Manager";
    denied(call("org.freedesktop.systemd1", "/org/freedesktop/systemd1", manager, "Reload").await);
    denied(call(NAME, PATH, "org.dbusmcp.Agent", "GetCapabilities").await);
    let unique = other.connection.unique_name().unwrap().to_string();
    denied(call(&unique, PATH, "org.dbusmcp.Agent", "GetCapabilities").await);
    denied(call(BUS, "/org/freedesktop/DBus", BUS, "ListNames").await);
    denied(call(BUS, "/org/freedesktop/DBus", "org.freedesktop.DBus.Monitoring", "BecomeMonitor").await);

    // It may ask for signals, and gets none; what it says to everybody arrives nowhere.
    let mut hears = MessageStream::from(&agent);
    agent.call_method(Some(BUS), "/", Some(BUS), "AddMatch", &"type='signal'").await.unwrap();
    denied(agent.call_method(Some(BUS), "/", Some(BUS), "AddMatch", &"eavesdrop='true'").await);
    let server = bus.connect().await;
    server.call_method(Some(BUS), "/", Some(BUS), "AddMatch", &"type='signal'").await.unwrap();
    let mut server_hears = MessageStream::from(&server);
    agent.emit_signal(None::<&str>, "/org/x", "org.x", "FromAgent", &()).await.unwrap();
    server.emit_signal(None::<&str>, "/org/x", "org.x", "FromServer", &()).await.unwrap();
    let heard = soon(async {
        loop {
            let message = server_hears.next().await.unwrap().unwrap();
            let member = message.header().member().map(|name| name.to_string()).unwrap_or_default();
            assert_ne!(member, "FromAgent");
            if member == "FromServer" {
                return member;
            }
        }
    })
    .await;
    assert_eq!(heard, "FromServer");
    // An answer of the bus, after which nothing of before can come.
    call(BUS, "/org/freedesktop/DBus", BUS, "ListNames").await.unwrap_err();
    while let Some(Some(Ok(message))) = futures::FutureExt::now_or_never(hears.next()) {
        let header = message.header();
        assert!(header.sender().is_none_or(|sender| sender.as_str() == BUS), "{header:?}");
    }
}

#[tokio::test]
async fn only_the_server_may_call_an_agent() {
    if !is_root() {
        return;
    }
    let bus = PrivateBus::shipped();
    let thing = Thing::come(&bus, 0).await;
    let unique = thing.connection.unique_name().unwrap().to_string();
    let nobody = connect_as(&bus, 65534).await;
    for to in [NAME, unique.as_str()] {
        denied(nobody.call_method(Some(to), PATH, Some("org.dbusmcp.Agent"), "GetCapabilities", &()).await);
        denied(nobody.call_method(Some(to), PATH, Some("org.freedesktop.DBus.Peer"), "Ping", &()).await);
    }
    let server = bus.connect().await;
    server.call_method(Some(NAME), PATH, Some("org.dbusmcp.Agent"), "GetCapabilities", &()).await.unwrap();
    server.call_method(Some(unique.as_str()), PATH, Some("org.dbusmcp.Agent"), "GetCapabilities", &()).await.unwrap();
    denied(server.call_method(Some(NAME), PATH, Some("org.freedesktop.DBus.Peer"), "Ping", &()).await);
}
