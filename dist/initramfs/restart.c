/* restart ARGUMENT: restarts the machine at once and gives the kernel that argument, which busybox' reboot cannot: "0 tryboot" is how
 * a Raspberry Pi's firmware is asked for the other slot. Nothing is written to disks. */
#include <linux/reboot.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	if (count != 2) {
		fputs("usage: restart ARGUMENT\n", stderr);
		return 2;
	}
	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_RESTART2, arguments[1]);
	perror("restart");
	return 1;
}
