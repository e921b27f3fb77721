/* Writes a GPIO line, exchanges 16 bytes with an SPI device, or writes 16 bytes to a serial port and waits until they have left, as fast
 * as system calls go, and prints the nanoseconds that all of it took: bare CHIP LINE COUNT, bare /dev/spidevB.C spi COUNT,
 * bare /dev/ttyX serial COUNT. Nobody gets below it: what a call costs through raspi-mcp's port is compared with this. */
#include <fcntl.h>
#include <linux/gpio.h>
#include <linux/spi/spidev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int write_line(int chip, int line, int count) {
  struct gpiohandle_request request = {.flags = GPIOHANDLE_REQUEST_OUTPUT, .lines = 1};
  struct gpiohandle_data data = {0};
  static int handle = -1;
  if (handle < 0) {
    request.lineoffsets[0] = line;
    strcpy(request.consumer_label, "bare");
    if (ioctl(chip, GPIO_GET_LINEHANDLE_IOCTL, &request)) return 1;
    handle = request.fd;
  }
  for (int turn = 0; turn < count; turn++) {
    data.values[0] = turn & 1;
    if (ioctl(handle, GPIOHANDLE_SET_LINE_VALUES_IOCTL, &data)) return 1;
  }
  return 0;
}

static int exchange(int device, int count) {
  unsigned char bytes[16] = {1, 2, 3};
  struct spi_ioc_transfer transfer = {
      .tx_buf = (unsigned long)bytes, .rx_buf = (unsigned long)bytes, .len = sizeof(bytes), .speed_hz = 500000, .bits_per_word = 8};
  while (count--)
    if (ioctl(device, SPI_IOC_MESSAGE(1), &transfer) < 0) return 1;
  return 0;
}

static int open_line(int terminal) {
  struct termios line;
  if (tcgetattr(terminal, &line)) return 1;
  cfmakeraw(&line);
  line.c_cflag |= CLOCAL | CREAD;
  cfsetspeed(&line, B115200);
  return tcsetattr(terminal, TCSANOW, &line);
}

static int write_serial(int terminal, int count) {
  const char bytes[16] = {1, 2, 3};
  while (count--)
    if (write(terminal, bytes, sizeof(bytes)) != sizeof(bytes) || tcdrain(terminal)) return 1;
  return 0;
}

int main(int argc, char **argv) {
  struct timespec began, ended;
  if (argc != 4) return 2;
  int spi = !strcmp(argv[2], "spi"), serial = !strcmp(argv[2], "serial"), count = atoi(argv[3]), failed;
  int device = open(argv[1], O_RDWR | O_NOCTTY);
  /* The line is taken before the clock starts. */
  if (device < 0 || (serial ? open_line(device) : !spi && write_line(device, atoi(argv[2]), 0))) {
    perror(argv[1]);
    return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &began);
  if (spi)
    failed = exchange(device, count);
  else if (serial)
    failed = write_serial(device, count);
  else
    failed = write_line(device, 0, count);
  clock_gettime(CLOCK_MONOTONIC, &ended);
  if (failed) {
    perror(argv[1]);
    return 1;
  }
  printf("%lld\n", (ended.tv_sec - began.tv_sec) * 1000000000LL + ended.tv_nsec - began.tv_nsec);
  return 0;
}
