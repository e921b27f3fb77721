//! The chips behind the 40-pin header: how to find each, and the functions of its 28 pins.
//!
//! Sources: "BCM2835 ARM Peripherals", section 6.2; "BCM2711 ARM Peripherals", section 5.3; the function names of
//! `drivers/pinctrl/pinctrl-rp1.c` in Raspberry Pi's kernel for the RP1 of the Raspberry Pi 5.

use contract::values::Pin;

/// The part that drives the header's pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chip {
    Bcm2837,
    Bcm2711,
    Rp1,
}

impl Chip {
    /// The label of its gpiochip, by which it is found: the N of `/dev/gpiochipN` differs between kernels (on the
    /// Raspberry Pi 5 from 4 to 0). From `MODULE_NAME` and the labels of `drivers/pinctrl/bcm/pinctrl-bcm2835.c` and
    /// `drivers/pinctrl/pinctrl-rp1.c`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Bcm2837 => "pinctrl-bcm2835",
            Self::Bcm2711 => "pinctrl-bcm2711",
            Self::Rp1 => "pinctrl-rp1",
        }
    }

    /// A pin's functions besides input and output: `ALTn` is entry n, empty where there is none.
    pub fn functions(self, pin: Pin) -> &'static [&'static str] {
        let pin = usize::from(pin.bcm());
        match self {
            Self::Bcm2837 => &BCM2837[pin],
            Self::Bcm2711 => &BCM2711[pin],
            Self::Rp1 => &RP1[pin],
        }
    }

    /// The PWM controller whose channels reach the header, by the name of its device
    /// (`/sys/class/pwm/pwmchipN/device`), because the numbers differ here too. It exists once an overlay has enabled
    /// it (`dtoverlay=pwm`).
    pub const fn pwm_device(self) -> &'static str {
        match self {
            Self::Bcm2837 => "3f20c000.pwm",
            Self::Bcm2711 => "fe20c000.pwm",
            Self::Rp1 => "1f00098000.pwm",
        }
    }
}

const BCM2837: [[&str; 6]; 28] = [
    ["SDA0", "SA5", "", "", "", ""],
    ["SCL0", "SA4", "", "", "", ""],
    ["SDA1", "SA3", "", "", "", ""],
    ["SCL1", "SA2", "", "", "", ""],
    ["GPCLK0", "SA1", "", "", "", "ARM_TDI"],
    ["GPCLK1", "SA0", "", "", "", "ARM_TDO"],
    ["GPCLK2", "SOE_N", "", "", "", "ARM_RTCK"],
    ["SPI0_CE1_N", "SWE_N", "", "", "", ""],
    ["SPI0_CE0_N", "SD0", "", "", "", ""],
    ["SPI0_MISO", "SD1", "", "", "", ""],
    ["SPI0_MOSI", "SD2", "", "", "", ""],
    ["SPI0_SCLK", "SD3", "", "", "", ""],
    ["PWM0", "SD4", "", "", "", "ARM_TMS"],
    ["PWM1", "SD5", "", "", "", "ARM_TCK"],
    ["TXD0", "SD6", "", "", "", "TXD1"],
    ["RXD0", "SD7", "", "", "", "RXD1"],
    ["", "SD8", "", "CTS0", "SPI1_CE2_N", "CTS1"],
    ["", "SD9", "", "RTS0", "SPI1_CE1_N", "RTS1"],
    ["PCM_CLK", "SD10", "", "BSCSL_SDA_MOSI", "SPI1_CE0_N", "PWM0"],
    ["PCM_FS", "SD11", "", "BSCSL_SCL_SCLK", "SPI1_MISO", "PWM1"],
    ["PCM_DIN", "SD12", "", "BSCSL_MISO", "SPI1_MOSI", "GPCLK0"],
    ["PCM_DOUT", "SD13", "", "BSCSL_CE_N", "SPI1_SCLK", "GPCLK1"],
    ["", "SD14", "", "SD1_CLK", "ARM_TRST", ""],
    ["", "SD15", "", "SD1_CMD", "ARM_RTCK", ""],
    ["", "SD16", "", "SD1_DAT0", "ARM_TDO", ""],
    ["", "SD17", "", "SD1_DAT1", "ARM_TCK", ""],
    ["", "", "", "SD1_DAT2", "ARM_TDI", ""],
    ["", "", "", "SD1_DAT3", "ARM_TMS", ""],
];

const BCM2711: [[&str; 6]; 28] = [
    ["SDA0", "SA5", "PCLK", "SPI3_CE0_N", "TXD2", "SDA6"],
    ["SCL0", "SA4", "DE", "SPI3_MISO", "RXD2", "SCL6"],
    ["SDA1", "SA3", "LCD_VSYNC", "SPI3_MOSI", "CTS2", "SDA3"],
    ["SCL1", "SA2", "LCD_HSYNC", "SPI3_SCLK", "RTS2", "SCL3"],
    ["GPCLK0", "SA1", "DPI_D0", "SPI4_CE0_N", "TXD3", "SDA3"],
    ["GPCLK1", "SA0", "DPI_D1", "SPI4_MISO", "RXD3", "SCL3"],
    ["GPCLK2", "SOE_N", "DPI_D2", "SPI4_MOSI", "CTS3", "SDA4"],
    ["SPI0_CE1_N", "SWE_N", "DPI_D3", "SPI4_SCLK", "RTS3", "SCL4"],
    ["SPI0_CE0_N", "SD0", "DPI_D4", "BSCSL_CE_N", "TXD4", "SDA4"],
    ["SPI0_MISO", "SD1", "DPI_D5", "BSCSL_MISO", "RXD4", "SCL4"],
    ["SPI0_MOSI", "SD2", "DPI_D6", "BSCSL_SDA_MOSI", "CTS4", "SDA5"],
    ["SPI0_SCLK", "SD3", "DPI_D7", "BSCSL_SCL_SCLK", "RTS4", "SCL5"],
    ["PWM0", "SD4", "DPI_D8", "SPI5_CE0_N", "TXD5", "SDA5"],
    ["PWM1", "SD5", "DPI_D9", "SPI5_MISO", "RXD5", "SCL5"],
    ["TXD0", "SD6", "DPI_D10", "SPI5_MOSI", "CTS5", "TXD1"],
    ["RXD0", "SD7", "DPI_D11", "SPI5_SCLK", "RTS5", "RXD1"],
    ["", "SD8", "DPI_D12", "CTS0", "SPI1_CE2_N", "CTS1"],
    ["", "SD9", "DPI_D13", "RTS0", "SPI1_CE1_N", "RTS1"],
    ["PCM_CLK", "SD10", "DPI_D14", "SPI6_CE0_N", "SPI1_CE0_N", "PWM0"],
    ["PCM_FS", "SD11", "DPI_D15", "SPI6_MISO", "SPI1_MISO", "PWM1"],
    ["PCM_DIN", "SD12", "DPI_D16", "SPI6_MOSI", "SPI1_MOSI", "GPCLK0"],
    ["PCM_DOUT", "SD13", "DPI_D17", "SPI6_SCLK", "SPI1_SCLK", "GPCLK1"],
    ["SD0_CLK", "SD14", "DPI_D18", "SD1_CLK", "ARM_TRST", "SDA6"],
    ["SD0_CMD", "SD15", "DPI_D19", "SD1_CMD", "ARM_RTCK", "SCL6"],
    ["SD0_DAT0", "SD16", "DPI_D20", "SD1_DAT0", "ARM_TDO", "SPI3_CE1_N"],
    ["SD0_DAT1", "SD17", "DPI_D21", "SD1_DAT1", "ARM_TCK", "SPI4_CE1_N"],
    ["SD0_DAT2", "TE0", "DPI_D22", "SD1_DAT2", "ARM_TDI", "SPI5_CE1_N"],
    ["SD0_DAT3", "TE1", "DPI_D23", "SD1_DAT3", "ARM_TMS", "SPI6_CE1_N"],
];

const RP1: [[&str; 9]; 28] = [
    ["spi0", "dpi", "uart1", "i2c0", "", "gpio", "proc_rio", "pio", "spi2"],
    ["spi0", "dpi", "uart1", "i2c0", "", "gpio", "proc_rio", "pio", "spi2"],
    ["spi0", "dpi", "uart1", "i2c1", "ir", "gpio", "proc_rio", "pio", "spi2"],
    ["spi0", "dpi", "uart1", "i2c1", "ir", "gpio", "proc_rio", "pio", "spi2"],
    ["gpclk0", "dpi", "uart2", "i2c2", "ri0", "gpio", "proc_rio", "pio", "spi3"],
    ["gpclk1", "dpi", "uart2", "i2c2", "dtr0", "gpio", "proc_rio", "pio", "spi3"],
    ["gpclk2", "dpi", "uart2", "i2c3", "dcd0", "gpio", "proc_rio", "pio", "spi3"],
    ["spi0", "dpi", "uart2", "i2c3", "dsr0", "gpio", "proc_rio", "pio", "spi3"],
    ["spi0", "dpi", "uart3", "i2c0", "", "gpio", "proc_rio", "pio", "spi4"],
    ["spi0", "dpi", "uart3", "i2c0", "", "gpio", "proc_rio", "pio", "spi4"],
    ["spi0", "dpi", "uart3", "i2c1", "", "gpio", "proc_rio", "pio", "spi4"],
    ["spi0", "dpi", "uart3", "i2c1", "", "gpio", "proc_rio", "pio", "spi4"],
    ["pwm0", "dpi", "uart4", "i2c2", "aaud", "gpio", "proc_rio", "pio", "spi5"],
    ["pwm0", "dpi", "uart4", "i2c2", "aaud", "gpio", "proc_rio", "pio", "spi5"],
    ["pwm0", "dpi", "uart4", "i2c3", "uart0", "gpio", "proc_rio", "pio", "spi5"],
    ["pwm0", "dpi", "uart4", "i2c3", "uart0", "gpio", "proc_rio", "pio", "spi5"],
    ["spi1", "dpi", "dsi0_te_ext", "", "uart0", "gpio", "proc_rio", "pio", ""],
    ["spi1", "dpi", "dsi1_te_ext", "", "uart0", "gpio", "proc_rio", "pio", ""],
    ["spi1", "dpi", "i2s0", "pwm0", "i2s1", "gpio", "proc_rio", "pio", "gpclk1"],
    ["spi1", "dpi", "i2s0", "pwm0", "i2s1", "gpio", "proc_rio", "pio", ""],
    ["spi1", "dpi", "i2s0", "gpclk0", "i2s1", "gpio", "proc_rio", "pio", ""],
    ["spi1", "dpi", "i2s0", "gpclk1", "i2s1", "gpio", "proc_rio", "pio", ""],
    ["sd0", "dpi", "i2s0", "i2c3", "i2s1", "gpio", "proc_rio", "pio", ""],
    ["sd0", "dpi", "i2s0", "i2c3", "i2s1", "gpio", "proc_rio", "pio", ""],
    ["sd0", "dpi", "i2s0", "", "i2s1", "gpio", "proc_rio", "pio", "spi2"],
    ["sd0", "dpi", "i2s0", "mic", "i2s1", "gpio", "proc_rio", "pio", "spi3"],
    ["sd0", "dpi", "i2s0", "mic", "i2s1", "gpio", "proc_rio", "pio", "spi5"],
    ["sd0", "dpi", "i2s0", "mic", "i2s1", "gpio", "proc_rio", "pio", "spi1"],
];
