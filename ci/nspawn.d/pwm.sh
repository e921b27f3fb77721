# shellcheck shell=bash
# What the server may write in sysfs, for PWM. Sourced by ci/nspawn.

# shellcheck disable=SC2016
# mounted PID PATH: prints "ro" or "rw", as that process has it mounted; nothing if it is not a separate mount.
mounted() { c awk -v path="$2" '$5 == path { print substr($6, 1, 2) }' "/proc/$1/mountinfo" | tail -1; }

check_pwm_files() {
  local pid device root mounts
  [ -d /sys/devices/platform ] || die "this machine's kernel has no /sys/devices/platform"
  # A container's sysfs is read-only, and the unit cannot change that.
  mounts=$(c awk '$5 ~ "^/sys(/devices)?$" && $6 ~ /^ro/ { print $5 }' /proc/1/mountinfo)
  for root in $mounts; do c mount -o remount,bind,rw "$root"; done
  c systemctl restart raspi-mcp
  pid=$(show raspi-mcp MainPID)
  expect "/sys in the unit" ro "$(mounted "$pid" /sys)"
  expect "/sys/devices/platform in the unit" rw "$(mounted "$pid" /sys/devices/platform)"
  # A chip with the permissions from udev. sysfs has none here and accepts no new files, so a tmpfs is mounted on one of its folders.
  device=$(c find /sys/devices/platform -mindepth 1 -maxdepth 1 -type d | head -1)
  c mount -t tmpfs -o mode=755 tmpfs "$device"
  c mkdir -p "$device/pwm/pwmchip0/pwm0"
  for root in export unexport npwm pwm0/period pwm0/duty_cycle pwm0/enable; do c touch "$device/pwm/pwmchip0/$root"; done
  c chmod -R go-w "$device"
  # The commands of the udev rule itself, on this folder.
  udev_rule "${device#/sys}/pwm/pwmchip0"
  c touch "$device/uevent"
  probe raspi-mcp \
    "change $device/pwm/pwmchip0/export ok" "change $device/pwm/pwmchip0/unexport ok" \
    "change $device/pwm/pwmchip0/pwm0/period ok" "change $device/pwm/pwmchip0/pwm0/enable ok" \
    "change $device/uevent no" "write $device no" 'change /sys/devices/platform/uevent no' 'write /sys/kernel no'
  c umount "$device"
  for root in $mounts; do c mount -o remount,bind,ro "$root"; done
  c systemctl restart raspi-mcp
  say "below /sys/devices/platform the unit may write the files that udev gave to the group gpio, and none of root's"
}

# udev_rule PATH: prints what our PWM rule runs when the kernel reports that device.
udev_rule() {
  local command
  grep -o '^SUBSYSTEM=="pwm".*' dist/udev/rules.d/60-raspi-mcp.rules | grep -o 'RUN+="[^"]*"' | sed 's/^RUN+="//; s/"$//' |
    while read -r command; do
      # shellcheck disable=SC2086
      c ${command//%p/$1} </dev/null
    done
}
