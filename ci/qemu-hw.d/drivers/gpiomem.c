// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in for bcm2835-gpiomem of Raspberry Pi's kernels, which Debian's has not: /dev/gpiomem maps the registers of the
 * GPIO block and nothing else, so that whoever may open it needs no rights over all memory.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>

static struct resource registers;

static int gpiomem_mmap(struct file *file, struct vm_area_struct *vma)
{
	if (vma->vm_pgoff || vma->vm_end - vma->vm_start > PAGE_SIZE)
		return -EINVAL;
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	return remap_pfn_range(vma, vma->vm_start, registers.start >> PAGE_SHIFT, PAGE_SIZE, vma->vm_page_prot);
}

static const struct file_operations gpiomem_files = {
	.owner = THIS_MODULE,
	.mmap = gpiomem_mmap,
};

static struct miscdevice gpiomem = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gpiomem",
	.fops = &gpiomem_files,
};

static int __init gpiomem_init(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, "brcm,bcm2835-gpio");
	int error;

	if (!node)
		return -ENODEV;
	error = of_address_to_resource(node, 0, &registers);
	of_node_put(node);
	return error ? error : misc_register(&gpiomem);
}

static void __exit gpiomem_exit(void)
{
	misc_deregister(&gpiomem);
}

module_init(gpiomem_init);
module_exit(gpiomem_exit);
MODULE_DESCRIPTION("The registers of the GPIO block of a BCM2835 and its successors, for programs");
MODULE_LICENSE("GPL");
