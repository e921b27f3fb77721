# Chooses a slot, counts the boot, starts it: the script of boards that boot with U-Boot (Pi 3, Zero 2 W, QEMU).
# mkimage -A arm64 -T script -C none -d boot.cmd boot.scr; boot.scr lies on partition 1. docs/boot.md tells the whole story.
#
# State: two raw copies of 512 bytes, at 1 MiB and at 5 MiB, each what `env export -c -s 200` writes: CRC-32 of the rest
# (little-endian), name=value with a NUL after each, zeros. Of the valid copies the one with the larger ab_seq holds; the
# other one is written. Numbers are hexadecimal without 0x.
#   ab_seq     how often the state was written
#   ab_order   slots in the order in which they are tried: "A B"
#   ab_left_A  boots that slot A has left before it counts as failed; whoever finds the running slot healthy sets it to 3
#   ab_left_B  the same for slot B
#
# Slot A is partitions 2 (boot files, FAT) and 5 (root), slot B is 3 and 6. Its slot.env names what to start:
#   slot_kernel=Image   slot_initrd=initrd   slot_args=console=ttyAMA0 quiet
#
# U-Boot 2023.01 or newer with: env import/export, setexpr, load on FAT, part, booti, and read/write of the boot device.

setenv ab_addr ${kernel_addr_r}
setenv ab_names ab_seq ab_order ab_left_A ab_left_B
setenv ab_block_1 800
setenv ab_block_2 2800
${devtype} dev ${devnum}

# Which copy holds. No valid one: the defaults; the first save makes copy 2 valid again, the next one copy 1.
setenv ab_copy 0
setenv ab_newest 0
for copy in 1 2; do
  if test ${copy} = 1; then setenv ab_block ${ab_block_1}; else setenv ab_block ${ab_block_2}; fi
  setenv ab_seq 0
  if ${devtype} read ${ab_addr} ${ab_block} 1 && env import -c ${ab_addr} 200 ab_seq; then
    if test 0x${ab_seq} -gt 0x${ab_newest}; then setenv ab_newest ${ab_seq}; setenv ab_copy ${copy}; fi
  fi
done
setenv ab_order "A B"
setenv ab_left_A 3
setenv ab_left_B 3
setenv ab_seq 0
setenv ab_older ${ab_block_2}
setenv ab_newer ${ab_block_1}
if test ${ab_copy} = 2; then setenv ab_older ${ab_block_1}; setenv ab_newer ${ab_block_2}; fi
if test ${ab_copy} -gt 0; then
  ${devtype} read ${ab_addr} ${ab_newer} 1
  env import -c ${ab_addr} 200 ${ab_names}
fi
echo "raspi-mcp boot: state copy ${ab_copy}, seq ${ab_seq}, order ${ab_order}, left A ${ab_left_A} B ${ab_left_B}"

# Writes the state over its older copy: a cut in the middle leaves the newer one.
setenv ab_swap 'setenv ab_was ${ab_older}; setenv ab_older ${ab_newer}; setenv ab_newer ${ab_was}'
setenv ab_write 'env export -c -s 200 ${ab_addr} ${ab_names} && ${devtype} write ${ab_addr} ${ab_older} 1'
setenv ab_save 'setexpr ab_seq ${ab_seq} + 1; run ab_write && run ab_swap'

# Starts slot ${ab_slot}; comes back only when its files do not load or are no kernel. The root is found by PARTUUID, which
# U-Boot reads from the very disk it booted from. slot_args come last, so that a slot can overrule panic=10.
setenv ab_start 'run ab_forget; run ab_load_env && run ab_load_kernel && run ab_load_initrd && run ab_go'
setenv ab_forget 'setenv slot_kernel; setenv slot_initrd; setenv slot_args; setenv ab_initrd -'
setenv ab_load_env 'load ${ab_from} ${ab_addr} slot.env && env import -t ${ab_addr} ${filesize} slot_kernel slot_initrd slot_args'
setenv ab_load_kernel 'load ${ab_from} ${kernel_addr_r} ${slot_kernel}'
setenv ab_load_initrd 'test -z "${slot_initrd}" || run ab_initrd_too'
setenv ab_initrd_too 'load ${ab_from} ${ramdisk_addr_r} ${slot_initrd} && setenv ab_initrd ${ramdisk_addr_r}:${filesize}'
setenv ab_go 'part uuid ${devtype} ${devnum}:${ab_root} ab_uuid && run ab_args && booti ${kernel_addr_r} ${ab_initrd} ${ab_fdt}'
setenv ab_args 'setenv bootargs panic=10 root=PARTUUID=${ab_uuid} ro raspi_mcp.slot=${ab_slot} raspi_mcp.left=${ab_left} ${slot_args}'
# Boards whose firmware hands over a device tree say where (Pi); else U-Boot's own.
if test -n "${fdt_addr}"; then setenv ab_fdt ${fdt_addr}; else setenv ab_fdt ${fdtcontroladdr}; fi

for slot in ${ab_order}; do
  setenv ab_slot ${slot}
  if test ${slot} = A; then
    setenv ab_boot 2; setenv ab_root 5; setenv ab_left ${ab_left_A}
  else
    setenv ab_boot 3; setenv ab_root 6; setenv ab_left ${ab_left_B}
  fi
  if test 0x${ab_left} -gt 0; then
    # Counted before it is started: a boot that hangs has been counted.
    setexpr ab_left ${ab_left} - 1
    setenv ab_left_${slot} ${ab_left}
    run ab_save
    echo "raspi-mcp boot: slot ${slot}, ${ab_left} left after this one"
    setenv ab_from "${devtype} ${devnum}:${ab_boot}"
    run ab_start
    echo "raspi-mcp boot: slot ${slot} does not load"
    setenv ab_left_${slot} 0
    run ab_save
  else
    echo "raspi-mcp boot: slot ${slot} has no boots left"
  fi
done

# Neither slot: giving up would help nobody, so both may try again, from the first.
echo "raspi-mcp boot: no slot is left, both get three boots again"
setenv ab_order "A B"
setenv ab_left_A 3
setenv ab_left_B 3
run ab_save
reset
