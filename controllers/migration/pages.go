package migration

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// page is the metadata of some objects.
type page struct {
	items []metav1.PartialObjectMetadata
	// next is where the page after this one begins, empty after the last.
	next string
	// left estimates how many objects come after this page.
	left int
}

// fetch lists the page at a position. An old position has expired on the server, which then offers one at the same place in a newer
// state of the list. That is as good: an object that is missed so was written after the former state, and thus in the storage version.
func fetch(ctx context.Context, resource metadata.ResourceInterface, position string, size int64) (page, error) {
	list, err := resource.List(ctx, metav1.ListOptions{Limit: size, Continue: position})
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		list, err = resource.List(ctx, metav1.ListOptions{Limit: size, Continue: renewed(err)})
	}
	if err != nil {
		return page{}, err
	}
	p := page{items: list.Items, next: list.Continue}
	if list.RemainingItemCount != nil {
		p.left = int(*list.RemainingItemCount)
	}
	return p, nil
}

// renewed is the position that an answer about an expired one offers; empty, which is the beginning, if it offers none.
func renewed(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}
