#!/bin/sh
# Makes the root file system of a container image out of Debian's packages and a single executable. Used by the Containerfiles,
# and by whoever has no container runtime.
#
# usage: rootfs.sh ARCHITECTURE ARTIFACTS TARGET [tools]
#
# ARCHITECTURE is Debian's (amd64, arm64), ARTIFACTS the folder that `npm run build:binary` filled. With `tools` there are also
# a shell, Node with npx, Python with uvx and git, for MCP servers that are started by name; that needs npm and pip here.
set -eu

architecture=$1
artifacts=$2
target=$3
kind=${4:-proxy}

node=26.10.0
npm=11.19.1
uv=0.13.9

case $architecture in
  amd64) node_architecture=x64 python_architecture=x86_64 ;;
  *) node_architecture=$architecture python_architecture=aarch64 ;;
esac

packages=base-files,libatomic1,libc6,libgcc-s1,libstdc++6,tini
if [ "$kind" = tools ]; then
  packages=$packages,ca-certificates,coreutils,dash,git,python3
fi

# Packages are unpacked, and none of their scripts runs: another machine's could not.
mmdebstrap --quiet --variant=extract --skip=cleanup/apt --architectures="$architecture" --include="$packages" \
  --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr bookworm "$target" \
  "deb http://deb.debian.org/debian bookworm main" \
  "deb http://deb.debian.org/debian bookworm-updates main" \
  "deb http://deb.debian.org/debian-security bookworm-security main"

# What is installed, as scanners of images look for it.
mkdir -p "$target/var/lib/dpkg/status.d"
for package in "$target"/var/cache/apt/archives/*.deb; do
  name=$(dpkg-deb --field "$package" Package)
  dpkg-deb --field "$package" >"$target/var/lib/dpkg/status.d/$name"
done
rm -rf "$target"/var/cache/apt "$target"/var/lib/apt "$target"/var/log/* "$target"/usr/share/info \
  "$target"/usr/share/locale "$target"/usr/share/man
find "$target/usr/share/doc" \( -type f -o -type l \) ! -name copyright -delete

# Nobody else is there.
printf 'root:x:0:0:root:/root:/sbin/nologin\nheadgate:x:65532:65532:headgate:/cache:/sbin/nologin\n' >"$target/etc/passwd"
printf 'root:x:0:\nheadgate:x:65532:\n' >"$target/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$target/etc/nsswitch.conf"
mkdir -p "$target/config"
# What a runtime puts in place.
for file in hostname hosts resolv.conf; do : >"$target/etc/$file"; done

executable=$(echo "$artifacts"/headgate-*-linux-"$node_architecture")
install -m 755 "$executable/headgate" "$target/usr/bin/headgate"
ln -s headgate "$target/usr/bin/headgatectl"
mkdir -p "$target/usr/share/doc/headgate"
cp "$executable/LICENSE" "$executable/LICENSE-node" "$executable/THIRD-PARTY-NOTICES.txt" "$target/usr/share/doc/headgate"

: >"$target.tools"
if [ "$kind" = tools ]; then
  work=$(mktemp -d)
  (
    cd "$work"
    npm pack --silent "node-linux-$node_architecture@$node" "npm@$npm" >/dev/null
    mkdir node npm
    tar -xzf node-linux-*.tgz -C node --strip-components=1
    tar -xzf npm-*.tgz -C npm --strip-components=1
    pip download --quiet --no-deps --only-binary=:all: --platform "manylinux2014_$python_architecture" \
      --platform "manylinux_2_28_$python_architecture" "uv==$uv"
    python3 -m zipfile -e uv-*.whl uv
  )
  install -m 755 "$work/node/bin/node" "$target/usr/bin/node"
  mkdir -p "$target/usr/lib/node_modules"
  cp -R "$work/npm" "$target/usr/lib/node_modules/npm"
  for name in npm npx; do ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$target/usr/bin/$name"; done
  for name in uv uvx; do install -m 755 "$work"/uv/uv-*.data/scripts/"$name" "$target/usr/bin/$name"; done
  rm -r "$work"
  cat "$target"/usr/share/ca-certificates/mozilla/*.crt >"$target/etc/ssl/certs/ca-certificates.crt"
  # Whoever runs the image puts a writable volume here.
  install -d -o 65532 -g 65532 "$target/cache"
  printf 'generic node %s\nnpm npm %s\npypi uv %s\n' "$node" "$npm" "$uv" >"$target.tools"
fi

# The SBOM of the executable, and what else is in the image.
{
  for package in "$target"/var/lib/dpkg/status.d/*; do
    awk '/^Package: /{n=$2} /^Version: /{v=$2} /^Architecture: /{a=$2} END{print "deb/debian", n, v, a}' "$package"
  done
  cat "$target.tools"
} | jq -R 'split(" ") | (if .[3] then "?arch=\(.[3])" else "" end) as $arch
    | "pkg:\(.[0])/\(.[1] | @uri)@\(.[2] | @uri)\($arch)" as $purl
    | { type: "library", "bom-ref": $purl, name: .[1], version: .[2], purl: $purl }' |
  jq -s --slurpfile bill "$executable/sbom.cdx.json" '. as $others | $bill[0]
    | .components as $own | ($others | map(select(."bom-ref" as $ref | all($own[]; ."bom-ref" != $ref)))) as $new
    | .components += $new
    | .dependencies[0].dependsOn += ($new | map(."bom-ref"))
    | .dependencies += ($new | map({ ref: ."bom-ref" }))' >"$target/usr/share/doc/headgate/sbom.cdx.json"
rm "$target.tools"
