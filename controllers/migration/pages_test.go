package migration

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/ptr"
)

// expiring answers a list from an old position with the offer of another one.
type expiring struct {
	metadata.ResourceInterface
	offer string
	asked []string
}

func (e *expiring) List(_ context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	e.asked = append(e.asked, o.Continue)
	if o.Continue == "old" {
		err := apierrors.NewResourceExpired("too old")
		err.ErrStatus.Continue = e.offer
		return nil, err
	}
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: "next", RemainingItemCount: ptr.To(int64(7))}}, nil
}

// A position that has expired goes on where the server offers to; without an offer, at the beginning.
func TestFetchExpired(t *testing.T) {
	for name, tc := range map[string]struct {
		offer, position string
		asked           []string
	}{
		"Good":    {"", "good", []string{"good"}},
		"Offered": {"renewed", "old", []string{"old", "renewed"}},
		"None":    {"", "old", []string{"old", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			server := &expiring{offer: tc.offer}
			got, err := fetch(t.Context(), server, tc.position, 5)
			if err != nil || got.next != "next" || got.left != 7 {
				t.Errorf("%+v, %v", got, err)
			}
			if diff := cmp.Diff(tc.asked, server.asked); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
