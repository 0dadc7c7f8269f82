package certs

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watched is one object, followed by its name.
type watched struct {
	kind, namespace, name string

	newObject func() client.Object
	newList   func() client.ObjectList

	store    cache.Store
	informer cache.Controller
}

// last is the object as last seen by the watch, nil when there is none. It must not be changed.
func (w *watched) last() client.Object {
	for _, item := range w.store.List() {
		if object, ok := item.(client.Object); ok {
			return object
		}
	}
	return nil
}

// fetch reads the object from the API server.
func (w *watched) fetch(ctx context.Context, c client.Reader) (client.Object, error) {
	object := w.newObject()
	err := c.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: w.name}, object)
	return object, err
}

// prepare makes the informer; changed is called after every change.
func (w *watched) prepare(c client.WithWatch, changed func()) {
	options := func(raw metav1.ListOptions) client.ListOption {
		return &client.ListOptions{
			Namespace:     w.namespace,
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, w.name),
			Raw:           &raw,
		}
	}
	w.store, w.informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
				list := w.newList()
				return list, c.List(ctx, list, options(raw))
			},
			WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
				return c.Watch(ctx, w.newList(), options(raw))
			},
		},
		ObjectType: w.newObject(),
		Transform:  trim,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		},
	})
}

// trim drops what this package never looks at: the schemas are nearly all of a CustomResourceDefinition.
func trim(object any) (any, error) {
	if o, ok := object.(client.Object); ok {
		o.SetManagedFields(nil)
	}
	if crd, ok := object.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.Spec.Versions = nil
	}
	return object, nil
}

func watchedSecret(namespace, name string) *watched {
	return &watched{
		kind: "Secret", namespace: namespace, name: name,
		newObject: func() client.Object { return &corev1.Secret{} },
		newList:   func() client.ObjectList { return &corev1.SecretList{} },
	}
}

func watchedCRD(name string) *watched {
	return &watched{
		kind: "CustomResourceDefinition", name: name,
		newObject: func() client.Object { return &apiextensionsv1.CustomResourceDefinition{} },
		newList:   func() client.ObjectList { return &apiextensionsv1.CustomResourceDefinitionList{} },
	}
}

func watchedValidating(name string) *watched {
	return &watched{
		kind: "ValidatingWebhookConfiguration", name: name,
		newObject: func() client.Object { return &admissionv1.ValidatingWebhookConfiguration{} },
		newList:   func() client.ObjectList { return &admissionv1.ValidatingWebhookConfigurationList{} },
	}
}

func watchedMutating(name string) *watched {
	return &watched{
		kind: "MutatingWebhookConfiguration", name: name,
		newObject: func() client.Object { return &admissionv1.MutatingWebhookConfiguration{} },
		newList:   func() client.ObjectList { return &admissionv1.MutatingWebhookConfigurationList{} },
	}
}
