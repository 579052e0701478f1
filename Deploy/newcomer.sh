# shellcheck shell=bash
# Environment of a first reader of README.md. Sourced by the scripts that follow README.md exactly.

# readme_commands NAME [FILE]: prints the lines of the block "```sh NAME" of a page (default: README.md).
readme_commands() {
  awk -v fence="\`\`\`sh $1" '$0 == fence { inside = 1; next } /^```/ { inside = 0 } inside && NF' "${2:-README.md}"
}

# receiver PORT: a receiver that moves north, with a fix per second as NMEA over UDP to gpsd on that port, for five
# minutes.
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

# shows_location FILE: true if the table in the file shows the vehicle online at the position of the receiver.
shows_location() { grep -E 'van-1 .*online.* 48\.[0-9]+ +11\.[0-9]+' "$1"; }
