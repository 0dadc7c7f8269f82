package conversion

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	appv1alpha1 "github.com/example/workload-operator/apis/app/v1alpha1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	batchv1alpha1 "github.com/example/workload-operator/apis/batch/v1alpha1"
)

// TestEveryFieldHasARow is C10: a field of a type that the table does not name, and a row that no type has, fail.
func TestEveryFieldHasARow(t *testing.T) {
	types := map[schema.GroupKind][2]reflect.Type{
		webApp.kind: {reflect.TypeFor[appv1.WebApp](), reflect.TypeFor[appv1alpha1.WebApp]()},
		podSet.kind: {reflect.TypeFor[batchv1.PodSet](), reflect.TypeFor[batchv1alpha1.PodSet]()},
	}
	for _, c := range standard.all {
		hub, spoke := map[string]bool{}, map[string]bool{}
		for i := range c.rows {
			if row := &c.rows[i]; !strings.HasPrefix(row.hub, annotationPath) {
				hub[row.hub] = true
			}
			for _, path := range strings.Fields(c.rows[i].spoke) {
				spoke[path] = true
			}
		}
		for i, named := range []map[string]bool{hub, spoke} {
			for _, part := range []string{"Spec", "Status"} {
				field, _ := types[c.kind][i].FieldByName(part)
				tripwire(t, field.Type, strings.ToLower(part), named)
			}
			for path := range named {
				t.Errorf("%s: no type has the field %s of the table", types[c.kind][i], path)
			}
		}
	}
}

// tripwire removes from named every path that the type has, and reports those of the type that are not in it.
func tripwire(t *testing.T, typ reflect.Type, path string, named map[string]bool) {
	t.Helper()
	if named[path] {
		delete(named, path)
		return
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	inside := false
	for name := range named {
		inside = inside || strings.HasPrefix(name, path+".")
	}
	switch {
	case !inside:
		t.Errorf("the table does not name %s", path)
	case typ.Kind() == reflect.Map: // a map of which the table names some keys: the others are kept
		for name := range named {
			if strings.HasPrefix(name, path+".") {
				delete(named, name)
			}
		}
	case typ.Kind() == reflect.Struct:
		tripwireFields(t, typ, path, named)
	default:
		t.Errorf("the table names fields of %s, which is a %s", path, typ)
	}
}

func tripwireFields(t *testing.T, typ reflect.Type, path string, named map[string]bool) {
	t.Helper()
	// What the table hides of a struct of Kubernetes itself need not be named: it is kept whatever it is.
	foreign := !strings.Contains(typ.PkgPath(), "workload-operator") && strings.Contains(path, ".probes.")
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case options == "inline" || field.Anonymous && name == "":
			tripwireFields(t, field.Type, path, named)
		case foreign && !anyUnder(named, path+"."+name):
		default:
			tripwire(t, field.Type, path+"."+name, named)
		}
	}
}

func anyUnder(named map[string]bool, path string) bool {
	for name := range named {
		if name == path || strings.HasPrefix(name, path+".") {
			return true
		}
	}
	return false
}

// TestTripwireTrips is the negative control of TestEveryFieldHasARow.
func TestTripwireTrips(t *testing.T) {
	type spec struct {
		Known   string `json:"known"`
		Unknown string `json:"unknown"`
	}
	probe := &testing.T{}
	tripwire(probe, reflect.TypeFor[spec](), "spec", map[string]bool{"spec.known": true})
	if !probe.Failed() {
		t.Error("an unnamed field passes")
	}
}
