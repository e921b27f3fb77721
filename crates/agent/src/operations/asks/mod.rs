//! Asks: opened and used by the server, answered by people at the machine.

mod answer;
mod answer_elicited;
mod await_ask;
mod follow;
mod list;
mod open;
mod redeem;
mod withdraw;

pub use answer::{AnswerAsk, AnswerRequest};
pub use answer_elicited::{AnswerElicited, ElicitedRequest};
pub use await_ask::{AwaitAsk, AwaitRequest, MAX_WAIT_MS};
pub use follow::{FollowAsks, FollowRequest};
pub use list::{ListAsks, ListRequest};
pub use open::OpenAsk;
pub use redeem::{RedeemAsk, RedeemRequest};
pub use withdraw::{WithdrawAsk, WithdrawRequest};
