# shellcheck shell=bash
# What a first reader of README.md meets, for the scripts that follow it to the letter; sourced by them.

# readme_commands NAME [FILE]: the lines of the block "```sh NAME" of a page (default: README.md).
readme_commands() {
  awk -v fence="\`\`\`sh $1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside && NF' "${2:-README.md}"
}

# receiver PORT: a receiver on its way north, a fix a second, as NMEA by UDP to gpsd there; ends after five minutes.
receiver() {
  python3 - "$1" <<'PYTHON'
import datetime, functools, operator, socket, sys, time

gpsd = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for second in range(300):
    now = datetime.datetime.now(datetime.timezone.utc)
    minutes = 8.2458 + second * 0.006
    bodies = (
        f"GPRMC,{now:%H%M%S}.00,A,48{minutes:07.4f},N,01134.5294,E,21.6,0.0,{now:%d%m%y},,,A",
        f"GPGGA,{now:%H%M%S}.00,48{minutes:07.4f},N,01134.5294,E,1,09,0.9,520.0,M,47.0,M,,",
    )
    for body in bodies:
        check = functools.reduce(operator.xor, body.encode())
        gpsd.sendto(f"${body}*{check:02X}\r\n".encode(), ("127.0.0.1", int(sys.argv[1])))
    time.sleep(1)
PYTHON
}

# shows_location FILE: whether the table that is written there has the vehicle online, where the receiver is.
shows_location() { grep -E 'van-1 .*online.* 48\.[0-9]+ +11\.[0-9]+' "$1"; }
