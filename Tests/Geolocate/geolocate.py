"""A fake geolocation service at /v1/geolocate on a free loopback port, with valid and invalid responses.

usage: geolocate.py LOG [CERTIFICATE KEY]   with TLS if both are given
The scene is the first folder of the path, as in /nan/v1/geolocate. Prints a line "ready PORT" when it listens; LOG gets a line of JSON
for each request: path, headers and body.
"""

import gzip
import http.server
import json
import ssl
import sys
import threading
import time

LOG = open(sys.argv[1], "a", buffering=1)
LOCK = threading.Lock()
TOWN = {"location": {"lat": 48.137, "lng": 11.5755}, "accuracy": 40}
NOT_FOUND = {"error": {"code": 404, "message": "Not found", "errors": [{"reason": "notFound"}]}}
FORBIDDEN = {"error": {"code": 403, "message": "Daily limit exceeded"}}
ASKED = {}


def text(location, accuracy="40", more=""):
    return f'{{"location": {location}, "accuracy": {accuracy}{more}}}'


HERE = '{"lat": 48.137, "lng": 11.5755}'
# Status, headers and body by scene.
SCENES = {
    "good": (200, {}, json.dumps(TOWN)),
    "unknown": (404, {}, json.dumps(NOT_FOUND)),
    "nan": (200, {}, text('{"lat": NaN, "lng": 11.5}')),
    "infinite": (200, {}, text('{"lat": 1e999, "lng": -1e999}')),
    "outside": (200, {}, text('{"lat": 91, "lng": 11.5}')),
    "quoted": (200, {}, text('{"lat": "48.137", "lng": "11.5755"}')),
    "inaccurate": (200, {}, text(HERE, "-1")),
    "endless": (200, {}, text(HERE, "1e999")),
    "rough": (200, {}, text(HERE, "300000")),
    "antipodes": (200, {}, text('{"lat": -48.137, "lng": -168.4245}', "1")),
    "fallback": (200, {}, text(HERE, "40", ', "fallback": "ipf"')),
    "empty": (200, {}, ""),
    "none": (200, {}, "{}"),
    "large": (200, {}, '{"location": "' + 10_000_000 * "x" + '"}'),
    "deep": (200, {}, 4_000 * '{"location":' + "1" + 4_000 * "}"),
    "html": (200, {"Content-Type": "text/html"}, json.dumps(TOWN)),
    "nowhere": (404, {"Content-Type": "text/html"}, "<h1>Not found</h1>"),
    "forbidden": (403, {}, json.dumps(FORBIDDEN)),
    "invalid": (400, {}, json.dumps({"error": {"code": 400, "message": "Missing or invalid API key."}})),
    "busy": (429, {}, "{}"),
    "later": (429, {"Retry-After": "86400"}, "{}"),
    "broken": (500, {}, "no"),
    "gone": (503, {"Retry-After": "-5"}, "no"),
    "teapot": (418, {}, "{}"),
    "redirect": (302, {"Location": "/good/v1/geolocate"}, ""),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.do_POST()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            LOG.write(json.dumps({"method": self.command, "path": self.path, "headers": dict(self.headers),
                                  "body": body.decode()}) + "\n")
        scene = self.path.split("/")[1]
        try:
            getattr(self, scene, self.plain)(scene)
        except OSError:
            self.close_connection = True

    def plain(self, scene):
        status, headers, content = SCENES[scene]
        content = content.encode()
        self.begin(status, {"Content-Type": "application/json; charset=utf-8", "Content-Length": len(content),
                            **headers})
        self.wfile.write(content)

    def begin(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def bomb(self, _):
        content = gzip.compress(b'{"location": "' + 10_000_000 * b"x" + b'"}')
        self.begin(200, {"Content-Type": "application/json", "Content-Encoding": "gzip",
                         "Content-Length": len(content)})
        self.wfile.write(content)

    def slow(self, _):
        self.begin(200, {"Content-Type": "application/json", "Content-Length": 10_000})
        while True:
            self.wfile.write(b" ")
            time.sleep(0.05)

    def hang(self, _):
        time.sleep(60)

    def headers_for_ever(self, _):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.wfile.write(b"X-More: " + 1000 * b"y" + b"\r\n")

    def early(self, _):
        self.begin(200, {"Content-Type": "application/json", "Content-Length": 100})
        self.wfile.write(b'{"location": {"lat": 48')
        self.close_connection = True

    def garbage(self, _):
        self.wfile.write(b"\x00\xff SSH-2.0\r\n\r\n")
        self.close_connection = True

    def recovers(self, scene):
        """Busy twice, then successful."""
        with LOCK:
            ASKED[scene] = ASKED.get(scene, 0) + 1
        self.plain("busy" if ASKED[scene] < 3 else "good")

    def turns(self, scene):
        """Correct positions at first, then antipodes."""
        with LOCK:
            ASKED[scene] = ASKED.get(scene, 0) + 1
        self.plain("good" if ASKED[scene] < 3 else "antipodes")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", server.server_address[1], flush=True)
server.serve_forever()
