#!/bin/sh
# Makes certificates for trying an example, in `certs/` of the working directory: an authority of its own, `internal-ca`, and one
# certificate with its key for each name given, as `gateway` or `web=*.example.com`. Without a host it is for localhost. All of
# them end after 30 days; nothing should trust them.
set -eu
umask 077
mkdir -p certs
new="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"

[ -f certs/internal-ca.key ] || openssl req -x509 $new -days 30 -subj "/CN=Example authority" \
  -addext "basicConstraints=critical,CA:TRUE" -keyout certs/internal-ca.key -out certs/internal-ca.pem 2>/dev/null

for each in "$@"; do
  name=${each%%=*}
  host=localhost
  [ "$name" = "$each" ] || host=${each#*=}
  openssl req -x509 $new -days 30 -subj "/CN=$name" -addext "subjectAltName=DNS:$host" \
    -addext "basicConstraints=critical,CA:FALSE" -CA certs/internal-ca.pem -CAkey certs/internal-ca.key \
    -keyout "certs/$name.key" -out "certs/$name.pem" 2>/dev/null
done
