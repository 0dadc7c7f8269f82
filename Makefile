SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

export CGO_ENABLED := 0

# Developer tools run through go at the versions that their go.mod pins; nothing is installed.
CONTROLLER_GEN = go tool -modfile=tools/go.mod controller-gen
CRD_REF_DOCS   = go tool -modfile=tools/go.mod crd-ref-docs
KUSTOMIZE      = go tool -modfile=tools/go.mod kustomize
GOLANGCI_LINT  = go tool -modfile=tools/golangci-lint/go.mod golangci-lint
KO             = go tool -modfile=tools/ko/go.mod ko
# The plane builds a kubectl of its own.
KUBECTL ?= $(shell command -v kubectl || echo .plane/bin/kubectl)

IMG      ?= workload-operator:dev
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
# All packages, those that take longest first: none is left running alone at the end.
PKG      ?= ./test/upgrade ./test/helm ./controllers/... ./cmd/workloadctl ./webhooks/... ./test/... ./...
# How long make test looks for new inputs with each fuzz target of FUZZ. Go compiles all that a target imports once more for it, so
# by default it is the targets of conversion, which import little; make test FUZZ="$(MORE_FUZZ)" takes the others. The
# committed inputs are part of every run.
FUZZTIME ?= $(if $(filter command,$(origin PKG)),0s,8s)
FUZZ     ?= conversion:FuzzSyntax conversion:FuzzConvert conversion:FuzzHandler
MORE_FUZZ = webhooks:FuzzReview webhooks:FuzzObjects cmd/workloadctl:FuzzConvert cmd/manager:FuzzServe
BENCHES   = ./controllers/webapp ./webhooks ./test/bench/...
# Binaries without tables for debuggers are linked in two thirds of the time; tests have fifty.
LEAN      = -ldflags='-s -w'
PLATFORM ?= linux/$(shell go env GOARCH)
# Everything that `make generate` writes.
GENERATED = ':(glob)apis/**/zz_generated*' config/crd/bases config/rbac/role.yaml config/webhook/manifests.yaml \
            charts/workload-operator/templates/generated docs/reference.md ':(glob)docs/schemas/*.example.com/*'
MODULES   = $(shell git ls-files -co --exclude-standard -- go.mod '**/go.mod')
step      = @printf '\033[1m==> %s\033[0m\n' $(1)

.PHONY: help generate verify lint audit test bench run build image release install uninstall deploy undeploy

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  \033[36m%-10s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

generate: ## Write all generated code and manifests anew
	$(call step,'Go methods of the API types')
	$(CONTROLLER_GEN) object paths=./apis/...
	$(call step,'CustomResourceDefinitions')
	$(CONTROLLER_GEN) crd paths=./apis/... output:crd:stdout | go run ./config/internal/crdgen -dir config/crd/bases
	$(call step,'role and webhook configurations')
	$(CONTROLLER_GEN) rbac:roleName=manager-role webhook paths=./... output:rbac:dir=config/rbac output:webhook:dir=config/webhook
	$(call step,'templates of the Helm chart')
	$(KUSTOMIZE) build config/default | go run ./config/internal/chartgen -dir charts/workload-operator/templates/generated
	$(call step,'API reference and JSON Schemas')
	$(CRD_REF_DOCS) --source-path=apis --config=tools/crd-ref-docs/config.yaml --templates-dir=tools/crd-ref-docs/templates \
	  --renderer=markdown --log-level=ERROR --output-path=docs/reference.md
	$(KUSTOMIZE) build config/crd | go run ./config/internal/schemagen -dir docs/schemas

verify: generate ## Fail if generated files, formatting or go.mod files are not up to date, or anything does not build
	$(call step,'generated files are committed')
	@git status --porcelain -- $(GENERATED) | { ! grep . ; } || { echo 'run make generate and commit the result'; exit 1; }
	$(call step,'gofmt')
	@gofmt -l $$(git ls-files -co --exclude-standard -- '*.go') | { ! grep . ; } || { echo 'run gofmt -w on these files'; exit 1; }
	$(call step,'go.mod files are tidy')
	@for mod in $(MODULES); do (cd "$$(dirname "$$mod")" && go mod tidy -diff) || { echo "run go mod tidy for $$mod"; exit 1; }; done
	$(call step,'go build and go vet')
	go build ./...
	go vet ./...
	$(call step,'sizes and contents of the shipped manifests')
	go test ./config/... ./charts/...
	$(call step,'alerts play out as written (promtool takes minutes to compile the first time)')
	go test ./test/monitoring -args -promtool

lint: ## Run the linters of .golangci.yml (the first time builds them, which takes minutes)
	$(GOLANGCI_LINT) run

audit: ## Look for known vulnerabilities in what the binaries call (VULNDB=URL or file://DIR if vuln.go.dev cannot be reached)
	go tool -modfile=tools/govulncheck/go.mod govulncheck $(if $(VULNDB),-db '$(VULNDB)') ./...

# Each package that needs a control plane starts one of its own, which takes seconds, so that no suite sees the CustomResourceDefinitions
# or webhooks of another. Suites wait much of their time, so there is one more at a time than there are processors.
test: build ## Run all tests (or those in PKG), the tour of make run among them; builds what is missing, with progress
	$(call step,'control plane (the first time, this takes ten minutes)')
	bin/plane build
	$(call step,'go test')
	go test -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) $(LEAN) $(TESTFLAGS) $(PKG)
	@[ '$(FUZZTIME)' = 0s ] || for target in $(FUZZ); do echo "fuzzing $$target for $(FUZZTIME)"; \
	  go test $(LEAN) -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime '$(FUZZTIME)' "./$${target%:*}"; done

bench: build ## Run the benchmarks (or those in PKG), each beside a named peer; OUT=FILE keeps what they print, with date and machine
	@{ echo "$$(date -u +'%F %R UTC'), $$(getconf _NPROCESSORS_ONLN) processors, $$(uname -srm), $$(go version | cut -d' ' -f3), $(VERSION)"; \
	  go test -p 1 -timeout 90m -run '^$$' -bench . -benchmem $(TESTFLAGS) $(if $(filter command,$(origin PKG)),$(PKG),$(BENCHES)); } \
	  2>&1 | tee $(if $(OUT),'$(OUT)')

run: build ## Start a plane, the operator and a tour of it; CLUSTER=current uses the current kubeconfig, ARGS=--once ends after the tour
	@exec bin/plane run $(if $(CLUSTER),--cluster=$(CLUSTER)) $(ARGS)

build: ## Build every binary into bin/
	$(call step,'binaries (compiling takes minutes the first time)')
	@go build -ldflags '-s -w -X main.release=$(VERSION)' -o bin/ ./cmd/...

image: ## Build the manager's image from scratch into dist/image.tar (no container engine, no base image); PUSH=true pushes it to IMG
	@mkdir -p dist/ko && rm -rf dist/ko/img && cp -r tools/ko/scratch dist/ko/img
	@img='$(IMG)'; [[ "$$img" =~ :[^/]+$$ ]] || { echo "IMG=$$img has no tag: give NAME:TAG"; exit 1; }; \
	VERSION='$(VERSION)' KOCACHE="$$PWD/dist/ko" KO_CONFIG_PATH=tools/ko KO_DOCKER_REPO="$${img%:*}" \
	$(KO) build ./cmd/manager --bare --tags="$${img##*:}" --platform=$(PLATFORM) --sbom=none \
	  $(if $(PUSH),--push=$(PUSH),--push=false --tarball=dist/image.tar)

release: generate ## Build a release of VERSION into dist/release: workloadctl, image, manifests, Helm chart, bills of materials, checksums
	tools/release/release.sh '$(VERSION)' '$(IMG)'

install: ## Apply the CustomResourceDefinitions to the current cluster
	$(KUBECTL) apply --server-side -f config/crd/bases

uninstall: ## Delete the CustomResourceDefinitions; refused while objects are left, since they would go too, unless FORCE=true
	@for crd in $$($(KUBECTL) get -f config/crd/bases -o name --ignore-not-found); do \
	  left=$$($(KUBECTL) get "$${crd##*/}" --all-namespaces -o name); \
	  [ -z "$$left" ] || [ '$(FORCE)' = true ] || { echo "$$left"; echo 'these objects would be deleted: FORCE=true does so'; exit 1; }; done
	$(KUBECTL) delete --ignore-not-found -f config/crd/bases

deploy: ## Deploy everything to the current cluster with image IMG
	@case '$(origin IMG) $(IMG)' in file*|*REGISTRY*) echo 'say which image, as make image has pushed it: make deploy IMG=NAME:TAG'; exit 1;; esac
	@mkdir -p dist/deploy
	@printf '%s\n' 'resources: [../../config/default]' 'patches:' '- target: {kind: Deployment}' '  patch: |-' \
	  '    - {op: replace, path: /spec/template/spec/containers/0/image, value: "$(IMG)"}' > dist/deploy/kustomization.yaml
	$(KUSTOMIZE) build dist/deploy | $(KUBECTL) apply --server-side -f -

undeploy: ## Remove what deploy applied; CustomResourceDefinitions and users' objects stay
	$(KUSTOMIZE) build config/without-crds | $(KUBECTL) delete --ignore-not-found -f -
