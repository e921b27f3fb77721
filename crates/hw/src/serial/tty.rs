//! The kernel's serial ports: terminals in raw mode, for this server alone (termios(3), ioctl_tty(2)).

use super::{
    find, holder,
    port::{Flow, Line, Parity, SerialBackend, SerialPort, Wire},
    told::SerialError,
};
use base::os::{Root, ioctl};
use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, fstat, major, minor, open},
    io::Errno,
    termios::{
        ControlModes, InputModes, OptionalActions, QueueSelector, ioctl_tiocexcl, ioctl_tiocnxcl, tcflush, tcgetattr,
        tcsetattr,
    },
};
use std::{io, os::fd::OwnedFd, sync::Arc};

/// The ports below a root.
#[derive(Debug)]
pub struct Ttys(pub Root);

impl SerialBackend for Ttys {
    fn ports(&self, listed: &[String]) -> Vec<SerialPort> {
        find::ports(&self.0, listed)
    }

    fn open(&self, name: &str, line: Line) -> Result<Arc<dyn Wire>, SerialError> {
        let root = &self.0;
        let terminal = holder::terminal(root, name).ok_or(SerialError::NoPort)?;
        // Only terminals are opened: opening another device may already do something (a watchdog starts).
        if !terminal.starts_with("pts/") && !find::is_line(root, &terminal) {
            return Err(SerialError::NotSerial);
        }
        if let Some(why) = holder::console(root, &terminal) {
            return Err(SerialError::System(why));
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open(root.path(&format!("dev/{terminal}")), flags, Mode::empty())?;
        let number = fstat(&file)?.st_rdev;
        if let Some(why) = holder::session(root, major(number), minor(number)) {
            return Err(SerialError::System(why));
        }
        // Against programs that lock: picocom, pyserial with exclusive=True.
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|fault| match fault {
            Errno::WOULDBLOCK => SerialError::Held,
            other => other.into(),
        })?;
        // A phantom port of the 8250 driver opens and then fails.
        tcgetattr(&file).map_err(|fault| if fault == Errno::IO { SerialError::NoPort } else { fault.into() })?;
        ioctl_tiocexcl(&file)?;
        let tty = Tty(file);
        tty.configure(line)?;
        // What came before somebody asked is of no use.
        tcflush(&tty.0, QueueSelector::IFlush)?;
        Ok(Arc::new(tty))
    }
}

/// An open terminal.
struct Tty(OwnedFd);

impl Drop for Tty {
    fn drop(&mut self) {
        // Not by itself where somebody else has it open, as the other end of a pseudoterminal.
        let _ = ioctl_tiocnxcl(&self.0);
    }
}

/// The modes that a line's settings decide.
const DECIDED: ControlModes = ControlModes::CSIZE
    .union(ControlModes::PARENB)
    .union(ControlModes::PARODD)
    .union(ControlModes::CSTOPB)
    .union(ControlModes::CRTSCTS);

fn modes(line: Line) -> ControlModes {
    let bits = match line.data_bits {
        5 => ControlModes::CS5,
        6 => ControlModes::CS6,
        7 => ControlModes::CS7,
        _ => ControlModes::CS8,
    };
    let parity = match line.parity {
        Parity::None => ControlModes::empty(),
        Parity::Even => ControlModes::PARENB,
        Parity::Odd => ControlModes::PARENB | ControlModes::PARODD,
    };
    let stop = if line.stop_bits == 2 { ControlModes::CSTOPB } else { ControlModes::empty() };
    let flow = if line.flow == Flow::RtsCts { ControlModes::CRTSCTS } else { ControlModes::empty() };
    bits | parity | stop | flow
}

impl Wire for Tty {
    fn descriptor(&self) -> io::Result<OwnedFd> {
        self.0.try_clone()
    }

    fn configure(&self, line: Line) -> Result<(), SerialError> {
        let mut termios = tcgetattr(&self.0)?;
        termios.make_raw();
        // CLOCAL: a line without the wires of a modem is never hung up.
        termios.control_modes =
            (termios.control_modes - DECIDED) | modes(line) | ControlModes::CLOCAL | ControlModes::CREAD;
        termios.input_modes -= InputModes::IXON | InputModes::IXOFF | InputModes::IXANY;
        if line.flow == Flow::XonXoff {
            termios.input_modes |= InputModes::IXON | InputModes::IXOFF;
        }
        termios.set_speed(line.baud).map_err(|_| SerialError::Unsupported(format!("{} baud", line.baud)))?;
        tcsetattr(&self.0, OptionalActions::Now, &termios)?;
        // tcsetattr succeeds if it could change anything at all.
        let now = tcgetattr(&self.0)?;
        let speed = now.output_speed();
        if speed.abs_diff(line.baud) > line.baud / 33 {
            return Err(SerialError::Unsupported(format!("its driver made {} baud {speed}", line.baud)));
        }
        if now.control_modes & DECIDED != modes(line) {
            return Err(SerialError::Unsupported(
                "its driver refuses these data bits, parity, stop bits or flow control".into(),
            ));
        }
        Ok(())
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn unsent(&self) -> io::Result<usize> {
        // Not tcdrain(3): it waits without a limit in a thread that nothing ends. Where the flow is controlled by wires a flush does
        // not end it either, since the bytes in the port's own buffer stay, and drivers of USB adapters have no flush.
        Ok(ioctl::serial_unsent(&self.0)? as usize)
    }

    fn discard(&self) {
        let _ = tcflush(&self.0, QueueSelector::OFlush);
    }

    fn set_break(&self, on: bool) -> io::Result<()> {
        ioctl::serial_break(&self.0, on)
    }

    fn faults(&self) -> Option<[u32; 5]> {
        ioctl::serial_faults(&self.0).ok()
    }
}
