//! Asks that open, are answered or expire, as the agent tells while somebody listens.

use super::notifier::EVERY;
use agent::{
    AgentLink, Ask,
    operations::asks::{FollowAsks, FollowRequest},
};
use base::error::ToolError;
use futures::future::BoxFuture;
use tokio::time::sleep;

/// What is known of them. The default knows nothing, so that its first answer is a change: a subscriber may have read
/// before.
#[derive(Default)]
pub struct Asks {
    known: Option<Vec<String>>,
    under_way: Option<BoxFuture<'static, Result<Vec<Ask>, ToolError>>>,
}

impl Asks {
    /// Returns at the next change. If it is dropped before, the question to the agent goes on and the next call takes it up.
    pub async fn changed(&mut self, agent: &AgentLink) {
        loop {
            let known = &self.known;
            let under_way = self.under_way.get_or_insert_with(|| follow(agent.clone(), known.clone()));
            let answer = under_way.await;
            self.under_way = None;
            let Ok(asks) = answer else { continue };
            let now = Some(asks.into_iter().map(|ask| ask.id).collect());
            if now != self.known {
                self.known = now;
                return;
            }
        }
    }
}

/// An agent that is not there is asked again as often as the machine's health is looked at for the same listeners.
fn follow(agent: AgentLink, known: Option<Vec<String>>) -> BoxFuture<'static, Result<Vec<Ask>, ToolError>> {
    Box::pin(async move {
        let answer = agent.call::<FollowAsks>(FollowRequest { known }).await;
        if answer.is_err() {
            sleep(EVERY).await;
        }
        answer
    })
}
