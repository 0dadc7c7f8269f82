package podset

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

const (
	reasonFailedCreate = batchv1.ReasonFailedCreate
	reasonFailedUpdate = batchv1.ReasonFailedUpdate
	reasonFailedDelete = batchv1.ReasonFailedDelete
)

// refused: the API server, or a plugin of it, understood the request and says no. Trying again at once will not help.
func refused(err error) bool {
	if errors.Is(err, errLabelsRemoved) || apierrors.IsInternalError(err) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// refuse remembers a refusal. Only the first one of a pass counts, since the others say the same. Refusals are in a row as
// long as nothing of the kind succeeds.
func (a *applier) refuse(reason, podName string, err error) {
	if a.known.refusal != nil && a.known.refusal != a.last {
		return
	}
	count := 1
	worked := map[string]int{
		reasonFailedCreate: a.out.created, reasonFailedUpdate: a.out.updated, reasonFailedDelete: a.out.deleted,
	}
	if a.last != nil && a.last.generation == a.o.podSet.Generation && worked[reason] == 0 {
		count = a.last.count + 1
	}
	a.known.refusal = &refusal{
		reason:     reason,
		message:    stableMessage(err, a.o.podSet.Name, podName),
		invalid:    apierrors.IsInvalid(err),
		generation: a.o.podSet.Generation,
		count:      count,
		retryAt:    a.r.clock.Now().Add(refusalDelay(count)),
	}
}

var podIs = regexp.MustCompile(`^(pods|Pod) "[^"]*" is `)

// stableMessage says the same each time the same thing is refused: generated names do not appear.
func stableMessage(err error, podSetName, podName string) string {
	message := podIs.ReplaceAllString(err.Error(), "A Pod is ")
	message = strings.ReplaceAll(message, podName, podSetName+batchv1.PodNameInfix+"*")
	if !strings.HasSuffix(message, ".") {
		message += "."
	}
	return message
}
