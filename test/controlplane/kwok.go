package controlplane

import (
	"context"
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// stages tell kwok how nodes and Pods live.
//
//go:embed stages.yaml
var stages []byte

// Annotations on a Pod that change how kwok plays it. Without them a scheduled Pod is ready at once, and gone at once
// when deleted. They may be changed on a living Pod.
const (
	// AnnotationBehaviour holds one of the Behaviour constants; removing it makes the Pod well again, unless it ended.
	AnnotationBehaviour = "plane.workload.example.com/behaviour"
	// AnnotationExitCode of a crash loop; 1 if absent.
	AnnotationExitCode = "plane.workload.example.com/exit-code"
	// AnnotationReadyAfter is how long a Pod takes to become ready, like 5s.
	AnnotationReadyAfter = "plane.workload.example.com/ready-after"
	// AnnotationTerminateAfter is how long a deleted Pod takes to go, like 5s.
	AnnotationTerminateAfter = "plane.workload.example.com/terminate-after"
)

// Values of AnnotationBehaviour.
const (
	// BehaviourCrashLoop: containers wait in CrashLoopBackOff, and restartCount rises after 1, 2, 4 seconds and so on.
	BehaviourCrashLoop = "crash-loop"
	// BehaviourImagePull: containers wait in ImagePullBackOff. So do all Pods with an image of a registry named *.invalid.
	BehaviourImagePull = "image-pull"
	// BehaviourFail: the Pod is evicted, phase Failed.
	BehaviourFail = "fail"
	// BehaviourSucceed: the containers exit with 0, phase Succeeded. Pods of Jobs do so anyway.
	BehaviourSucceed = "succeed"
	// BehaviourNeverReady: the containers run, their readiness probes fail.
	BehaviourNeverReady = "never-ready"
)

// Region and zones of the fake nodes.
const (
	region    = "plane"
	zoneCount = 3
)

// createNodes registers fake nodes, spread over the zones in turn. Nodes that exist are left alone.
func createNodes(ctx context.Context, client kubernetes.Interface, count int) error {
	for i := range count {
		_, err := client.CoreV1().Nodes().Create(ctx, newNode(i), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating node %d: %w", i, err)
		}
	}
	return nil
}

func newNode(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("1k"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("10k"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:           name,
				corev1.LabelTopologyZone:       fmt.Sprintf("zone-%c", 'a'+i%zoneCount),
				corev1.LabelTopologyRegion:     region,
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				"node-role.kubernetes.io/node": "",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.128.%d.%d", i/250, i%250+1)},
				{Type: corev1.NodeHostName, Address: name},
			},
		},
	}
}
