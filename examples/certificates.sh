#!/bin/sh
# Makes certificates for trying an example: for each name given, as `gateway` or `web=*.example.com`, a certificate and its key in
# `certs/` of the working directory. Without a host it is for localhost. Each is its own authority and ends after 30 days;
# nothing else should trust it.
set -eu
umask 077
mkdir -p certs

for each in "$@"; do
  name=${each%%=*}
  host=localhost
  [ "$name" = "$each" ] || host=${each#*=}
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=$name" \
    -addext "subjectAltName=DNS:$host" -keyout "certs/$name.key" -out "certs/$name.pem" 2>/dev/null
done
