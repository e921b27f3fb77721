//! One install stream, from head to end: reads frames, drives the engine, answers. Runs on its own thread.

use super::{InstallRequest, admit_install};
use crate::{
    context::{Agent, Context},
    installer::{InstallGuard, System},
    peer::Peer,
};
use base::error::{ErrorCode, ToolError, WireError};
use serde_json::json;
use std::{
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use update::{
    bundle::{BlockIndex, MAX_HEAD},
    install::{
        Armed, Finish, InstallEngine, Judged,
        frame::{self, FrameKind, HEADER, InstallProgress},
        hooks::{InstallObserver, Point},
    },
    slots::BootState,
    trust::VerifiedRelease,
};

/// Limit from the first byte of a frame to its last. Between frames there is none, because the server fetches.
const FRAME: Duration = Duration::from_secs(60);

/// An accepted install stream.
pub(crate) struct InstallSession {
    pub agent: Arc<Agent>,
    pub system: Arc<System>,
    pub peer: Peer,
    pub request: InstallRequest,
    /// The lock that allows one install at a time.
    pub guard: InstallGuard,
}

/// How the stream ended.
enum End {
    Judged(Judged),
    Armed(Armed),
    /// The server closed the stream or cancelled.
    Left,
}

impl InstallSession {
    /// Serves the stream to its end.
    pub fn run(self, stream: UnixStream) {
        let line = Arc::new(Line { stream, write: Mutex::new(()), outer: Arc::clone(self.agent.installer.watch()) });
        let ended = self.serve(&line);
        let version = self.guard.version();
        let Self { agent, peer, request, guard, .. } = self;
        let (what, outcome) = match &ended {
            Ok(End::Judged(_) | End::Armed(_)) => ("install", "ok"),
            Ok(End::Left) => ("install left", "paused"),
            Err(error) => ("install", error.code.symbol()),
        };
        // A stream that only judges is not logged.
        if request.authorization.is_some() {
            let reason = ended.as_ref().err().map(|error| error.message.clone());
            let note = json!({ "request": request, "version": version, "outcome": outcome, "reason": reason });
            if let Err(error) = agent.log.write(what, &peer, note) {
                tracing::error!(target: "agent", %error, "log");
            }
        }
        // Released before the last frame: its reader may begin the next install at once.
        drop(guard);
        let (kind, json) = match ended {
            Ok(End::Judged(judged)) => (FrameKind::Judged, json_of(&judged)),
            Ok(End::Armed(armed)) => (FrameKind::Armed, json_of(&armed)),
            Ok(End::Left) => return,
            Err(error) => (FrameKind::Failed, json_of(&WireError::from(error))),
        };
        // A peer that is gone does not need it.
        if let Ok(json) = json {
            let _ = line.say(kind, &json);
        }
    }

    fn serve(&self, line: &Arc<Line>) -> Result<End, ToolError> {
        let mut payload = Vec::new();
        let Some(FrameKind::Head) = line.hear(&mut payload)? else { return Err(expected("the head")) };
        let (release, judged) = self.system.judge(&payload)?;
        self.guard.is_of(&judged.version);
        if self.request.authorization.is_some() {
            let cx = Context { agent: &self.agent, peer: &self.peer };
            admit_install(&cx, &self.request, &self.system, &release)?;
        }
        if self.request.authorization.is_none() {
            return Ok(End::Judged(judged));
        }
        line.say(FrameKind::Judged, &json_of(&judged)?)?;
        let Some(index) = self.index(line, &release, &mut payload)? else { return Ok(End::Left) };
        self.install(line, release, index, &judged, payload)
    }

    /// Assembles the index from its pieces; its length must match the manifest's.
    fn index(
        &self,
        line: &Line,
        release: &VerifiedRelease,
        payload: &mut Vec<u8>,
    ) -> Result<Option<BlockIndex>, ToolError> {
        let size = release.manifest.index.size as usize;
        let mut bytes = Vec::new();
        bytes.reserve_exact(size);
        while bytes.len() < size {
            match line.hear(payload)? {
                Some(FrameKind::Index) if bytes.len() + payload.len() <= size => bytes.extend_from_slice(payload),
                Some(FrameKind::Index) => return Err(ToolError::invalid("the index is longer than the manifest says")),
                None | Some(FrameKind::Cancel) => return Ok(None),
                Some(_) => return Err(expected("the index")),
            }
        }
        Ok(Some(release.index(bytes)?))
    }

    fn install(
        &self,
        line: &Arc<Line>,
        release: VerifiedRelease,
        index: BlockIndex,
        judged: &Judged,
        mut payload: Vec<u8>,
    ) -> Result<End, ToolError> {
        let site = self.system.site(Arc::clone(line) as _, self.request.restart);
        let mut engine = InstallEngine::prepare(site, release, index, judged.target)?;
        line.say(FrameKind::Wanted, engine.wanted().bytes())?;
        loop {
            match line.hear(&mut payload) {
                Ok(Some(FrameKind::Block)) => {
                    let Some((n, stored)) = payload.split_first_chunk::<4>() else { return Err(expected("a block")) };
                    engine.block(u32::from_le_bytes(*n), stored)?;
                }
                Ok(Some(FrameKind::Finish)) => match engine.finish()? {
                    Finish::More(wanted) => line.say(FrameKind::Wanted, wanted.bytes())?,
                    Finish::Armed(armed) => {
                        *self.system.standing() = BootState::Armed;
                        self.agent.installer.plan_changed(false);
                        return Ok(End::Armed(armed));
                    }
                },
                Ok(None | Some(FrameKind::Cancel)) => return engine.pause().map(|()| End::Left),
                Ok(Some(_)) => return engine.pause().and(Err(expected("a block"))),
                Err(error) => return engine.pause().and(Err(error)),
            }
        }
    }
}

/// Both directions of the stream.
struct Line {
    stream: UnixStream,
    /// Locked per frame, so that frames do not interleave.
    write: Mutex<()>,
    outer: Arc<dyn InstallObserver>,
}

impl Line {
    /// Reads the next frame; `None` at the end.
    fn hear(&self, payload: &mut Vec<u8>) -> Result<Option<FrameKind>, ToolError> {
        let wait = |limit| self.stream.set_read_timeout(limit).map_err(|error| frame::broken(&error));
        wait(None)?;
        let mut first = [0];
        // Peeked, not read: a frame's time limit starts with its first byte.
        if self.peek(&mut first, false)? == 0 {
            return Ok(None);
        }
        wait(Some(FRAME))?;
        frame::read(&mut &self.stream, payload)
    }

    fn say(&self, kind: FrameKind, payload: &[u8]) -> Result<(), ToolError> {
        let _turn = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        frame::write(&mut &self.stream, kind, payload)
    }

    fn peek(&self, into: &mut [u8], now: bool) -> Result<usize, ToolError> {
        use rustix::net::{RecvFlags, recv};
        let flags = if now { RecvFlags::PEEK | RecvFlags::DONTWAIT } else { RecvFlags::PEEK };
        loop {
            match recv(&self.stream, &mut *into, flags) {
                Ok((_, length)) => return Ok(length),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(frame::broken(&error.into())),
            }
        }
    }
}

impl InstallObserver for Line {
    fn passed(&self, point: Point) {
        self.outer.passed(point);
    }

    fn progress(&self, progress: &InstallProgress) {
        self.outer.progress(progress);
        if let Ok(json) = serde_json::to_vec(progress) {
            // An error is ignored: `stopped` notices a server that is gone.
            let _ = self.say(FrameKind::Progress, &json);
        }
    }

    /// Whether the server is gone, or its next frame cancels.
    fn stopped(&self) -> bool {
        let mut header = [0; HEADER];
        match self.peek(&mut header, true) {
            Ok(0) => true,
            Ok(HEADER) => matches!(frame::parse(header, true), Ok((FrameKind::Cancel, _))),
            _ => self.outer.stopped(),
        }
    }
}

fn expected(what: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, format!("an install stream has {what} here"))
        .with("longest_head", MAX_HEAD)
        .hint("both halves come from one package: restart the one that is still the old version")
}

fn json_of(value: &impl serde::Serialize) -> Result<Vec<u8>, ToolError> {
    serde_json::to_vec(value).map_err(|error| ToolError::internal(format!("a frame: {error}")))
}
