//! Cameras: those driven by the kernel ([`v4l`]), those on the ribbon cable ([`rpicam`]), and a simulated board's
//! ([`simulated`]).
//!
//! No state is kept between two pictures: a camera is opened for one and closed. One picture is taken at a time, which
//! bounds the total memory, on a thread that may block; it ends soon after its caller is gone.

mod card;
pub mod encode;
pub mod jpeg;
mod negotiate;
pub mod photo_store;
mod pixels;
pub mod port;
pub mod rpicam;
mod rpicam_list;
pub mod simulated;
pub mod v4l;

pub use port::{Backend, Camera, CameraError, CameraFormat, Holder, PictureFormat, Shot, Size, Sizes, Wish};

use base::{
    error::ToolError,
    os::{
        Root,
        blocking::{self, StopSignal},
        real_path::resolved,
    },
};
use contract::config::sections::camera::CameraSettings;
use photo_store::PhotoStore;
use port::{CameraPort, Until};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// All camera backends of this board.
pub struct Cameras {
    ports: Vec<Arc<dyn CameraPort>>,
    /// Names, paths and locations of allowed cameras, with `*` and `?`.
    allow: Vec<String>,
    /// Held while a picture is taken.
    turn: Arc<Mutex<()>>,
    /// The stored photos.
    pub photos: Arc<PhotoStore>,
}

/// Why the board's cameras are unavailable: a fault, or a complete error.
#[derive(Debug)]
pub enum CamerasUnavailable {
    Fault(CameraError),
    Error(ToolError),
}

impl Cameras {
    /// The cameras of the machine under `root`, or of a simulated board, with `settings` applied.
    pub fn of(settings: &CameraSettings, simulated: Option<&Arc<simulated::SimulatedCameras>>, root: &Root) -> Self {
        let ports: Vec<Arc<dyn CameraPort>> = match simulated {
            Some(cameras) => vec![Arc::new(Arc::clone(cameras))],
            None => {
                let on_the_ribbon = rpicam::Rpicam::find(root).map(|port| Arc::new(port) as Arc<dyn CameraPort>);
                // Cameras on the ribbon cable come first: they are the more likely choice.
                on_the_ribbon
                    .into_iter()
                    .chain([Arc::new(v4l::V4l { root: root.clone() }) as Arc<dyn CameraPort>])
                    .collect()
            }
        };
        Self::with(ports, settings, simulated.is_some())
    }

    /// The cameras of these ports.
    pub fn with(ports: Vec<Arc<dyn CameraPort>>, settings: &CameraSettings, simulated: bool) -> Self {
        let CameraSettings { max_photos, max_bytes, max_age_days, .. } = *settings;
        let photos = PhotoStore::new(resolved(&settings.dir), max_photos as usize, max_bytes, max_age_days);
        Self { ports, allow: settings.allowed(simulated), turn: Arc::default(), photos: Arc::new(photos) }
    }

    /// Whether the configuration allows this camera.
    pub fn allows(&self, camera: &Camera) -> bool {
        camera.is_among(&self.allow)
    }

    /// The allowed cameras, with `*` and `?`.
    pub fn allowed(&self) -> &[String] {
        &self.allow
    }

    /// Whether the configuration allows any.
    pub fn allows_any(&self) -> bool {
        !self.allow.is_empty()
    }

    /// All cameras, allowed or not.
    ///
    /// # Errors
    /// When no backend works.
    pub async fn list(&self, limit: Duration) -> Result<Vec<Camera>, CamerasUnavailable> {
        let ports = self.ports.clone();
        self.run(limit, move |until| list(&ports, until)).await
    }

    /// The camera with this id or name, allowed or not.
    ///
    /// # Errors
    /// As [`Cameras::list`].
    pub async fn find(&self, named: &str, limit: Duration) -> Result<Option<Camera>, CamerasUnavailable> {
        let (ports, named) = (self.ports.clone(), named.to_owned());
        self.run(limit, move |until| {
            for port in &ports {
                match port.find(&named, until) {
                    Ok(None) => {}
                    Ok(found) => return Ok(found),
                    Err(CameraError::Cancelled) => return Err(CameraError::Cancelled),
                    // Another backend may find it; otherwise the listing below reports the fault.
                    Err(fault) => tracing::debug!(target: "camera", backend = ?port.backend(), ?fault, "cannot look"),
                }
            }
            Ok(None)
        })
        .await
    }

    /// Takes a picture with `camera`, within `limit`. Waits for a picture in progress.
    ///
    /// # Errors
    /// See [`CameraError`].
    pub async fn take(&self, camera: Camera, wish: Wish, limit: Duration) -> Result<Shot, CamerasUnavailable> {
        let port = self.ports.iter().find(|port| port.backend() == camera.backend).cloned();
        let port = port.ok_or(CamerasUnavailable::Fault(CameraError::Absent))?;
        // Released when the work ends, which may be shortly after the call ends.
        let turn = blocking::unless_told("camera", Arc::clone(&self.turn).lock_owned())
            .await
            .map_err(CamerasUnavailable::Error)?;
        self.run(limit, move |until| {
            let _turn = turn;
            port.take(&camera, &wish, until, &mut |raw| encode::encode(raw, &wish))
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Until) -> Result<T, CameraError> + Send + 'static,
    ) -> Result<T, CamerasUnavailable> {
        let deadline = Instant::now() + limit;
        let work = move |stop: &StopSignal| Ok(work(&Until { deadline, stop: stop.clone() }));
        blocking::run("camera", work).await.map_err(CamerasUnavailable::Error)?.map_err(CamerasUnavailable::Fault)
    }
}

/// Lists the cameras of all ports. A failing port is skipped if another one has cameras.
fn list(ports: &[Arc<dyn CameraPort>], until: &Until) -> Result<Vec<Camera>, CameraError> {
    let (mut cameras, mut failed) = (Vec::new(), None);
    for port in ports {
        match port.list(until) {
            Ok(found) => cameras.extend(found),
            Err(CameraError::Cancelled) => return Err(CameraError::Cancelled),
            Err(fault) => {
                tracing::warn!(target: "camera", backend = ?port.backend(), ?fault, "cannot list its cameras");
                failed = Some(fault);
            }
        }
    }
    match failed {
        Some(fault) if cameras.is_empty() => Err(fault),
        _ => Ok(cameras),
    }
}
