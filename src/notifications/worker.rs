//! The task of one receiver: sends what waits, in order, again after growing pauses, and sleeps until more arrives.

use super::{
    message::Message,
    post::Outcome,
    queue::{Queue, Waiting},
};
use base::clock::Wall;
use futures::future::BoxFuture;
use ring::rand::{SecureRandom, SystemRandom};
use std::time::Duration;
use tokio::time::sleep;

/// The pause after the first failure. Each further one is twice as long, up to [`LONGEST`].
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(900);

/// How messages reach a receiver.
pub trait Carrier: Send {
    /// Tries once. `dropped`: how many messages before it were lost. `now_ms`: milliseconds since 1970 UTC.
    fn carry<'a>(&'a mut self, message: &'a Message, dropped: u64, now_ms: i64) -> BoxFuture<'a, Outcome>;
    /// Frees what only sending needs.
    fn rest(&mut self);
    /// The message was taken or given up.
    fn settled<'a>(&'a mut self, message: &'a Message) -> BoxFuture<'a, ()>;
}

/// Serves the queue for ever. A message is tried again for `retry`, and never after its end.
pub async fn run(queue: &Queue, carrier: &mut dyn Carrier, retry: Duration, wall: &Wall) {
    // Failures in a row, of whichever messages.
    let mut failures = 0;
    loop {
        let seen = queue.arrivals();
        let Some((Waiting { message, since }, dropped)) = queue.head() else {
            carrier.rest();
            queue.arrived(seen).await;
            continue;
        };
        let now_ms = wall.now_ms();
        if message.event.ends_ms().is_some_and(|ends| ends <= now_ms) || since.elapsed() >= retry {
            queue.given_up(&message);
            carrier.settled(&message).await;
            continue;
        }
        match carrier.carry(&message, dropped, now_ms).await {
            Outcome::Taken(_) => {
                failures = 0;
                queue.taken(&message, dropped);
                carrier.settled(&message).await;
            }
            Outcome::Refused(why) => {
                tracing::warn!(why, event = message.event.word(), "a webhook refused a message");
                queue.failing(&why, now_ms);
                queue.given_up(&message);
                carrier.settled(&message).await;
            }
            Outcome::Later(why) => {
                if failures == 0 {
                    tracing::warn!(
                        why,
                        event = message.event.word(),
                        "a webhook did not take a message; it is sent again"
                    );
                }
                queue.failing(&why, now_ms);
                carrier.rest();
                // News wakes it: an ask does not wait for the end of a long pause.
                tokio::select! {
                    () = sleep(pause(failures, &SystemRandom::new())) => {}
                    () = queue.arrived(seen) => {}
                }
                failures = failures.saturating_add(1);
            }
        }
    }
}

/// The pause after `failures` failures and one more: a random time between half and all of a duration that doubles.
fn pause(failures: u32, random: &dyn SecureRandom) -> Duration {
    let whole = PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST);
    let mut byte = [0];
    // Without random numbers all devices return at the same time, which is still better than not at all.
    let _ = random.fill(&mut byte);
    whole - whole.mul_f64(f64::from(byte[0]) / 512.0)
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::*;
    use std::sync::{Arc, Mutex};
    use tokio::time::Instant;

    /// Takes notes of what it is to carry, and answers as it is told.
    struct Script {
        begun: Instant,
        tried: Arc<Mutex<Vec<(Duration, String, u64)>>>,
        answer: Box<dyn FnMut(usize) -> Outcome + Send>,
        settled: Arc<Mutex<usize>>,
    }

    impl Carrier for Script {
        fn carry<'a>(&'a mut self, message: &'a Message, dropped: u64, _: i64) -> BoxFuture<'a, Outcome> {
            let mut tried = self.tried.lock().unwrap();
            tried.push((self.begun.elapsed(), message.event.word(), dropped));
            let outcome = (self.answer)(tried.len());
            Box::pin(async move { outcome })
        }
        fn rest(&mut self) {}
        fn settled<'a>(&'a mut self, _: &'a Message) -> BoxFuture<'a, ()> {
            *self.settled.lock().unwrap() += 1;
            Box::pin(async {})
        }
    }

    struct Run {
        queue: Arc<Queue>,
        tried: Arc<Mutex<Vec<(Duration, String, u64)>>>,
        settled: Arc<Mutex<usize>>,
    }

    /// A receiver that answers so, with time that the test moves.
    fn run_with(retry: Duration, answer: impl FnMut(usize) -> Outcome + Send + 'static) -> Run {
        let (queue, tried, settled) = (Arc::new(Queue::default()), Arc::default(), Arc::default());
        let begun = Instant::now();
        let mut script =
            Script { begun, tried: Arc::clone(&tried), answer: Box::new(answer), settled: Arc::clone(&settled) };
        let served = Arc::clone(&queue);
        let wall = Wall::of(move || i64::try_from(begun.elapsed().as_millis()).unwrap());
        tokio::spawn(async move { run(&served, &mut script, retry, &wall).await });
        Run { queue, tried, settled }
    }

    fn message(event: Event) -> Arc<Message> {
        Arc::new(Message::new(event, 0, None).unwrap())
    }

    fn later(_: usize) -> Outcome {
        Outcome::Later("it answered 500".into())
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_a_quarter_of_an_hour_until_the_message_is_given_up() {
        let hours = Duration::from_secs(6 * 3600);
        let Run { queue, tried, settled } = run_with(hours, later);
        queue.push(message(Event::UnderVoltage { times: 1 }));
        sleep(hours + LONGEST).await;
        let times: Vec<Duration> = tried.lock().unwrap().iter().map(|(at, ..)| *at).collect();
        for (number, pair) in times.windows(2).enumerate() {
            let whole = PAUSE.saturating_mul(1 << number.min(16)).min(LONGEST);
            let gone = pair[1] - pair[0];
            // tokio's timer has milliseconds.
            assert!(gone >= whole / 2 && gone <= whole + Duration::from_millis(2), "pause {number}: {gone:?}");
        }
        assert!((30..100).contains(&times.len()), "{}", times.len());
        assert!(*times.last().unwrap() < hours);
        let report = queue.report("a");
        assert_eq!((report.failed, report.sent, report.waiting, *settled.lock().unwrap()), (1, 0, 0, 1));
        assert_eq!(report.last_error.as_deref(), Some("it answered 500"));
        // Nothing waits: nothing wakes up.
        let before = tried.lock().unwrap().len();
        sleep(hours).await;
        assert_eq!(tried.lock().unwrap().len(), before);
    }

    #[tokio::test(start_paused = true)]
    async fn news_does_not_wait_for_the_end_of_a_pause_and_order_is_kept() {
        let Run { queue, tried, .. } =
            run_with(
                Duration::from_secs(6 * 3600),
                |number| {
                    if number <= 12 { later(number) } else { Outcome::Taken(200) }
                },
            );
        queue.push(message(Event::UnderVoltage { times: 1 }));
        // Into a pause of seven minutes at least.
        while tried.lock().unwrap().len() < 12 {
            sleep(Duration::from_secs(1)).await;
        }
        let ask = Event::AskOpened { tool: "a.b".into(), ask_id: "1".into(), expires_ms: i64::MAX };
        let at = Instant::now();
        queue.push(message(ask));
        sleep(Duration::from_secs(1)).await;
        assert!(at.elapsed() < Duration::from_secs(2));
        let words: Vec<String> = tried.lock().unwrap().iter().skip(12).map(|(_, word, _)| word.clone()).collect();
        assert_eq!(words, ["under_voltage", "ask_opened"]);
        let report = queue.report("a");
        assert_eq!((report.sent, report.failing_since, report.last_error), (2, None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_that_has_expired_is_no_news_and_a_refusal_is_final() {
        let Run { queue, tried, settled } = run_with(Duration::from_secs(6 * 3600), |number| match number {
            1 => Outcome::Refused("it answered 404".into()),
            _ => later(number),
        });
        queue.push(message(Event::Test));
        let ask = Event::AskOpened { tool: "a.b".into(), ask_id: "1".into(), expires_ms: 60_000 };
        queue.push(message(ask));
        sleep(Duration::from_secs(200)).await;
        let last = tried.lock().unwrap().last().unwrap().0;
        assert!(last < Duration::from_secs(60), "{last:?}");
        assert_eq!((queue.report("a").failed, *settled.lock().unwrap()), (2, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn the_receiver_is_told_once_how_many_were_lost() {
        let Run { queue, tried, .. } = run_with(Duration::from_secs(3600), |_| Outcome::Taken(200));
        queue.lose();
        queue.lose();
        queue.push(message(Event::Test));
        queue.push(message(Event::Test));
        sleep(Duration::from_secs(1)).await;
        let told: Vec<u64> = tried.lock().unwrap().iter().map(|(.., dropped)| *dropped).collect();
        assert_eq!(told, [2, 0]);
    }
}
