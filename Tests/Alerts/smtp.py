"""An SMTP server for letters on a free loopback port.

usage: smtp.py LOG MODE [CERTIFICATE KEY]
MODE: plain has no encryption; starttls requires it before a letter; tls is encrypted from the start; refuse rejects every MAIL
command; partly rejects recipients whose name begins with b; unwanted rejects letters after reading them; slow responds to a letter after 7 s; stuck does not respond to MAIL; failing
fails for a third of the letters: before or after the text, with a closed connection, or with a response that is lost after the
letter was accepted. Prints "ready PORT". LOG gets a line of JSON for each letter.
"""

import base64
import json
import random
import socket
import ssl
import sys
import threading
import time

LOG, MODE = open(sys.argv[1], "a", buffering=1), sys.argv[2]
CONTEXT = None
if len(sys.argv) > 3:
    CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    CONTEXT.load_cert_chain(sys.argv[3], sys.argv[4])


def serve(connection):
    is_safe = MODE == "tls"
    if is_safe:
        connection = CONTEXT.wrap_socket(connection, server_side=True)
    stream = connection.makefile("rwb", buffering=0)
    letter = {"to": [], "safe": is_safe}
    failure = random.choice(["before", "behind", "close", "lost"]) if MODE == "failing" and random.random() < 1 / 3 else None

    def say(text):
        stream.write(text.encode() + b"\r\n")

    say("220 here")
    while line := stream.readline():
        text = line.decode(errors="replace").strip()
        word = text.split(" ")[0].upper()
        if word in ("EHLO", "HELO"):
            offers = ["here", "AUTH PLAIN"] + (["STARTTLS"] if MODE == "starttls" and not is_safe else [])
            for offer in offers[:-1]:
                say("250-" + offer)
            say("250 " + offers[-1])
        elif word == "STARTTLS" and CONTEXT:
            say("220 go on")
            connection = CONTEXT.wrap_socket(connection, server_side=True)
            stream = connection.makefile("rwb", buffering=0)
            is_safe = letter["safe"] = True
        elif word == "AUTH":
            given = text.split(" ")
            if len(given) < 3:
                say("334 ")
                given.append(stream.readline().decode().strip())
            letter["login"] = base64.b64decode(given[2]).decode().split("\0")[1:]
            say("235 welcome")
        elif word == "MAIL" and (MODE == "refuse" or MODE == "starttls" and not is_safe):
            say("530 not so")
        elif word == "MAIL" and failure == "before":
            say("451 later")
        elif word == "MAIL" and MODE == "stuck":
            time.sleep(60)
        elif word == "MAIL":
            letter["from"] = text
            say("250 fine")
        elif word == "RCPT" and MODE == "partly" and "<b" in text:
            say("550-no such user\r\n550 ask the postmaster")
        elif word == "RCPT":
            letter["to"].append(text)
            say("250 fine")
        elif word == "DATA":
            say("354 go on")
            lines = []
            while (line := stream.readline()) not in (b".\r\n", b""):
                lines.append(line.decode())
            letter["text"] = "".join(lines)
            if MODE == "unwanted":
                say("554 no such letters")
                continue
            if failure == "behind":
                say("451 later")
                continue
            if failure == "close":
                return
            if MODE == "slow":
                time.sleep(7)
            LOG.write(json.dumps(letter) + "\n")
            if failure == "lost":
                return
            say("250 taken")
            letter = {"to": [], "safe": is_safe}
            failure = random.choice(["before", "behind", "close", "lost"]) if MODE == "failing" and random.random() < 1 / 3 else None
        elif word == "QUIT":
            say("221 bye")
            return
        else:
            say("502 what?")


def attend(connection):
    try:
        serve(connection)
    except OSError:
        pass
    finally:
        connection.close()


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"ready {listener.getsockname()[1]}", flush=True)
    while True:
        threading.Thread(target=attend, args=(listener.accept()[0],), daemon=True).start()
