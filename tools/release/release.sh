#!/usr/bin/env bash
# Builds a release into dist/release: command line binaries, the image of several platforms, the install manifest, the Helm chart,
# bills of materials and checksums. The same commit gives the same bytes, whoever builds it and where.
#
# usage: tools/release/release.sh VERSION IMAGE    (from the root of the repository; VERSION as v1.2.3, IMAGE as name:tag)
set -euo pipefail
version=$1 image=$2
out=dist/release
# The time of the commit, where a format wants a time.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH CGO_ENABLED=0 VERSION="$version"

tool() { go tool "-modfile=tools/$1/go.mod" "${@:2}"; }
step() { printf '\033[1m==> %s\033[0m\n' "$*"; }

# pack FILE DIRECTORY: an archive that depends on names and contents alone.
pack() {
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    -C "$(dirname "$2")" -cf - "$(basename "$2")" | gzip -n -9 > "$1"
}

command_lines() {
  local platform name
  for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
    name=workloadctl-${platform/\//-}
    [[ $platform != windows/* ]] || name+=.exe
    echo "$name"
    GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath -ldflags "-s -w -X main.release=$version" -o "$out/$name" ./cmd/workloadctl
    tool cyclonedx cyclonedx-gomod bin -json -std -noserial -notimestamp -version "$version" -output "$out/$name.sbom.json" "$out/$name"
  done
}

image() {
  rm -rf dist/ko/img dist/image && mkdir -p dist/ko dist/image && cp -r tools/ko/scratch dist/ko/img
  KOCACHE="$PWD/dist/ko" KO_CONFIG_PATH=tools/ko KO_DOCKER_REPO="${image%:*}" tool ko ko build ./cmd/manager --bare --tags="${image##*:}" \
    --platform=linux/amd64,linux/arm64 --push=false --oci-layout-path=dist/image/oci --sbom=spdx --sbom-dir=dist/image/sbom | tee dist/image/reference
  pack "$out/image.oci.tar.gz" dist/image/oci
  pack "$out/image.sbom.tar.gz" dist/image/sbom
}

# The manifest names the image by tag and digest, so that what was built is what runs.
manifests() {
  local digest
  digest=$(grep -o 'sha256:[0-9a-f]*' dist/image/reference | tail -1)
  mkdir -p dist/deploy
  printf '%s\n' 'resources: [../../config/default]' 'patches:' '- target: {kind: Deployment}' '  patch: |-' \
    "    - {op: replace, path: /spec/template/spec/containers/0/image, value: \"$image@$digest\"}" > dist/deploy/kustomization.yaml
  go tool -modfile=tools/go.mod kustomize build dist/deploy > "$out/install.yaml"
  go tool -modfile=tools/go.mod kustomize build config/crd > "$out/crds.yaml"
}

# Helm writes the time of day into the archive, so it is packed anew.
chart() {
  rm -rf dist/chart && mkdir -p dist/chart
  tool helm helm lint --strict charts/workload-operator
  tool helm helm package charts/workload-operator --app-version="$version" --destination dist/chart
  tar -C dist/chart -xzf dist/chart/*.tgz
  pack "$out/$(basename dist/chart/*.tgz)" dist/chart/workload-operator
}

rm -rf "$out" && mkdir -p "$out"
step 'workloadctl for every platform'
command_lines
step 'image'
image
step 'manifests'
manifests
step 'Helm chart'
chart
step 'JSON Schemas'
pack "$out/schemas.tar.gz" docs/schemas
step 'checksums'
(cd "$out" && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
