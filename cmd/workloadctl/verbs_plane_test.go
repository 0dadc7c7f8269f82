package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/example/workload-operator/cmd/workloadctl/internal/rollout"
	"github.com/example/workload-operator/cmd/workloadctl/internal/tree"
	"github.com/example/workload-operator/test/pages"
)

// TestOnPlane is one test, so that the operator is installed once. The order matters to nobody but the clock.
func TestOnPlane(t *testing.T) {
	c := startCluster(t)
	c.sh("kubectl create namespace shop")
	c.testDiff()
	c.testPage()
	c.testStatus()
	c.testRollout()
	c.testPlugin()
	testCheck(c)
}

const (
	olderManifest = "apiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {image: {repository: web, tag: '1'}, scale: {instances: 1}, env: {A: b}}\n"
	newerManifest = "apiVersion: app.example.com/v1\nkind: WebApp\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {image: 'web:1', replicas: 1, env: [{name: A, value: b}]}\n"
)

// file writes a manifest and returns its path.
func (c *cluster) file(manifest string) string {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "manifest.yaml")
	c.Expect(os.WriteFile(path, []byte(manifest), 0o600)).To(gomega.Succeed())
	return path
}

func (c *cluster) testDiff() {
	older, newer := c.file(olderManifest), c.file(newerManifest)
	before := c.run("diff", "-f", older)
	c.Expect(before.code).To(gomega.Equal(exitFailure), "it is not there yet")
	c.Expect(before.stdout).To(gomega.ContainSubstring("@@ -0,0 +1,"))
	c.Expect(before.stdout).NotTo(gomega.ContainSubstring("uid"))
	c.Expect(c.sh("kubectl apply -f " + older).code).To(gomega.Equal(exitOK))
	c.Eventually(func() string {
		return c.kubectl("-n", "shop", "get", "webapp", "web", "-o", "jsonpath={.status.readyReplicas}")
	}).Should(gomega.Equal("1"))
	version := c.kubectl("-n", "shop", "get", "webapp", "web", "-o", "jsonpath={.metadata.resourceVersion}")

	c.Expect(c.run("diff", "-f", older)).To(gomega.Equal(outcome{}))
	c.Expect(c.run("diff", "-f", newer)).To(gomega.Equal(outcome{}), "it means the same in the other version")
	c.Expect(c.run("diff", "-f", newer, "--server-side", "--field-manager=somebody", "--force-conflicts")).To(gomega.Equal(outcome{}))

	more := c.file(strings.ReplaceAll(olderManifest, "instances: 1", "instances: 2") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
	inHub := c.run("diff", "-f", more)
	c.Expect(inHub.code).To(gomega.Equal(exitFailure))
	c.Expect(inHub.stdout).To(gomega.HavePrefix("--- live app.example.com/v1 WebApp shop/web\n+++ merged app.example.com/v1 WebApp shop/web\n@@ "))
	c.Expect(inHub.stdout).To(gomega.ContainSubstring("\n-  replicas: 1\n+  replicas: 2\n"))
	c.Expect(inHub.stderr).To(gomega.ContainSubstring("1 objects of other kinds were passed over"))
	inSpoke := c.run("diff", "-f", more, "--in", "v1alpha1")
	c.Expect(inSpoke.stdout).To(gomega.ContainSubstring("\n-    instances: 1\n+    instances: 2\n"))
	c.Expect(c.sh("kubectl diff -f " + more).code).To(gomega.Equal(exitFailure))

	refused := c.run("diff", "-f", c.file(strings.ReplaceAll(newerManifest, "replicas: 1", "replicas: 11")))
	c.Expect(refused.code).To(gomega.Equal(exitUsage))
	c.Expect(refused.stderr).To(gomega.ContainSubstring("spec.replicas"))
	c.Expect(c.run("diff", "-f", older+".gone").code).To(gomega.Equal(exitUsage))
	c.testStrictDiff()
	c.Expect(c.kubectl("-n", "shop", "get", "webapp", "web", "-o", "jsonpath={.metadata.resourceVersion}")).To(gomega.Equal(version), "nothing was written")
}

func (c *cluster) testStatus() {
	c.apply("{apiVersion: batch.example.com/v1, kind: PodSet, metadata: {name: set, namespace: shop}, spec: {replicas: 2, image: 'set:1'}}")
	c.apply("{apiVersion: v1, kind: Service, metadata: {name: taken-svc, namespace: shop}, spec: {ports: [{port: 80}]}}")
	c.apply("{apiVersion: app.example.com/v1, kind: WebApp, metadata: {name: taken, namespace: shop}, spec: {image: 'web:1'}}")
	c.Eventually(func() int { return c.run("status", "set", "-n", "shop").code }).Should(gomega.Equal(exitOK))

	web := c.run("status", "webapp/web", "-n", "shop")
	c.Expect(web.code).To(gomega.Equal(exitOK))
	for _, want := range []string{"WebApp shop/web: ready\n", "\n|- Deployment web-deploy: 1/1 ready\n|  `- ReplicaSet web-deploy-", "\n|     `- Pod web-deploy-", "\n`- Service web-svc: ClusterIP ", "\nConditions:\n", "\nEvents:\n"} {
		c.Expect(web.stdout).To(gomega.ContainSubstring(want))
	}
	c.Eventually(func() string { return c.run("status", "wa", "taken", "-n", "shop").stdout }).Should(gomega.ContainSubstring("NotOwned"))
	taken := c.run("status", "webapps", "taken", "-n", "shop")
	c.Expect(taken.code).To(gomega.Equal(exitFailure))
	c.Expect(taken.stdout).NotTo(gomega.ContainSubstring("Service taken-svc:"), "it is somebody else's")

	all := c.run("status", "-A", "-o", "json")
	c.Expect(all.code).To(gomega.Equal(exitFailure), "one of them is not ready")
	var trees []tree.Tree
	c.Expect(json.Unmarshal([]byte(all.stdout), &trees)).To(gomega.Succeed())
	c.Expect(trees).To(gomega.HaveLen(3))
	c.Expect(trees[0].Worst).To(gomega.ContainSubstring("taken-svc"))
	c.Expect(trees[2].Root.Children).To(gomega.HaveLen(2), "Pods")
	c.Expect(c.run("status", "nobody", "-A").code).To(gomega.Equal(exitUsage))
	c.Expect(c.run("status", "-n", "empty")).To(gomega.Equal(outcome{stderr: "There are no WebApps and PodSets in namespace empty\n"}))
	c.Expect(c.run("status", "podset/web", "-n", "shop").stderr).To(gomega.Equal("Error: there is no podset/web in namespace shop\n"))
}

func (c *cluster) testRollout() {
	current := func(target string) (revision string, all int) {
		var revisions []rollout.Revision
		c.Expect(json.Unmarshal([]byte(c.run("rollout", "history", target, "-n", "shop", "-o", "json").stdout), &revisions)).To(gomega.Succeed())
		c.Expect(revisions[len(revisions)-1].Current).To(gomega.BeTrue())
		return revisions[len(revisions)-1].Revision, len(revisions)
	}
	for target, kept := range map[string]int{"webapp/web": 2, "podset/set": 1} {
		c.Expect(c.run("rollout", "status", target, "-n", "shop", "--timeout=30s").code).To(gomega.Equal(exitOK))
		before, _ := current(target)
		c.Expect(c.run("rollout", "restart", target, "-n", "shop").code).To(gomega.Equal(exitOK))
		c.Expect(c.run("rollout", "status", target, "-n", "shop", "--timeout=30s").code).To(gomega.Equal(exitOK))
		after, all := current(target)
		c.Expect(after).NotTo(gomega.Equal(before), "the restart is waited for")
		c.Expect(all).To(gomega.Equal(kept))
		c.Expect(c.run("rollout", "history", target, "-n", "shop").stdout).To(gomega.MatchRegexp(`\n\S+ +\* +\d/\d `))
	}
	c.Expect(c.run("rollout", "status", "webapp/taken", "-n", "shop").code).To(gomega.Equal(exitFailure), "stalled")
	c.sh("kubectl -n shop patch webapp web --type=merge -p '{\"spec\":{\"paused\":true,\"image\":\"web:2\"}}'")
	late := c.run("rollout", "status", "webapp/web", "-n", "shop", "--timeout=2s")
	c.Expect(late.code).To(gomega.Equal(exitFailure))
	c.Expect(late.stderr).To(gomega.ContainSubstring("not done in time"))
	c.Expect(c.run("rollout", "restart", "webapp/web", "-n", "shop").stderr).To(gomega.ContainSubstring("is paused"))
	none := c.run("rollout", "status", "webapp/none", "-n", "shop")
	c.Expect(none).To(gomega.Equal(outcome{code: exitUsage, stderr: "Error: there is no WebApp none in namespace shop\n"}))
}

// testPlugin: kubectl finds the plugin, and gives it the cluster that it works on itself.
func (c *cluster) testPlugin() {
	got := c.sh("kubectl workload status web -n shop -o json")
	var trees []tree.Tree
	c.Expect(json.Unmarshal([]byte(got.stdout), &trees)).To(gomega.Succeed(), got.stderr)
	c.Expect(trees).To(gomega.HaveLen(1))
	help := c.sh("kubectl workload check --help")
	c.Expect(help.code).To(gomega.Equal(exitOK))
	c.Expect(help.stdout).To(gomega.ContainSubstring("  kubectl workload check --pre\n"))
	c.Expect(help.stdout).NotTo(gomega.ContainSubstring("workloadctl"))

	// The flags of kubectl, one after the other: a context of another name with a namespace, a cluster, a user.
	c.sh(`cp "$KUBECONFIG" ` + c.path + `/config && export KUBECONFIG=` + c.path + `/config && kubectl config set-context other --namespace=shop \
		--cluster=$(kubectl config view -o 'jsonpath={.clusters[0].name}') --user=$(kubectl config view -o 'jsonpath={.users[0].name}') && kubectl config set-context --current --user=nobody --cluster=nothing`)
	env := "KUBECONFIG=" + c.path + "/config "
	c.Expect(c.sh(env + "workloadctl status set").code).To(gomega.Equal(exitUsage))
	c.Expect(c.sh(env + "workloadctl status set --context=other").code).To(gomega.Equal(exitOK))
	c.Expect(c.sh(env + `workloadctl status set -n shop --user=$(kubectl config view -o 'jsonpath={.users[0].name}') --cluster=$(kubectl config view -o 'jsonpath={.clusters[0].name}')`).code).To(gomega.Equal(exitOK))
}

// testPage runs the commands of the troubleshooting page: those of its console blocks, whose output is what the page shows up to an
// ellipsis, and those in the column "command" of its tables.
func (c *cluster) testPage() {
	page := pages.Part(c.t, "docs/troubleshooting.md", "")
	ran := 0
	for _, command := range page.Typed() {
		got := c.sh(command.Line)
		c.Expect(got.code).To(gomega.Equal(exitOK), command.Line)
		c.Expect(got.stdout).To(gomega.HavePrefix(strings.TrimSpace(command.Printed)), command.Line)
		c.Expect(command.Excerpt || strings.TrimSpace(got.stdout) == strings.TrimSpace(command.Printed)).To(gomega.BeTrue(), command.Line)
		ran++
	}
	_, table, _ := strings.Cut(page.Text, "| symptom | cause | command | fix |\n")
	for row := range strings.Lines(table) {
		if cells := strings.Split(row, "|"); len(cells) == 6 && strings.Contains(cells[3], "`") {
			// A code of 1 is a finding: some objects of this test are not ready.
			c.Expect(c.sh(strings.Trim(cells[3], " `")).code).To(gomega.BeNumerically("<=", exitFailure), cells[3])
			ran++
		}
	}
	c.Expect(ran).To(gomega.BeNumerically(">=", 12))
}
