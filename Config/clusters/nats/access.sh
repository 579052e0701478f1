#!/usr/bin/env bash
# Converts the access list of mosquitto's kit into users, permissions and accepted keys for nats.conf, so that there is one access
# list. The name in a client's certificate is its user, who may use MQTT only. Everything that is not permitted is refused.
#
# usage: access.sh ACL AUTHORITY NAME... >nats-access.conf
#   ACL        ../../mosquitto/odograph.acl, or another access list of this form
#   AUTHORITY  the folder of certificates.sh, with the certificates whose keys to accept
#   NAME       FLEET/VEHICLE, or a user of ACL
#
# Copy the file to each node, and restart the nodes one after the other: NATS 2.9 reads keys only when it starts.
set -euo pipefail

fail() { echo "access.sh: $1" >&2; exit 1; }
[ $# -ge 3 ] || { sed -n 's/^# \{0,1\}//; 5,8p' "$0" >&2; exit 64; }
acl=$1 authority=$2
shift 2
[ -r "$acl" ] || fail "cannot read $acl; name the access list, as ../../mosquitto/odograph.acl"

# key CERTIFICATE: SHA-256 of the certificate's public key, as NATS compares it.
key() { openssl x509 -in "$1" -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum | cut -d ' ' -f 1; }

[ -r "$authority/node.crt" ] ||
  fail "$authority has no node.crt, with which nodes know each other; make it with: certificates.sh --directory $authority node HOST..."
clients=
for name in "$@"; do
  case $name in
    '' | .* | -* | */*/* | */ | /* | *[!A-Za-z0-9_/-]*)
      # NATS 2.9 refuses topics with a dot, because its own subjects have dots instead of slashes.
      fail "\"$name\" is no name here: use letters, digits, \"_\" and \"-\", as in FLEET/VEHICLE; NATS takes no topic with a dot" ;;
  esac
  [ -r "$authority/clients/$name.crt" ] || fail "$name has no certificate in $authority; see: certificates.sh list"
  clients+="${clients:+,} \"$(key "$authority/clients/$name.crt")\""
done
echo "known_nodes: [ \"$(key "$authority/node.crt")\" ]"
echo "known_clients: [$clients ]"

awk -v names="$*" '
  # A NATS subject has dots instead of slashes, * for one level and > for one or more levels. "#" matches zero or more levels, so
  # that it becomes two subjects.
  function add(list, key, topic, subject) {
    subject = topic
    gsub(/\//, ".", subject)
    gsub(/\+/, "*", subject)
    if (subject ~ /\.#$/) {
      sub(/\.#$/, "", subject)
      list[key] = list[key] ", \"" subject "\""
      subject = subject ".>"
    } else if (subject == "#") subject = ">"
    list[key] = list[key] ", \"" subject "\""
  }
  function granted(list, key) { return list[key] == "" ? "{deny: \">\"}" : "[" substr(list[key], 2) " ]" }
  BEGIN { count = split(names, name, " ") }
  { sub(/[ \t\r]+$/, "") }
  /^[ \t]*(#|$)/ { next }
  $1 == "user" && NF == 2 { user = $2; known[user] = 1; next }
  $1 == "topic" && NF == 3 && user != "" && $3 !~ /[."]/ && ($2 == "read" || $2 == "write") {
    if ($2 == "read") add(reads, user, $3); else add(writes, user, $3)
    next
  }
  $1 == "pattern" && NF == 3 && $3 !~ /[."]/ && ($2 == "read" || $2 == "write") {
    for (i = 1; i <= count; i++) {
      if (name[i] !~ /\//) continue
      topic = $3
      gsub(/%u/, name[i], topic)
      if ($2 == "read") add(reads, name[i], topic); else add(writes, name[i], topic)
    }
    next
  }
  { printf "access.sh: %s:%d: \"%s\" cannot be said in NATS; write \"topic read|write TOPIC\" below a user, or \"pattern read|write TOPIC\", without dots\n", FILENAME, NR, $0 >"/dev/stderr"; failed = 1; exit 1 }
  END {
    if (failed) exit 1
    for (i = 1; i <= count; i++) if (name[i] !~ /\// && !(name[i] in known)) {
      printf "access.sh: %s has no user %s; add \"user %s\" with its topics there\n", FILENAME, name[i], name[i] >"/dev/stderr"
      exit 1
    }
    print "authorization {\n  users: ["
    for (i = 1; i <= count; i++)
      # The server delivers the messages of MQTT subscriptions below $MQTT.sub. MQTT clients cannot subscribe to it by name.
      printf "    {user: \"CN=%s\", allowed_connection_types: [\"MQTT\"], permissions: {publish: %s, subscribe: [\"$MQTT.sub.>\"%s ]}}\n", name[i], granted(writes, name[i]), reads[name[i]]
    print "  ]\n}"
  }' "$acl"
