//! Ioctls that no crate offers safely, and one call of the C library. The only file that may contain `unsafe`
//! (`tests/it/layout/mod.rs` enforces it).
//!
//! Each ioctl is a safe function on an open file, typed as in the kernel's header.
#![allow(unsafe_code)]

use rustix::ioctl::{Getter, NoArg, Opcode, Setter, Updater, ioctl, opcode};
use std::{
    ffi::{c_char, c_ulong},
    io,
    os::fd::AsFd,
};

/// `I2C_FUNCS` of `linux/i2c-dev.h`. The crate i2cdev does not export it.
const I2C_FUNCS: u32 = 0x0705;

/// The functionality of the adapter behind a `/dev/i2c-N`: the `I2C_FUNC_…` bits of `linux/i2c.h`. Queries the driver
/// only, without bus traffic; does not block.
///
/// # Errors
/// `ENOTTY` or `EINVAL` for a file that is not an I2C adapter.
pub fn i2c_functions(bus: &impl AsFd) -> io::Result<u32> {
    // SAFETY: the kernel's i2cdev_ioctl answers I2C_FUNCS with put_user of an unsigned long
    // (Documentation/i2c/dev-interface.rst), which is c_ulong here and for 32-bit programs on a 64-bit kernel
    // (compat_i2cdev_ioctl). No other kernel driver uses this number with a larger argument: type 7 is i2c-dev's
    // (Documentation/userspace-api/ioctl/ioctl-number.rst).
    let functions: c_ulong = unsafe { ioctl(bus, Getter::<I2C_FUNCS, c_ulong>::new()) }?;
    // linux/i2c.h defines 32 bits; the upper half of a 64-bit word is unused.
    #[expect(clippy::cast_possible_truncation)]
    Ok(functions as u32)
}

/// `_IOWR(100, 0, char *)` of Raspberry Pi's drivers/char/broadcom/vcio.c: its size is that of a pointer.
const IOCTL_MBOX_PROPERTY: Opcode = opcode::read_write::<*mut c_char>(100, 0);
/// Words of a message with one tag of one value: its size in bytes, a code, the tag, the value's size, a code, the value, the end.
const WORDS: usize = 7;
/// A value follows; in an answer the highest bit is set, with the length that the firmware filled in
/// (github.com/raspberrypi/firmware, wiki "Mailbox property interface").
const VALUE_BYTES: u32 = 4;
const SUCCESS: u32 = 0x8000_0000;

/// Reads the firmware's property `tag`, with `value` as argument, and returns the answered word. `vcio` is an open
/// `/dev/vcio`, which only Raspberry Pi's kernels have. Blocks until the firmware has answered, about 0.1 ms.
///
/// # Errors
/// Those of the driver; `Unsupported` when the firmware does not know the tag.
pub fn firmware_property(vcio: &impl AsFd, tag: u32, value: u32) -> io::Result<u32> {
    let mut message = question(tag, value);
    // SAFETY: vcio_user_property_list copies as many bytes in and out as the first word says, which is the size of this
    // array, borrowed for the duration of the call. For a file that is not a vcio: no other kernel driver uses type 100
    // (`d`) with number 0 and the size of a pointer for a longer argument
    // (Documentation/userspace-api/ioctl/ioctl-number.rst).
    unsafe { ioctl(vcio, Updater::<IOCTL_MBOX_PROPERTY, [u32; WORDS]>::new(&mut message)) }?;
    answer(&message).ok_or_else(|| {
        io::Error::new(io::ErrorKind::Unsupported, format!("this firmware does not answer property {tag:#010x}"))
    })
}

/// Sets the firmware's property `tag` to `value`. As [`firmware_property`], but the answer may have no value.
///
/// # Errors
/// Those of the driver; `Unsupported` when the firmware does not know the tag.
pub fn set_firmware_property(vcio: &impl AsFd, tag: u32, value: u32) -> io::Result<()> {
    let mut message = question(tag, value);
    // SAFETY: as in `firmware_property`.
    unsafe { ioctl(vcio, Updater::<IOCTL_MBOX_PROPERTY, [u32; WORDS]>::new(&mut message)) }?;
    if taken(&message) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::Unsupported, format!("this firmware does not take property {tag:#010x}")))
}

#[expect(clippy::cast_possible_truncation)] // 28.
fn question(tag: u32, value: u32) -> [u32; WORDS] {
    [size_of::<[u32; WORDS]>() as u32, 0, tag, VALUE_BYTES, 0, value, 0]
}

fn answer(message: &[u32; WORDS]) -> Option<u32> {
    let [_, code, _, _, length, value, _] = *message;
    (code == SUCCESS && length == SUCCESS | VALUE_BYTES).then_some(value)
}

/// `GET_GENCMD_RESULT` of vcgencmd.c (github.com/raspberrypi/utils): runs a command of the firmware.
const GENCMD: u32 = 0x0003_0080;
/// Bytes for a command and its result, and their words.
const GENCMD_BYTES: u32 = 1024;
const GENCMD_WORDS: usize = 256;
/// Words of a message with one command: those before the value, its error code and text, and the end.
const GENCMD_MESSAGE: usize = 6 + GENCMD_WORDS + 1;

/// Runs a command of the firmware as the program `vcgencmd` does, and returns the result's text. `vcio` as in
/// [`firmware_property`]. Blocks until the firmware has answered, a few milliseconds.
///
/// # Errors
/// Those of the driver; `Unsupported` when the firmware takes no commands, `InvalidInput` for a command of 1,024 bytes or
/// more, `Other` with the firmware's number for one that failed.
pub fn firmware_command(vcio: &impl AsFd, command: &str) -> io::Result<String> {
    let mut message = command_message(command).ok_or(io::ErrorKind::InvalidInput)?;
    // SAFETY: as in `firmware_property`.
    unsafe { ioctl(vcio, Updater::<IOCTL_MBOX_PROPERTY, [u32; GENCMD_MESSAGE]>::new(&mut message)) }?;
    command_result(&message)
}

#[expect(clippy::cast_possible_truncation)] // 1,052.
fn command_message(command: &str) -> Option<[u32; GENCMD_MESSAGE]> {
    let mut message = [0; GENCMD_MESSAGE];
    message[..4].copy_from_slice(&[size_of::<[u32; GENCMD_MESSAGE]>() as u32, 0, GENCMD, GENCMD_BYTES]);
    // The text ends with a zero.
    if command.len() >= GENCMD_BYTES as usize {
        return None;
    }
    for (word, bytes) in message[6..].iter_mut().zip(command.as_bytes().chunks(4)) {
        let mut four = [0; 4];
        four[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_ne_bytes(four);
    }
    Some(message)
}

fn command_result(message: &[u32; GENCMD_MESSAGE]) -> io::Result<String> {
    if message[1] != SUCCESS || message[4] & SUCCESS == 0 {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "this firmware takes no commands"));
    }
    if message[5] != 0 {
        return Err(io::Error::other(format!("the firmware's command failed with number {}", message[5])));
    }
    let text: Vec<u8> = message[6..6 + GENCMD_WORDS].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).trim().to_owned())
}

/// `struct spi_ioc_transfer` of `linux/spi/spidev.h`. Addresses are 64 bits for 32-bit programs as well.
#[repr(C)]
struct SpiTransfer {
    tx: u64,
    rx: u64,
    len: u32,
    speed_hz: u32,
    delay_us: u16,
    bits_per_word: u8,
    cs_change: u8,
    /// Widths of the bus and the delay of a word: 0 is the usual.
    others: [u8; 4],
}
/// `SPI_IOC_MESSAGE(1)`.
const SPI_MESSAGE: Opcode = opcode::write::<SpiTransfer>(b'k', 0);
const SPI_READ_MODE: Opcode = opcode::read::<u8>(b'k', 1);
const SPI_WRITE_MODE: Opcode = opcode::write::<u8>(b'k', 1);
/// `SPI_CPHA | SPI_CPOL`: the bits of a mode 0 to 3. The others belong to the device tree.
const SPI_MODES: u8 = 0b11;

/// Sets the polarity and phase of a device's clock, `mode` 0 to 3, for all programs that use the device. Does not reach the
/// controller if the device has that mode already.
///
/// # Errors
/// `EINVAL` for a mode that the controller cannot do, `ESHUTDOWN` for a device that was removed since it was opened, `ENOTTY` for
/// a file that is no spidev.
pub fn spi_set_mode(spidev: &impl AsFd, mode: u8) -> io::Result<()> {
    // SAFETY: spidev_ioctl copies one byte out and one in for the mode (Documentation/spi/spidev.rst).
    unsafe {
        let now: u8 = ioctl(spidev, Getter::<SPI_READ_MODE, u8>::new())?;
        let wanted = now & !SPI_MODES | mode & SPI_MODES;
        if wanted != now {
            ioctl(spidev, Setter::<SPI_WRITE_MODE, u8>::new(wanted))?;
        }
    }
    Ok(())
}

/// Exchanges `data` with the device behind a `/dev/spidevB.C`, in words of 8 bits: each byte is replaced by the one that
/// came while it was sent. `delay_us` is the time before the chip select ends. Blocks until it is over.
///
/// # Errors
/// `EMSGSIZE` beyond the driver's buffer (`spidev.bufsiz`, 4096 unless set), `EINVAL` for what the controller cannot do,
/// `ESHUTDOWN` for a device that was removed since it was opened, `ENOTTY` for a file that is no spidev, and the controller's
/// errors.
pub fn spi_exchange(spidev: &impl AsFd, data: &mut [u8], speed_hz: u32, delay_us: u16) -> io::Result<()> {
    let len = u32::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let place = data.as_mut_ptr().expose_provenance() as u64;
    let transfer =
        SpiTransfer { tx: place, rx: place, len, speed_hz, delay_us, bits_per_word: 8, cs_change: 0, others: [0; 4] };
    // SAFETY: for a message, spidev_ioctl copies the 32 bytes of the structure in, `len` bytes from `tx` into a buffer of its own
    // before the transfer, and `len` bytes to `rx` after it (Documentation/spi/spidev.rst): both are `data`, borrowed for the
    // duration of the call. No other kernel driver takes this number for a longer argument
    // (Documentation/userspace-api/ioctl/ioctl-number.rst, 'k').
    unsafe { ioctl(spidev, Setter::<SPI_MESSAGE, SpiTransfer>::new(transfer)) }?;
    Ok(())
}

/// `asm-generic/ioctls.h`, which arm, arm64 and x86 use.
const TIOCSBRK: Opcode = 0x5427;
const TIOCCBRK: Opcode = 0x5428;
const TIOCGICOUNT: Opcode = 0x545d;
const TIOCOUTQ: Opcode = 0x5411;
const TIOCSERGETLSR: Opcode = 0x5459;
/// The transmitter has sent everything: `TIOCSER_TEMT` of the same header.
const TRANSMITTER_EMPTY: u32 = 1;

/// Begins or ends a break: a serial line held at space. Before a break begins, the kernel waits without a limit until the bytes before it
/// have left (tty_ioctl), and a driver may ask its device over USB: call it off the runtime's thread, when [`serial_unsent`] is 0.
///
/// # Errors
/// `ENOTTY` for a file that is no terminal, `EOPNOTSUPP` and the driver's errors.
pub fn serial_break(tty: &impl AsFd, on: bool) -> io::Result<()> {
    // SAFETY: neither takes an argument (ioctl_tty(2)).
    unsafe {
        match on {
            true => ioctl(tty, NoArg::<TIOCSBRK>::new()),
            false => ioctl(tty, NoArg::<TIOCCBRK>::new()),
        }
    }?;
    Ok(())
}

/// How many bytes a terminal's driver holds that have not left; at least 1 while the port itself still sends. Does not block. A driver that
/// cannot look into the port (of most USB adapters) answers for its own buffer.
///
/// # Errors
/// `ENOTTY` for a file that is no terminal, and the driver's errors.
pub fn serial_unsent(tty: &impl AsFd) -> io::Result<u32> {
    // SAFETY: for a terminal the kernel writes one int (ioctl_tty(2)); sockets take the same number, with an int as well.
    let queued: u32 = unsafe { ioctl(tty, Getter::<TIOCOUTQ, u32>::new()) }?;
    if queued > 0 {
        return Ok(queued);
    }
    // SAFETY: the kernel writes one unsigned int (ioctl_tty(2), uart_get_lsr_info of serial_core.c).
    let port: Result<u32, _> = unsafe { ioctl(tty, Getter::<TIOCSERGETLSR, u32>::new()) };
    Ok(port.map_or(0, |state| u32::from(state & TRANSMITTER_EMPTY == 0)))
}

/// What a serial port's driver has counted since it was loaded: framing errors, overruns of the hardware, parity errors,
/// breaks, and overruns of the kernel's buffer.
///
/// # Errors
/// `ENOTTY` or `EINVAL` for a terminal whose driver does not count, such as a pseudoterminal.
pub fn serial_faults(tty: &impl AsFd) -> io::Result<[u32; 5]> {
    // SAFETY: the kernel copies a `struct serial_icounter_struct` of linux/serial.h: eleven int and nine reserved.
    let counts: [u32; 20] = unsafe { ioctl(tty, Getter::<TIOCGICOUNT, [u32; 20]>::new()) }?;
    let [_, _, _, _, _, _, frame, overrun, parity, brk, buffer, ..] = counts;
    Ok([frame, overrun, parity, brk, buffer])
}

/// Limits what glibc's allocator keeps of freed memory; to be called before the first thread starts.
///
/// - All threads share one arena. By default each of the few threads for blocking work gets its own, and each arena keeps
///   the largest amount that ever was in use in it: three times 0.6 MB after `tools.search`.
/// - Large buffers (a camera's frame, a picture, a file) go back to the kernel when they are freed. By default the threshold
///   rises after the first of them: 5 MB are kept after one picture of 1920x1080.
pub fn limit_allocator() {
    #[cfg(target_env = "gnu")]
    {
        use std::ffi::c_int;
        // `malloc.h`.
        const M_ARENA_MAX: c_int = -8;
        const M_MMAP_THRESHOLD: c_int = -3;
        /// glibc's initial value in bytes: setting it explicitly disables the adjustment (mallopt(3)).
        const THRESHOLD: c_int = 128 * 1024;
        unsafe extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        for (parameter, value) in [(M_ARENA_MAX, 1), (M_MMAP_THRESHOLD, THRESHOLD)] {
            // SAFETY: mallopt(3) takes two numbers and stores no pointer; it may be called at any time, from any thread.
            let taken = unsafe { mallopt(parameter, value) };
            debug_assert_eq!(taken, 1, "glibc takes this value on every machine");
        }
    }
}

/// The highest bit of a tag's length marks an answer.
fn taken(message: &[u32; WORDS]) -> bool {
    let [_, code, _, _, length, _, _] = *message;
    code == SUCCESS && length & SUCCESS != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_file_that_is_no_bus_says_so() {
        let fault = i2c_functions(&File::open("/dev/null").unwrap()).unwrap_err();
        assert_eq!(fault.raw_os_error(), Some(rustix::io::Errno::NOTTY.raw_os_error()));
    }

    #[test]
    fn a_file_that_is_no_mailbox_says_so() {
        let fault = firmware_property(&File::open("/dev/null").unwrap(), 0x0003_0046, 0).unwrap_err();
        assert_eq!(fault.raw_os_error(), Some(rustix::io::Errno::NOTTY.raw_os_error()));
    }

    #[test]
    fn the_mailboxs_number_has_the_size_of_a_pointer() {
        let expected = if size_of::<usize>() == 8 { 0xc008_6400 } else { 0xc004_6400 };
        assert_eq!(IOCTL_MBOX_PROPERTY, expected);
    }

    #[test]
    fn spidevs_numbers_are_those_of_the_header() {
        assert_eq!(size_of::<SpiTransfer>(), 32);
        assert_eq!([SPI_MESSAGE, SPI_READ_MODE, SPI_WRITE_MODE], [0x4020_6b00, 0x8001_6b01, 0x4001_6b01]);
    }

    #[test]
    fn a_file_that_is_neither_says_so() {
        let nothing = File::open("/dev/null").unwrap();
        let faults = [
            spi_set_mode(&nothing, 0).unwrap_err(),
            spi_exchange(&nothing, &mut [1], 10_000, 0).unwrap_err(),
            serial_break(&nothing, true).unwrap_err(),
            serial_faults(&nothing).unwrap_err(),
            serial_unsent(&nothing).unwrap_err(),
        ];
        for fault in faults {
            assert_eq!(fault.raw_os_error(), Some(rustix::io::Errno::NOTTY.raw_os_error()), "{fault}");
        }
    }

    #[test]
    fn a_command_and_its_result_are_laid_out_as_vcgencmd_does() {
        let mut message = command_message("get_throttled").unwrap();
        assert_eq!(message[..6], [1052, 0, 0x0003_0080, 1024, 0, 0]);
        assert_eq!(message[6].to_ne_bytes(), *b"get_");
        assert_eq!(message[9].to_ne_bytes(), *b"d\0\0\0");
        assert!(message[10..].iter().all(|word| *word == 0));
        assert!(command_message(&"x".repeat(1023)).is_some() && command_message(&"x".repeat(1024)).is_none());
        // Not answered, as by a firmware that does not know the tag.
        assert_eq!(command_result(&message).unwrap_err().kind(), io::ErrorKind::Unsupported);
        (message[1], message[4]) = (SUCCESS, SUCCESS | 17);
        for (word, bytes) in message[6..].iter_mut().zip(b"throttled=0x50000\n\0\0".chunks_exact(4)) {
            *word = u32::from_ne_bytes(bytes.try_into().unwrap());
        }
        assert_eq!(command_result(&message).unwrap(), "throttled=0x50000");
        message[5] = 2;
        assert!(command_result(&message).unwrap_err().to_string().ends_with("number 2"));
        let fault = firmware_command(&File::open("/dev/null").unwrap(), "get_throttled").unwrap_err();
        assert_eq!(fault.raw_os_error(), Some(rustix::io::Errno::NOTTY.raw_os_error()));
    }

    #[test]
    fn a_message_is_laid_out_as_the_firmware_wants_it() {
        assert_eq!(question(0x0003_0046, 0), [28, 0, 0x0003_0046, 4, 0, 0, 0]);
        let said = |code, length| answer(&[28, code, 0x0003_0046, 4, length, 0x5_0005, 0]);
        assert_eq!(said(0x8000_0000, 0x8000_0004), Some(0x5_0005));
        // The whole request was refused; the tag is unknown; the value has another size.
        let set = |code, length| taken(&[28, code, 0x0003_8064, 4, length, 1, 0]);
        assert!(set(0x8000_0000, 0x8000_0000) && set(0x8000_0000, 0x8000_0004));
        assert!(!set(0x8000_0001, 0x8000_0004) && !set(0x8000_0000, 0) && !set(0, 0));
        assert_eq!(
            (said(0x8000_0001, 0x8000_0004), said(0x8000_0000, 0), said(0x8000_0000, 0x8000_0008)),
            (None, None, None)
        );
    }
}
