package helm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

const (
	look = 200 * time.Millisecond
	// settle replaces the minute that the hook gives API servers to follow a changed definition; there is one here.
	settle = "--settle=500ms"
)

// kubelet plays the kubelets of all nodes: it runs the Pods of the operator as processes, and says of all others that they are ready.
type kubelet struct {
	site    *site
	manager string // path of the binary that the image holds
	cancel  context.CancelFunc
	done    chan struct{}

	mu       sync.Mutex
	idle     bool // runs nothing, and says that everything is ready
	runs     map[types.UID]*container
	output   string // of the last Job
	failures []error
}

// container is a process.
type container struct {
	process         *controlplane.Companion // nil for a Job's, which ends by itself
	webhook, probes string
	ready           bool
}

// startKubelet outlives the test that needs it first, so it has no use for that test's context.
func startKubelet(s *site) (*kubelet, error) {
	k := &kubelet{site: s, manager: *managerPath, runs: map[types.UID]*container{}, done: make(chan struct{})}
	if k.manager == "" {
		root, err := controlplane.FindRoot()
		if err != nil {
			return nil, err
		}
		k.manager = filepath.Join(root, "bin", "manager")
	}
	if _, err := os.Stat(k.manager); err != nil {
		return nil, fmt.Errorf("no manager at %s: run make build", k.manager)
	}
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	go func() {
		defer close(k.done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(look):
				k.sync(ctx)
			}
		}
	}()
	return k, nil
}

func (k *kubelet) stop() {
	k.cancel()
	<-k.done
	for _, run := range k.runs {
		if run.process != nil {
			run.process.Kill()
		}
	}
}

// sync starts what is new, ends what is gone, and says how the rest is.
func (k *kubelet) sync(ctx context.Context) {
	pods := &corev1.PodList{}
	if err := k.site.client.List(ctx, pods); err != nil {
		return // the next look may succeed
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	here := map[types.UID]bool{}
	var replicas []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		here[pod.UID] = true
		run, err := k.of(ctx, pod)
		if err != nil {
			k.failed(err)
			continue
		}
		if run.process != nil && !run.ready {
			run.ready = operator.Ready(ctx, run.probes) == nil
		}
		if run.ready {
			k.failed(k.report(ctx, pod, corev1.PodRunning))
		}
		if run.ready && run.webhook != "" {
			replicas = append(replicas, run.webhook)
		}
	}
	k.site.balancer.lead(replicas)
	for uid, run := range k.runs {
		if !here[uid] {
			delete(k.runs, uid)
			if run.process != nil {
				_ = run.process.Signal(syscall.SIGTERM)
			}
		}
	}
}

// of returns what runs a Pod, and starts it if nothing does.
func (k *kubelet) of(ctx context.Context, pod *corev1.Pod) (*container, error) {
	if run := k.runs[pod.UID]; run != nil {
		return run, nil
	}
	run := &container{}
	k.runs[pod.UID] = run
	if k.idle || pod.Labels["app.kubernetes.io/name"] != "workload-operator" || len(pod.Spec.Containers) != 1 || len(pod.Spec.Containers[0].Command) > 0 {
		run.ready = true // somebody else's
		return run, nil
	}
	kubeconfig, err := k.site.plane.KubeconfigFor(ctx, pod.Namespace, pod.Spec.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		go k.complete(ctx, pod, k.command(pod, settle, "--kubeconfig="+kubeconfig))
		return run, nil
	}
	at, err := operator.FreeAddresses()
	if err != nil {
		return nil, err
	}
	run.probes = at.Probes
	if pod.Labels["app.kubernetes.io/component"] == "manager" { // as the Service of the webhooks selects
		run.webhook = at.Webhook
	}
	// Replicas share this machine, so each has ports of its own.
	run.process, err = k.site.plane.Launch(pod.Name, k.command(pod, append(at.Args(), "--kubeconfig="+kubeconfig, "--shutdown-delay=0s")...))
	return run, err
}

// command is what a Pod's only container runs.
func (k *kubelet) command(pod *corev1.Pod, more ...string) *exec.Cmd {
	command := exec.Command(k.manager, append(append([]string{}, pod.Spec.Containers[0].Args...), more...)...)
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	for _, v := range pod.Spec.Containers[0].Env {
		switch from := v.ValueFrom; {
		case from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			v.Value = pod.Namespace
		case from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory":
			v.Value = strconv.FormatInt(pod.Spec.Containers[0].Resources.Limits.Memory().Value(), 10)
		}
		command.Env = append(command.Env, v.Name+"="+v.Value)
	}
	return command
}

// complete runs the Pod of a Job to its end.
func (k *kubelet) complete(ctx context.Context, pod *corev1.Pod, command *exec.Cmd) {
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	phase := corev1.PodSucceeded
	if err := command.Run(); err != nil {
		phase = corev1.PodFailed
	}
	err := k.report(ctx, pod, phase)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.output = output.String()
	k.failed(err)
}

// failed keeps an error for the test that looks; k.mu is held.
func (k *kubelet) failed(err error) {
	if err != nil {
		k.failures = append(k.failures, err)
	}
}

// said is what the last Job printed, and clears it.
func (k *kubelet) said() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	output := k.output
	k.output = ""
	return output
}

// report writes the status of a Pod, unless it says so already.
func (k *kubelet) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	if pod.Status.Phase == phase || pod.DeletionTimestamp != nil {
		return nil
	}
	ready := corev1.ConditionTrue
	if phase != corev1.PodRunning {
		ready = corev1.ConditionFalse
	}
	before := pod.DeepCopy()
	pod.Status.Phase = phase
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: ready}}
	return client.IgnoreNotFound(k.site.client.Status().Patch(ctx, pod, client.MergeFrom(before)))
}

// rest makes it run nothing that comes, or go on.
func (k *kubelet) rest(idle bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle = idle
}

// managers are the processes of the operator, with the arguments of their Pods.
func (k *kubelet) managers() []*controlplane.Companion {
	k.mu.Lock()
	defer k.mu.Unlock()
	var processes []*controlplane.Companion
	for _, run := range k.runs {
		if run.process != nil {
			processes = append(processes, run.process)
		}
	}
	return processes
}
