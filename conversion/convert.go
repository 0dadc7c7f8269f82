package conversion

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Result is a converted object and what there is to say about it.
type Result struct {
	// Object is the object in the version asked for, as JSON.
	Object []byte

	// Quarantined are values of the source that the other version cannot read. They wait in an annotation and return
	// unchanged when the object is converted back.
	Quarantined []Quarantined

	// Lost are values that are not in Object, since no object that the API server takes could hold them.
	Lost []Loss

	// Malformed counts annotations of ours on the source that could not be read, or not in full. What was readable is used.
	Malformed int

	// KeptBytes is the size of the annotation with the fields that only v1 has, as it is in Object.
	KeptBytes int
}

// Quarantined is a value that could not be read.
type Quarantined struct {
	// Path is the place in the source, in the source's field names.
	Path string

	// Reason says what the value is not, as the end of a sentence that begins with the path.
	Reason string
}

// Loss is a value that a conversion had to drop.
type Loss struct {
	// Path is the place in the source, in the source's field names.
	Path string

	// Reason says why, as the end of a sentence that begins with the path.
	Reason string
}

// Kinds returns the kinds that can be converted.
func Kinds() []schema.GroupKind { return standard.groupKinds() }

// Convert returns an object of one of our kinds in another version. toAPIVersion is group and version.
// An object that has that version already comes back as it is.
//
// The error is not nil only if object is not a JSON object, or kind or version is none of ours. Nothing else in the object
// can make conversion fail.
func Convert(object []byte, toAPIVersion string) (Result, error) {
	return standard.convert(object, toAPIVersion)
}

// standard has every kind of this operator.
var standard = newConverter(&webApp, &podSet)

// converter converts objects of the kinds it has tables for.
type converter struct {
	all    []*compiled
	kinds  map[schema.GroupKind]map[string]*compiled // by spoke version
	routes map[string]route                          // by routeKey
}

func newConverter(tables ...*table) *converter {
	c := &converter{kinds: map[schema.GroupKind]map[string]*compiled{}}
	versions := map[schema.GroupKind][]string{}
	for _, t := range tables {
		if c.kinds[t.kind] == nil {
			c.kinds[t.kind] = map[string]*compiled{}
			versions[t.kind] = []string{hubVersion}
		}
		versions[t.kind] = append(versions[t.kind], t.version)
		spoke := compile(t)
		c.kinds[t.kind][t.version] = spoke
		c.all = append(c.all, spoke)
	}
	for _, spoke := range c.all {
		spoke.versions = versions[spoke.kind]
	}
	c.routes = map[string]route{}
	for kind, all := range versions {
		for _, from := range all {
			for _, to := range all {
				apiVersion, toAPIVersion := kind.Group+"/"+from, kind.Group+"/"+to
				c.routes[string(routeKey(nil, []byte(kind.Kind), []byte(apiVersion), toAPIVersion))] = c.newRoute(kind, from, to)
			}
		}
	}
	return c
}

// routeKey appends what the routes of a converter are found by. A line break is part of no name.
func routeKey(dst, kind, apiVersion []byte, toAPIVersion string) []byte {
	dst = append(append(dst, kind...), '\n')
	dst = append(append(dst, apiVersion...), '\n')
	return append(dst, toAPIVersion...)
}

// newRoute returns the way between two versions that exist.
func (c *converter) newRoute(kind schema.GroupKind, from, to string) route {
	way := route{kind: kind.Kind, from: from}
	if from != to && from != hubVersion {
		way.steps = append(way.steps, step{c.kinds[kind][from], up})
	}
	if from != to && to != hubVersion {
		way.steps = append(way.steps, step{c.kinds[kind][to], down})
	}
	return way
}

func (c *converter) groupKinds() []schema.GroupKind {
	var kinds []schema.GroupKind
	for kind := range c.kinds {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
}

func (c *converter) convert(object []byte, toAPIVersion string) (Result, error) {
	at := &cursor{text: object}
	if at.peek() != '{' {
		return Result{}, fmt.Errorf("reading the object: not a JSON object")
	}
	var last lastRoute
	out, result, err := c.append(nil, at, toAPIVersion, &last)
	switch {
	case err == nil && !at.done(), err != nil && !validJSON(object):
		return Result{}, fmt.Errorf("reading the object: not JSON, or nested deeper than %d", maxNesting)
	case err != nil:
		return Result{}, err
	}
	result.Object = out
	return result, nil
}

// append appends the object at the cursor, converted, to dst. The cursor ends after the object. If it is bad then, the rest means
// nothing.
func (c *converter) append(dst []byte, at *cursor, toAPIVersion string, last *lastRoute) ([]byte, Result, error) {
	start := *at
	if last.find(c, identify(start), toAPIVersion) != nil {
		if err := last.find(c, identifyWhole(start), toAPIVersion); err != nil {
			return dst, Result{}, err
		}
	}
	out, result, repeated := last.run(dst, at)
	if !repeated {
		return out, result, nil
	}
	// apiVersion or kind came more than once. The last one counts, as everywhere.
	*at = start
	if err := last.find(c, identifyWhole(start), toAPIVersion); err != nil {
		return dst, Result{}, err
	}
	out, result, _ = last.run(dst, at)
	return out, result, nil
}

// lastRoute remembers the route of the object before, since the objects of a request mostly have the same.
type lastRoute struct {
	identity
	route
}

func (l *lastRoute) find(c *converter, id identity, toAPIVersion string) (err error) {
	if l.same(id) {
		return nil
	}
	if l.route, err = c.route(id, toAPIVersion); err != nil {
		l.identity = identity{}
		return err
	}
	l.identity = id
	return nil
}

// identity is what an object says it is.
type identity struct {
	apiVersion, kind []byte // JSON values, nil if absent
}

func (id identity) same(other identity) bool {
	return id.apiVersion != nil && id.kind != nil && bytes.Equal(id.apiVersion, other.apiVersion) && bytes.Equal(id.kind, other.kind)
}

// identify reads the first apiVersion and kind of the object at the cursor, which is where nearly every object has its own.
func identify(c cursor) (id identity) {
	for c.enter(); c.more('}') && (id.apiVersion == nil || id.kind == nil); {
		id.read(&c)
	}
	return id
}

// identifyWhole reads the last apiVersion and kind, which count if they repeat.
func identifyWhole(c cursor) (id identity) {
	for c.enter(); c.more('}'); {
		id.read(&c)
	}
	return id
}

// read reads one member.
func (id *identity) read(c *cursor) {
	switch name := c.key(); string(name) {
	case "apiVersion":
		id.apiVersion = c.value()
	case "kind":
		id.kind = c.value()
	default:
		c.value()
	}
}

// route is the way from one version to another: none, one or two conversions.
type route struct {
	steps      []step
	kind, from string
}

type step struct {
	*compiled
	direction
}

// route finds the way for an object, or says what is not ours.
func (c *converter) route(id identity, toAPIVersion string) (route, error) {
	if !isString(id.apiVersion) || !isString(id.kind) {
		return route{}, fmt.Errorf("the object has no apiVersion or no kind")
	}
	kind, apiVersion := plain(id.kind), plain(id.apiVersion)
	var memory [128]byte
	if way, known := c.routes[string(routeKey(memory[:0], kind, apiVersion, toAPIVersion))]; known {
		return way, nil
	}
	from, err := schema.ParseGroupVersion(string(apiVersion))
	if err != nil {
		return route{}, fmt.Errorf("apiVersion of the object: %w", err)
	}
	to, err := schema.ParseGroupVersion(toAPIVersion)
	if err != nil {
		return route{}, fmt.Errorf("version to convert to: %w", err)
	}
	spokes := c.kinds[schema.GroupKind{Group: from.Group, Kind: string(kind)}]
	switch {
	case spokes == nil:
		return route{}, fmt.Errorf("%s of %s is no kind that this operator converts", kind, from)
	case to.Group != from.Group || to.Version != hubVersion && spokes[to.Version] == nil:
		return route{}, fmt.Errorf("%s cannot be converted to %s: no such version", kind, toAPIVersion)
	}
	return route{}, fmt.Errorf("%s cannot be converted from %s: no such version", kind, from)
}

// run appends the object at the cursor to dst, converted along the route. The cursor ends after the object. repeated is
// true if the object says more than once what it is.
func (w route) run(dst []byte, at *cursor) (out []byte, result Result, repeated bool) {
	if len(w.steps) == 0 {
		at.peek()
		return append(dst, at.value()...), result, false
	}
	for i, s := range w.steps {
		last := i == len(w.steps)-1
		r := newRun(s.compiled, s.direction)
		if r.unlimited = !last; last {
			dst = r.convert(dst, at)
		} else {
			at = r.convertedCursor(at)
		}
		result.add(r.result)
		repeated = repeated || r.identities > 2
		r.release()
	}
	return dst, result, repeated
}

// convertedCursor converts the object at the cursor and returns a cursor at the result.
func (r *run) convertedCursor(at *cursor) *cursor {
	return &cursor{text: r.convert(nil, at)}
}

// add adds what there is to say about a further step.
func (r *Result) add(step Result) {
	r.Quarantined = append(r.Quarantined, step.Quarantined...)
	r.Lost = append(r.Lost, step.Lost...)
	r.Malformed += step.Malformed
	r.KeptBytes = step.KeptBytes
}
