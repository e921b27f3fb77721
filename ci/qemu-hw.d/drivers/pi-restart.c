// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for what Raspberry Pi's kernels do at a restart: the firmware is told the argument of reboot(2), such as "0 tryboot". Here the
 * firmware is ci/qemu.d/firmware.py, which hears it on the serial line.
 */
#include <linux/module.h>
#include <linux/reboot.h>

static int tell(struct notifier_block *block, unsigned long action, void *argument)
{
	if (action == SYS_RESTART && argument)
		pr_emerg("bench: the firmware is told: %s\n", (char *)argument);
	return NOTIFY_DONE;
}

static struct notifier_block notifier = { .notifier_call = tell };

static int __init pi_restart_init(void)
{
	return register_reboot_notifier(&notifier);
}

static void __exit pi_restart_exit(void)
{
	unregister_reboot_notifier(&notifier);
}

module_init(pi_restart_init);
module_exit(pi_restart_exit);
MODULE_DESCRIPTION("Says on the console what a restart would tell a Raspberry Pi's firmware");
MODULE_LICENSE("GPL");
