/* Writes a GPIO line as fast as ioctls go, and prints the nanoseconds that all writes took: bare CHIP LINE COUNT.
 * Nobody gets below it: what a write costs through raspi-mcp's port is compared with this. */
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

int main(int argc, char **argv) {
  struct gpiohandle_request request = {.flags = GPIOHANDLE_REQUEST_OUTPUT, .lines = 1};
  struct gpiohandle_data data = {0};
  struct timespec began, ended;
  if (argc != 4) return 2;
  int chip = open(argv[1], O_RDWR), count = atoi(argv[3]);
  request.lineoffsets[0] = atoi(argv[2]);
  strcpy(request.consumer_label, "bare");
  if (chip < 0 || ioctl(chip, GPIO_GET_LINEHANDLE_IOCTL, &request)) {
    perror(argv[1]);
    return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (int turn = 0; turn < count; turn++) {
    data.values[0] = turn & 1;
    if (ioctl(request.fd, GPIOHANDLE_SET_LINE_VALUES_IOCTL, &data)) return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &ended);
  printf("%lld\n", (ended.tv_sec - began.tv_sec) * 1000000000LL + ended.tv_nsec - began.tv_nsec);
  return 0;
}
