package reliability

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// strangersBytes is what all Pods that are not ours hold together; the Secrets hold half of it.
	strangersBytes = 40 << 20
	// allowedGrowth is more than two processes differ from one start to the next, and less than a cache of the strangers takes.
	allowedGrowth = strangersBytes / 2
)

// O-13: the operator takes no more memory in a cluster that is full of Pods and Secrets which are not its own.
func TestMemoryIsThatOfOurObjects(t *testing.T) {
	s := attach(t)
	alone := s.residentAfterStart(t)
	s.makeStrangers(t, nil)
	among := s.residentAfterStart(t)
	t.Logf("two replicas take %d MiB alone, and %d MiB among %d Pods and %d Secrets of %d MiB", alone>>20, among>>20, *strangers, *strangers/2, (strangersBytes*3/2)>>20)
	if among-alone > allowedGrowth {
		t.Errorf("%d MiB more", (among-alone)>>20)
	}
	if !*controls {
		return
	}
	s.makeStrangers(t, map[string]string{"podset-name": "nobody"})
	cached := s.residentAfterStart(t)
	t.Logf("negative control: %d MiB with as many Pods that carry our label", cached>>20)
	if cached-among < allowedGrowth {
		t.Error("Pods in the cache take no memory: the measurement would not notice them")
	}
}

// residentAfterStart replaces the replicas and returns what both take once one leads and its caches are filled.
func (s *site) residentAfterStart(t *testing.T) int64 {
	t.Helper()
	s.reset(t)
	eventually(t, "one leads", func() error {
		if s.holder(t) == "" {
			return errors.New("nobody leads")
		}
		return nil
	})
	// The objects of this test are seen to when the caches are filled.
	s.makeStill(t)
	sum := int64(0)
	for _, r := range s.replicas {
		sum += resident(t, r.process.PID())
	}
	return sum
}

// resident is the memory of a process that is its own, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("this test reads the memory of a process from /proc: %v", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no RssAnon")
	return 0
}

// makeStrangers fills a namespace with Pods that carry the labels, and with Secrets.
func (s *site) makeStrangers(t *testing.T, labels map[string]string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "strangers-"}}
	if err := s.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}}
	if err := s.client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	filling := strings.Repeat("x", strangersBytes / *strangers)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for i := range *strangers {
		meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: fmt.Sprintf("stranger-%d", i), Labels: labels}
		group.Go(func() error { return s.makeStranger(ctx, meta, filling, i%2 == 0) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("made them in %s", time.Since(begun).Round(time.Second))
}

func (s *site) makeStranger(ctx context.Context, meta metav1.ObjectMeta, filling string, withSecret bool) error {
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a:1"}}}}
	pod.Annotations = map[string]string{"filling": filling}
	if err := s.client.Create(ctx, pod); err != nil || !withSecret {
		return err
	}
	return s.client.Create(ctx, &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"filling": []byte(filling)}}, client.FieldOwner("test"))
}
