package conversion

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"
	"sort"
	"sync"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

const (
	// annotationLimit is what the API server allows all annotations of an object to take together, keys and values.
	annotationLimit = 256 << 10

	// plainLimit is the size from which an annotation of ours is compressed.
	plainLimit = 32 << 10

	// expandedLimit bounds what a compressed annotation may expand to. No object that the API server stores is larger.
	expandedLimit = 2 << 20

	// compressedPrefix marks a compressed annotation; a plain one begins with a brace.
	compressedPrefix = "gzip:"
)

// fitBudget makes our annotations fit beside the others: it compresses, then drops kept fields, the largest first, then
// what is parked, then annotations that were fields. It never fails.
func (r *run) fitBudget() {
	if r.unlimited {
		return
	}
	plainKept, plainParked := r.keptText, r.parkedText
	r.keptText, r.parkedText = packed(plainKept, plainLimit), packed(plainParked, plainLimit)
	if len(r.meta.annotations)+sizeOf(r.meta.added)+r.ownSize() <= annotationLimit && len(plainKept) <= expandedLimit {
		return
	}
	r.keptText, r.parkedText = packed(plainKept, 0), packed(plainParked, 0)
	room := annotationLimit - exactSize(r.meta.others) - exactSize(r.meta.added)
	if len(plainKept) > 0 && (r.ownSize() > room || len(plainKept) > expandedLimit) {
		r.keptText = r.fitKept(plainKept, room)
	}
	if len(r.parkedText) > 0 && (r.ownSize() > room || len(plainParked) > expandedLimit) {
		r.parkedText = nil
		r.lose("metadata.annotations["+workloadv1.AnnotationUnconvertible+"]", tooLarge)
	}
	if room < 0 && len(r.meta.added) > 0 {
		for _, m := range r.meta.added {
			r.lose("metadata.annotations["+string(plain(m.name))+"]", tooLarge)
		}
		r.meta.added = r.meta.added[:0]
	}
}

// ownSize is what our annotations take.
func (r *run) ownSize() (size int) {
	if len(r.keptText) > 0 {
		size += len(workloadv1.AnnotationV1Fields) + len(r.keptText)
	}
	if len(r.parkedText) > 0 {
		size += len(workloadv1.AnnotationUnconvertible) + len(r.parkedText)
	}
	return size
}

// sizeOf bounds the size of annotations from above.
func sizeOf(annotations []member) (size int) {
	for _, m := range annotations {
		size += len(m.name) + len(m.value)
	}
	return size
}

func exactSize(annotations []member) (size int) {
	for _, m := range annotations {
		size += len(plain(m.name))
		if isString(m.value) {
			size += len(plain(m.value))
		}
	}
	return size
}

// fitKept drops as few of the kept fields as it takes to fit, the largest first, and reports them lost. Compression decides what
// fits, so it looks for their number by halving.
func (r *run) fitKept(plainKept []byte, room int) []byte {
	var fields []member
	c := cursor{text: plainKept}
	for c.enter(); c.more('}'); {
		fields = append(fields, member{name: c.name(), value: c.value()})
	}
	bySize := slices.Clone(fields)
	slices.SortStableFunc(bySize, func(a, b member) int { return len(b.value) - len(a.value) })
	dropped := sort.Search(len(fields), func(n int) bool {
		rest := withoutFields(fields, bySize[:n])
		r.keptText = packed(rest, 0)
		return len(rest) <= expandedLimit && r.ownSize() <= room
	})
	for _, m := range bySize[:dropped] {
		r.lose("spec."+string(plain(m.name)), tooLarge)
	}
	return packed(withoutFields(fields, bySize[:dropped]), 0)
}

// withoutFields writes an object of fields without some of them; nothing if none is left.
func withoutFields(fields, without []member) []byte {
	if len(fields) == len(without) {
		return nil
	}
	drop := make(map[string]bool, len(without))
	for _, m := range without {
		drop[string(m.name)] = true
	}
	out := []byte{'{'}
	for _, m := range fields {
		if !drop[string(m.name)] {
			out = appendMember(out, m.name, m.value)
		}
	}
	return closeObject(out)
}

var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// packed returns text, compressed if it is longer than limit and compression helps.
func packed(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	var buffer bytes.Buffer
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&buffer)
	if _, err := w.Write(text); err != nil {
		return text
	}
	if err := w.Close(); err != nil {
		return text
	}
	if len(compressedPrefix)+base64.StdEncoding.EncodedLen(buffer.Len()) >= len(text) {
		return text
	}
	return base64.StdEncoding.AppendEncode([]byte(compressedPrefix), buffer.Bytes())
}

// expanded returns the plain text of an annotation of ours; false if it is damaged or expands beyond all reason.
func expanded(text []byte) ([]byte, bool) {
	encoded, compressed := bytes.CutPrefix(text, []byte(compressedPrefix))
	if !compressed {
		return text, len(text) > 0
	}
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(encoded)))
	if err != nil {
		return nil, false
	}
	plain, err := io.ReadAll(io.LimitReader(r, expandedLimit+1))
	if err != nil || len(plain) > expandedLimit {
		return nil, false
	}
	return plain, true
}
