// SPDX-License-Identifier: GPL-2.0
/*
 * An SPI controller whose output is connected to its input, with one device for spidev at its chip select 0: the kernel's
 * own path from /dev/spidev0.0 to a controller, on a board that has none.
 */
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/spi/spi.h>

static struct platform_device *parent;
static struct spi_controller *controller;

static int loop_transfer(struct spi_controller *ctlr, struct spi_device *spi, struct spi_transfer *transfer)
{
	if (transfer->tx_buf && transfer->rx_buf)
		memcpy(transfer->rx_buf, transfer->tx_buf, transfer->len);
	return 0;
}

static int __init loop_init(void)
{
	/* One of the names that spidev takes: it refuses its own. */
	struct spi_board_info device = { .modalias = "dh2228fv", .max_speed_hz = 50000000, .chip_select = 0 };
	int error;

	parent = platform_device_register_simple("spi-loop", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	controller = spi_alloc_host(&parent->dev, 0);
	if (!controller) {
		platform_device_unregister(parent);
		return -ENOMEM;
	}
	controller->bus_num = 0;
	controller->num_chipselect = 1;
	controller->mode_bits = SPI_CPOL | SPI_CPHA;
	controller->bits_per_word_mask = SPI_BPW_MASK(8);
	controller->transfer_one = loop_transfer;
	error = spi_register_controller(controller);
	if (error) {
		spi_controller_put(controller);
		platform_device_unregister(parent);
		return error;
	}
	return spi_new_device(controller, &device) ? 0 : -ENODEV;
}

static void __exit loop_exit(void)
{
	spi_unregister_controller(controller);
	platform_device_unregister(parent);
}

module_init(loop_init);
module_exit(loop_exit);
MODULE_DESCRIPTION("An SPI controller whose output is its input");
MODULE_LICENSE("GPL");
