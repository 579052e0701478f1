"""A receiver of alerts that fails for a third of the requests in different ways, and processes each key once.

usage: receiver.py LOG [SHARE [SECRET]]
Fails SHARE of requests (default 0.333): with a 5xx status, without a response until the sender times out, with a closed connection,
and with a response that is lost after processing. Prints "ready PORT". LOG gets a line of JSON for each message, including repeated
ones.
"""

import hashlib
import hmac
import http.server
import json
import random
import socketserver
import sys
import threading
import time

LOG = open(sys.argv[1], "a", buffering=1)
SHARE = float(sys.argv[2]) if len(sys.argv) > 2 else 1 / 3
SECRET = sys.argv[3].encode() if len(sys.argv) > 3 else b""
SILENCE = 1.5  # seconds, longer than the sender's timeout
LOCK = threading.Lock()
PROCESSED = set()
COUNTS = {"requests": 0, "failed": 0}
RANDOM = random.Random()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(200, json.dumps(COUNTS).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            COUNTS["requests"] += 1
            failure = RANDOM.choice(["status", "silence", "close", "lost"]) if RANDOM.random() < SHARE else None
            COUNTS["failed"] += failure is not None
        if problem := self.problem(body):
            with LOCK:
                LOG.write(json.dumps({"problem": problem}) + "\n")
            return self.answer(400, problem.encode())
        if failure == "status":
            return self.answer(RANDOM.choice([500, 502, 503]), b"")
        if failure == "silence":
            time.sleep(SILENCE)
        if failure in ("silence", "close"):
            self.close_connection = True
            return None
        key = self.headers["Idempotency-Key"]
        with LOCK:
            again = key in PROCESSED
            PROCESSED.add(key)
            LOG.write(json.dumps({"key": key, "again": again, "body": json.loads(body)}) + "\n")
        if failure == "lost":
            self.close_connection = True
            return None
        return self.answer(200, b"{}")

    def problem(self, body):
        if not SECRET:
            return None
        stamp = self.headers.get("Odograph-Timestamp", "")
        made = "sha256=" + hmac.new(SECRET, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(made, self.headers.get("Odograph-Signature", "")):
            return "wrong signature"
        return None if abs(time.time() - int(stamp)) < 300 else "too old"

    def answer(self, status, body):
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(f"ready {server.server_address[1]}", flush=True)
    server.serve_forever()
