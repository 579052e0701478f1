#!/usr/bin/env bash
# A small certificate authority for a fleet: creates certificates of the broker, of each vehicle and of each person or program
# of the fleet's side, and the list of revoked ones. It also creates the keys; copy each key only to its owner.
#
# usage: certificates.sh [--directory DIR] [--days N] COMMAND
#   authority NAME         create the authority; NAME is the issuer in all certificates
#   broker HOST...         create or renew the broker's certificate for these host names and addresses
#   node HOST...           create or renew the certificate for connections between the nodes of a cluster
#   vehicle FLEET VEHICLE  create a vehicle's certificate; its common name FLEET/VEHICLE is the user in odograph.acl
#   member NAME            create a certificate of the fleet's side; NAME is a user in odograph.acl, for example "dispatch" or "admin"
#   replace NAME           create another key and certificate for FLEET/VEHICLE or a member, and revoke the old one
#   revoke NAME            revoke all certificates of this name, for example of a vehicle that was sold or stolen
#   renew-list             renew the list of revoked certificates for --days; with an expired list all clients are refused
#   list                   print state, expiry and name of all certificates
# Files in DIR (default: odograph-certificates):
#   ca.crt                 for all clients   broker.crt broker.key   for the broker     revoked.pem   its crlfile
#   node.crt node.key      for the nodes of a cluster
#   clients/NAME.crt .key  for the client    private/ca.key          secret: never copy it to the broker or a vehicle
# --days: validity of a new certificate in days (default: 825; for the authority and the list of revoked ones: 3650).
#
# After `broker`, `replace` and `revoke`, on the broker's machine:
#   install -m 0644 DIR/ca.crt DIR/broker.crt DIR/revoked.pem /etc/mosquitto/certs/
#   install -m 0640 -g mosquitto DIR/broker.key /etc/mosquitto/certs/
#   systemctl reload mosquitto
# A reload does not close connections. To disconnect a vehicle whose certificate was revoked, restart the broker.
set -euo pipefail
umask 077

fail() { echo "certificates.sh: $1" >&2; exit 1; }
usage() { sed -n 's/^# \{0,1\}//; 5,19p' "$0" >&2; exit 64; }

directory=odograph-certificates days=
while [ $# -gt 0 ]; do
  case $1 in
    --directory) directory=${2:?--directory needs a folder}; shift 2 ;;
    --days) days=${2:?--days needs a number}; shift 2 ;;
    --help | -h) usage 2>&1 ;;
    *) break ;;
  esac
done
case $days in *[!0-9]*) fail "--days is a number, not \"$days\"" ;; esac
command -v openssl >/dev/null || fail "there is no openssl; install it with: apt-get install openssl"
[ $# -ge 1 ] || usage
command=$1
shift

configuration=$(mktemp)
said=$(mktemp)
trap 'rm -f "$configuration" "$said"' EXIT

# quietly COMMAND...: runs openssl, and prints its output only if it fails.
quietly() { "$@" >"$said" 2>&1 || { cat "$said" >&2; fail "openssl has refused, see above"; }; }

# configure [NAMES]: writes the configuration of `openssl ca`; NAMES are a broker's, as in DNS:broker.example,IP:192.0.2.1
configure() {
  cat >"$configuration" <<END
[ca]
default_ca = odograph
[odograph]
dir = $directory
certificate = \$dir/ca.crt
private_key = \$dir/private/ca.key
database = \$dir/index.txt
new_certs_dir = \$dir/issued
crlnumber = \$dir/crlnumber
default_md = sha256
rand_serial = yes
unique_subject = no
policy = names
preserve = yes
[names]
commonName = supplied
[authority]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[broker]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = ${1:-DNS:localhost}
[node]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = ${1:-DNS:localhost}
[client]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
END
}

# key FILE
key() { quietly openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

need_authority() {
  [ -f "$directory/private/ca.key" ] || fail "there is no authority in $directory; make one with: certificates.sh authority NAME"
}

# issue KIND NAME FILE [ALTERNATIVE-NAMES]: creates FILE.key and FILE.crt
issue() {
  configure "${4:-}"
  mkdir -p "$(dirname "$3")"
  key "$3.key.new"
  quietly openssl req -new -config /dev/null -key "$3.key.new" -subj "/CN=${2//\//\\/}" -out "$3.csr"
  quietly openssl ca -batch -config "$configuration" -extensions "$1" -days "${days:-825}" -notext -in "$3.csr" \
    -out "$3.crt.new"
  rm "$3.csr"
  chmod 0644 "$3.crt.new"
  mv "$3.key.new" "$3.key"
  mv "$3.crt.new" "$3.crt"
}

# publish_list: writes the list of revoked certificates for the broker.
publish_list() {
  configure
  quietly openssl ca -gencrl -config "$configuration" -crldays "${1:-3650}" -out "$directory/revoked.pem.new"
  chmod 0644 "$directory/revoked.pem.new"
  mv "$directory/revoked.pem.new" "$directory/revoked.pem"
}

# name TEXT: checks a part of a common name, which is also a topic level, a word in the access list and a file name.
name() {
  case $1 in
    '' | .* | -* | *[!A-Za-z0-9._-]*)
      fail "\"$1\" is no name: use letters, digits, \".\", \"_\" and \"-\", and begin with a letter or digit" ;;
  esac
}

# client NAME: checks a client's name, NAME or FLEET/VEHICLE
client() {
  name "${1%%/*}"
  case $1 in */*) name "${1#*/}" ;; esac
  [ ${#1} -le 64 ] || fail "\"$1\" has more than the 64 characters of a common name; shorten the fleet or the vehicle"
}

# valid NAME: prints the serial numbers of its valid certificates.
valid() {
  local serials
  serials=$(awk -F '\t' -v subject="/CN=$1" '$1 == "V" { gsub(/\\/, "", $6); if ($6 == subject) print $4 }' \
    "$directory/index.txt")
  [ -n "$serials" ] || fail "no valid certificate has the name $1; see: certificates.sh list"
  echo "$serials"
}

# revoke SERIAL...
revoke() {
  configure
  for serial in "$@"; do
    quietly openssl ca -config "$configuration" -revoke "$directory/issued/$serial.pem" -crl_reason superseded
  done
}

case $command in
  authority)
    [ $# -eq 1 ] || usage
    [ ! -e "$directory/private/ca.key" ] || fail "$directory has an authority already; its certificates need it"
    mkdir -p "$directory"/{private,issued,clients}
    : >"$directory/index.txt"
    echo 01 >"$directory/crlnumber"
    configure
    key "$directory/private/ca.key"
    quietly openssl req -x509 -config /dev/null -new -key "$directory/private/ca.key" -subj "/CN=${1//\//\\/}" -sha256 \
      -days "${days:-3650}" -out "$directory/ca.crt" -addext 'basicConstraints=critical,CA:true,pathlen:0' \
      -addext 'keyUsage=critical,keyCertSign,cRLSign'
    chmod 0644 "$directory/ca.crt"
    publish_list "$days"
    echo "$directory/ca.crt"
    ;;
  broker | node)
    [ $# -ge 1 ] || usage
    need_authority
    names=
    for host in "$@"; do
      case $host in
        *:* | *[!0-9.]*) case $host in *:*) names+=",IP:$host" ;; *) name "$host"; names+=",DNS:$host" ;; esac ;;
        *) names+=",IP:$host" ;;
      esac
    done
    issue "$command" "$1" "$directory/$command" "${names#,}"
    echo "$directory/$command.crt"
    ;;
  vehicle | member)
    if [ "$command" = vehicle ]; then
      [ $# -eq 2 ] || usage
      owner=$1/$2
    else
      [ $# -eq 1 ] || usage
      owner=$1
      case $owner in */*) fail "a member's name has no \"/\"; for a vehicle: certificates.sh vehicle ${owner%%/*} ${owner#*/}" ;; esac
    fi
    client "$owner"
    need_authority
    [ ! -e "$directory/clients/$owner.crt" ] || fail "$owner has a certificate; for another: certificates.sh replace $owner"
    issue client "$owner" "$directory/clients/$owner"
    echo "$directory/clients/$owner.crt"
    ;;
  replace)
    [ $# -eq 1 ] || usage
    client "$1"
    need_authority
    serials=$(valid "$1")
    issue client "$1" "$directory/clients/$1"
    # shellcheck disable=SC2086 # hexadecimal words
    revoke $serials
    publish_list
    echo "$directory/clients/$1.crt"
    ;;
  revoke)
    [ $# -eq 1 ] || usage
    client "$1"
    need_authority
    serials=$(valid "$1")
    # shellcheck disable=SC2086 # hexadecimal words
    revoke $serials
    rm -f "$directory/clients/$1".{crt,key}
    publish_list
    echo "$directory/revoked.pem"
    ;;
  renew-list)
    [ $# -eq 0 ] || usage
    need_authority
    publish_list "$days"
    echo "$directory/revoked.pem"
    ;;
  list)
    [ $# -eq 0 ] || usage
    need_authority
    awk -F '\t' '{
      gsub(/\\/, "", $6); sub(/^\/CN=/, "", $6)
      state = $1 == "R" ? "revoked" : $1 == "E" ? "expired" : "valid"
      printf "%-8s 20%s-%s-%s  %s\n", state, substr($2, 1, 2), substr($2, 3, 2), substr($2, 5, 2), $6
    }' "$directory/index.txt"
    ;;
  *) usage ;;
esac
