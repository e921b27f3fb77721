//! The few ioctls that no crate offers safely: the one file that may say `unsafe` (`tests/it/layout.rs` keeps it so).
//!
//! Each is a safe function over an open file, typed as the kernel's header says.
#![allow(unsafe_code)]

use rustix::ioctl::{Getter, ioctl};
use std::{ffi::c_ulong, io, os::fd::AsFd};

/// `I2C_FUNCS` of `linux/i2c-dev.h`. The crate i2cdev keeps its own to itself.
const I2C_FUNCS: u32 = 0x0705;

/// What the adapter behind a `/dev/i2c-N` can do: the `I2C_FUNC_…` bits of `linux/i2c.h`. Asks the driver only, nothing on
/// the bus; does not sleep.
///
/// # Errors
/// `ENOTTY` or `EINVAL` for a file that is no I2C adapter.
pub fn i2c_functions(bus: &impl AsFd) -> io::Result<u32> {
    // SAFETY: the kernel's i2cdev_ioctl answers I2C_FUNCS with put_user of an unsigned long (Documentation/i2c/dev-interface.rst),
    // which is c_ulong here and for 32-bit programs on a 64-bit kernel (compat_i2cdev_ioctl). No other driver in the kernel
    // has this number with a larger argument: type 7 is i2c-dev's (Documentation/userspace-api/ioctl/ioctl-number.rst).
    let functions: c_ulong = unsafe { ioctl(bus, Getter::<I2C_FUNCS, c_ulong>::new()) }?;
    // The bits of linux/i2c.h are 32; the upper half of a 64-bit word is not used.
    #[expect(clippy::cast_possible_truncation)]
    Ok(functions as u32)
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
}
