#!/usr/bin/env bash
# Converts the access list of mosquitto's kit into definitions of RabbitMQ, so that there is one access list. The name in a
# client's certificate is its user. Everything that is not permitted is refused, and no user has a password.
#
# usage: access.sh ACL NAME... | rabbitmqctl import_definitions
#   ACL    ../../mosquitto/odograph.acl, or another access list of this form
#   NAME   FLEET/VEHICLE, or a user of ACL
#
# List all names each time. Import the definitions on one node; all nodes then have them. An import adds and replaces users, but
# deletes none: use rabbitmqctl delete_user NAME. Each node imports its definitions.json at every start, which restores the users
# of an old file: copy the new file to every node.
set -euo pipefail

fail() { echo "access.sh: $1" >&2; exit 1; }
[ $# -ge 2 ] || { sed -n 's/^# \{0,1\}//; 5,7p' "$0" >&2; exit 64; }
acl=$1
shift
[ -r "$acl" ] || fail "cannot read $acl; name the access list, as ../../mosquitto/odograph.acl"

for name in "$@"; do
  case $name in
    '' | .* | -* | */*/* | */ | /* | *[!A-Za-z0-9_/-]*)
      # A dot would split a topic level in two, because RabbitMQ's routing keys have dots instead of slashes.
      fail "\"$name\" is no name here: use letters, digits, \"_\" and \"-\", as in FLEET/VEHICLE; RabbitMQ cuts topics at dots, too" ;;
  esac
done
# The name of a vehicle's session has - instead of /: two vehicles with the same session name could use each other's session.
same=$(printf '%s\n' "$@" | sort -u | sed -n 's|/|-|p' | sort | uniq -d | sed -n 1p)
[ -z "$same" ] || fail "two vehicles would share the session odographd-$same, as acme/van-1 and acme-van/1 do; name one of them differently"

awk -v names="$*" '
  function expression(topic, level, levels, count, i, text) {
    count = split(topic, levels, "/")
    text = ""
    for (i = 1; i <= count; i++) {
      level = levels[i]
      if (level == "#") return text (i > 1 ? "(\\\\..*)?" : ".*")
      if (i > 1) text = text "\\\\."
      # RabbitMQ checks the permission for a wildcard subscription with the wildcard itself: * for one level.
      # MQTT forbids a zero byte in a topic, but the plugin accepts it.
      if (level == "+") level = "[^.#[:cntrl:]]+"
      else gsub(/\./, "\\\\.", level)
      text = text level
    }
    return text
  }
  function add(list, key, topic) { list[key] = list[key] (list[key] == "" ? "" : "|") expression(topic) }
  function quoted(list, key) { return list[key] == "" ? "^$" : "^(" list[key] ")$" }
  BEGIN { count = split(names, name, " ") }
  { sub(/[ \t\r]+$/, "") }
  /^[ \t]*(#|$)/ { next }
  $1 == "user" && NF == 2 { user = $2; known[user] = 1; next }
  $1 == "topic" && NF == 3 && user != "" && ($2 == "read" || $2 == "write") {
    if ($2 == "read") add(reads, user, $3); else add(writes, user, $3)
    next
  }
  $1 == "pattern" && NF == 3 && ($2 == "read" || $2 == "write") {
    for (i = 1; i <= count; i++) {
      if (name[i] !~ /\//) continue
      topic = $3
      gsub(/%u/, name[i], topic)
      if ($2 == "read") add(reads, name[i], topic); else add(writes, name[i], topic)
    }
    next
  }
  { printf "access.sh: %s:%d: \"%s\" cannot be said in RabbitMQ; write \"topic read|write TOPIC\" below a user, or \"pattern read|write TOPIC\"\n", FILENAME, NR, $0 >"/dev/stderr"; failed = 1; exit 1 }
  END {
    if (failed) exit 1
    for (i = 1; i <= count; i++) if (name[i] !~ /\// && !(name[i] in known)) {
      printf "access.sh: %s has no user %s; add \"user %s\" with its topics there\n", FILENAME, name[i], name[i] >"/dev/stderr"
      exit 1
    }
    print "{\"vhosts\": [{\"name\": \"/\"}],\n \"users\": ["
    for (i = 1; i <= count; i++)
      printf "  {\"name\": \"%s\", \"password_hash\": \"\", \"hashing_algorithm\": \"rabbit_password_hashing_sha256\", \"tags\": \"\"}%s\n", name[i], i < count ? "," : ""
    print " ],\n \"permissions\": ["
    for (i = 1; i <= count; i++) {
      # A vehicle may use only the session of its own name; other users may use sessions whose names begin with
      # odograph-.
      own = name[i]
      gsub(/\//, "-", own)
      queue = name[i] ~ /\// ? "mqtt-subscription-odographd-" own "qos[01]" : "(mqtt-subscription-)?odograph-.*"
      printf "  {\"user\": \"%s\", \"vhost\": \"/\", \"configure\": \"^%s$\", \"write\": \"^(%s|amq\\\\.topic)$\", \"read\": \"^(%s|amq\\\\.topic)$\"}%s\n", name[i], queue, queue, queue, i < count ? "," : ""
    }
    print " ],\n \"topic_permissions\": ["
    for (i = 1; i <= count; i++)
      printf "  {\"user\": \"%s\", \"vhost\": \"/\", \"exchange\": \"amq.topic\", \"write\": \"%s\", \"read\": \"%s\"}%s\n", name[i], quoted(writes, name[i]), quoted(reads, name[i]), i < count ? "," : ""
    print " ]}"
  }' "$acl"
