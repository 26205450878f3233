#!/bin/sh
# Makes a CA, once, and a certificate of it for each service of the compose files, as files in $TLS. A certificate that ends within
# a year is made anew.
set -eu
umask 022

year_seconds=31536000

# A key and its certificate: make KEY CERTIFICATE OPTIONS
make() {
  key="$1" certificate="$2"
  shift 2
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -keyout "$key" -out "$certificate" "$@"
}

# The files of a service, whose user owns the key: issue SERVICE USER NAMES
issue() {
  folder="$TLS/$1"
  mkdir -p "$folder"
  cp "$TLS/ca/ca.crt" "$folder/ca.crt"
  if [ -e "$folder/tls.crt" ] && openssl x509 -in "$folder/tls.crt" -noout -checkend "$year_seconds"; then
    return
  fi
  make "$folder/tls.key.new" "$folder/tls.crt.new" -CA "$TLS/ca/ca.crt" -CAkey "$TLS/ca.key" -days 730 -subj "/CN=$1" \
    -addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature \
    -addext extendedKeyUsage=serverAuth,clientAuth -addext "subjectAltName=$3"
  chown "$2" "$folder/tls.key.new"
  mv "$folder/tls.key.new" "$folder/tls.key"
  mv "$folder/tls.crt.new" "$folder/tls.crt"
}

if [ ! -e "$TLS/ca.key" ]; then
  mkdir -p "$TLS/ca"
  make "$TLS/ca.key.new" "$TLS/ca/ca.crt" -days 3650 -subj /CN=hansard -addext keyUsage=critical,keyCertSign,cRLSign
  mv "$TLS/ca.key.new" "$TLS/ca.key"
fi
issue nats 0 DNS:nats,DNS:nats-0.nats-peers,DNS:nats-1.nats-peers,DNS:nats-2.nats-peers
issue postgres 999 DNS:postgres
issue writer 10001 DNS:writer,DNS:localhost
issue projector 10001 DNS:projector
issue gateway 10001 DNS:gateway,DNS:localhost
issue operator 0 DNS:operator
