package webhooks

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// kind is what differs between our kinds.
type kind struct {
	// validate applies the rules to an object in v1.
	validate func(object []byte) field.ErrorList
}

// kinds are ours, by group and kind.
var kinds = map[schema.GroupKind]kind{
	{Group: appv1.GroupVersion.Group, Kind: "WebApp"}: {
		validate: func(object []byte) field.ErrorList { return decoded(object, validateWebApp) },
	},
	{Group: batchv1.GroupVersion.Group, Kind: "PodSet"}: {
		validate: func(object []byte) field.ErrorList { return decoded(object, validatePodSet) },
	},
}
