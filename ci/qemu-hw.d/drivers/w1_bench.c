// SPDX-License-Identifier: GPL-2.0
/*
 * A 1-Wire master with a DS18B20 at its bus, bit by bit as its data sheet has it (Maxim 19-7487): the kernel searches for it,
 * has it measure and reads its scratchpad, as on a real wire. What a hand at the bench would do are parameters.
 */
#include <linux/module.h>
#include <linux/w1.h>

static short sixteenths = 344;
module_param(sixteenths, short, 0644);
MODULE_PARM_DESC(sixteenths, "the temperature, in sixteenths of a degree");
static int disturbed;
module_param(disturbed, int, 0644);
MODULE_PARM_DESC(disturbed, "one bit of each scratchpad is wrong");
static int away;
module_param(away, int, 0644);
MODULE_PARM_DESC(away, "the device is not at the bus");

enum state { IDLE, ROM_COMMAND, SEARCH, MATCH, READ_ROM, COMMAND, READING, WRITING, POWERED };

static struct {
	enum state state;
	/* Bits of a command or of what is written, low bit first. */
	u8 byte;
	unsigned int bit;
	/* Of a search: id bit, its complement, direction. */
	unsigned int phase;
	u8 rom[8];
	u8 scratchpad[9];
} device;

static u8 crc8(const u8 *bytes, int count)
{
	u8 crc = 0;

	while (count--) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x8c : crc >> 1;
	}
	return crc;
}

static void measure(void)
{
	device.scratchpad[0] = sixteenths & 0xff;
	device.scratchpad[1] = (sixteenths >> 8) & 0xff;
	device.scratchpad[8] = crc8(device.scratchpad, 8);
}

static void go(enum state state)
{
	device.state = state;
	device.byte = 0;
	device.bit = 0;
	device.phase = 0;
}

static u8 bit_of(const u8 *bytes, unsigned int at)
{
	return bytes[at / 8] >> at % 8 & 1;
}

static void commanded(u8 command)
{
	switch (command) {
	case 0xf0: go(SEARCH); break;
	case 0x33: go(READ_ROM); break;
	case 0x55: go(MATCH); break;
	case 0xcc: go(COMMAND); break;
	/* Functions. Each follows the choice of a device. */
	case 0x44: measure(); go(POWERED); break;
	case 0xbe: go(READING); break;
	case 0x4e: go(WRITING); break;
	case 0xb4: go(POWERED); break;
	default: go(IDLE);
	}
}

/* The master writes a bit, or reads one by writing 1. Returns what is on the line then. */
static u8 touch_bit(void *data, u8 bit)
{
	unsigned int at = device.bit;
	u8 own;

	bit &= 1;
	if (away)
		return bit;
	switch (device.state) {
	case ROM_COMMAND:
	case COMMAND:
		device.byte |= bit << device.bit++;
		if (device.bit == 8)
			commanded(device.byte);
		return bit;
	case SEARCH:
		own = bit_of(device.rom, at);
		if (device.phase == 0) {
			device.phase = 1;
			return own;
		}
		if (device.phase == 1) {
			device.phase = 2;
			return !own;
		}
		device.phase = 0;
		if (bit != own || ++device.bit == 64)
			go(IDLE);
		return bit;
	case MATCH:
		if (bit != bit_of(device.rom, at))
			go(IDLE);
		else if (++device.bit == 64)
			go(COMMAND);
		return bit;
	case READ_ROM:
		own = bit_of(device.rom, at);
		if (++device.bit == 64)
			go(COMMAND);
		return bit & own;
	case READING:
		own = bit_of(device.scratchpad, at);
		if (disturbed && at == 3)
			own = !own;
		if (++device.bit == 72)
			go(IDLE);
		return bit & own;
	case WRITING:
		/* Alarms and resolution: its scratchpad's bytes 2 to 4. The resolution stays at twelve bits. */
		if (++device.bit == 24)
			go(IDLE);
		return bit;
	case POWERED:
	default:
		/* Powered by a wire of its own, and done at once: a 1. */
		return bit;
	}
}

/* 0: somebody is there. */
static u8 reset_bus(void *data)
{
	if (away)
		return 1;
	go(ROM_COMMAND);
	return 0;
}

static struct w1_bus_master master = { .touch_bit = touch_bit, .reset_bus = reset_bus };

static int __init bench_init(void)
{
	/* 28-0000005ca1ab, and what is in it after power-up. */
	static const u8 rom[7] = { 0x28, 0xab, 0xa1, 0x5c, 0x00, 0x00, 0x00 };
	static const u8 scratchpad[8] = { 0x50, 0x05, 0x4b, 0x46, 0x7f, 0xff, 0x0c, 0x10 };

	memcpy(device.rom, rom, sizeof(rom));
	device.rom[7] = crc8(rom, sizeof(rom));
	memcpy(device.scratchpad, scratchpad, sizeof(scratchpad));
	device.scratchpad[8] = crc8(scratchpad, sizeof(scratchpad));
	return w1_add_master_device(&master);
}

static void __exit bench_exit(void)
{
	w1_remove_master_device(&master);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("A 1-Wire master with a DS18B20 at its bus");
MODULE_LICENSE("GPL");
