package migration

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A record names a bounded part of what was refused: it is an annotation.
func TestRecordIsBounded(t *testing.T) {
	var problems []Problem
	for i := range 200 {
		problems = append(problems, Problem{Namespace: "shop", Name: fmt.Sprint("app-", i), Reason: strings.Repeat("é", 1000)})
	}
	few := shortened(problems)
	if len(few) != recordedRefusals || few[49].Name != "app-49" {
		t.Errorf("%d are named", len(few))
	}
	if got := few[0].Reason; len(got) > recordedReason+3 || !utf8.ValidString(got) || !strings.HasSuffix(got, "...") {
		t.Errorf("the reason has %d bytes: %s", len(got), got)
	}
	if len(problems[0].Reason) != 2000 {
		t.Error("the report was changed")
	}
	if few := shortened(problems[:1:1]); len(few) != 1 {
		t.Errorf("got %v", few)
	}
}

func TestRecordOf(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"none": {"", false}, "damaged": {"{", false}, "one": {`{"phase":"Done","target":"v1"}`, true},
		"of a later release": {`{"phase":"Done","new":1}`, true},
	} {
		got := RecordOf(&metav1.ObjectMeta{Annotations: map[string]string{AnnotationRecord: c.text}})
		if (got != nil) != c.want || got != nil && got.Phase != PhaseDone {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
