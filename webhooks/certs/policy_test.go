package certs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// O-03, O-04: what may be served, and what is said about the rest.
func TestJudge(t *testing.T) {
	good := base(t)
	tests := map[string]struct {
		reason string
		data   map[string][]byte
		names  []string
		now    time.Time
		want   Reason
	}{
		"Good":           {reason: "a fresh Secret is served", data: good},
		"GoodAtTheEnd":   {reason: "the last minute still counts", data: good, now: epoch.Add(short.Leaf - time.Second)},
		"GoodForeign":    {reason: "who made it does not matter for serving", data: foreign(t, names...)},
		"GoodRotating":   {reason: "two authorities are as good as one", data: rotating(t, epoch)},
		"NoData":         {reason: "an empty Secret has no bundle", data: map[string][]byte{}, want: ReasonBundleUnreadable},
		"NoBundle":       {reason: "nothing to publish", data: without(good, KeyBundle), want: ReasonBundleUnreadable},
		"NewlineBundle":  {reason: "white space is no certificate", data: with(good, KeyBundle, []byte("\n")), want: ReasonBundleUnreadable},
		"HalfBundle":     {reason: "a cut PEM is damaged", data: with(good, KeyBundle, good[KeyBundle][:100]), want: ReasonBundleUnreadable},
		"TrailingBundle": {reason: "the API server would refuse the rest", data: with(good, KeyBundle, append(good[KeyBundle][:len(good[KeyBundle]):len(good[KeyBundle])], "x"...)), want: ReasonBundleUnreadable},
		"KeyInBundle":    {reason: "a private key must never be published", data: with(good, KeyBundle, good[KeyPrivateKey]), want: ReasonBundleUnreadable},
		"NoKey":          {reason: "cannot serve without the key", data: without(good, KeyPrivateKey), want: ReasonKeyPairUnreadable},
		"OtherKey":       {reason: "the key must match", data: with(good, KeyPrivateKey, base(t)[KeyPrivateKey]), want: ReasonKeyPairUnreadable},
		"HalfLeaf":       {reason: "a cut PEM is damaged", data: with(good, KeyCertificate, good[KeyCertificate][:80]), want: ReasonKeyPairUnreadable},
		"Expired":        {reason: "past its end", data: good, now: epoch.Add(short.Leaf + time.Second), want: ReasonExpired},
		"NotYet":         {reason: "clocks differ by more than the backdating", data: good, now: epoch.Add(-backdate - time.Second), want: ReasonNotYetValid},
		"OtherService":   {reason: "made for another installation", data: good, names: []string{"hooks.other.svc"}, want: ReasonWrongNames},
		"OtherAuthority": {reason: "the bundle does not vouch", data: with(good, KeyBundle, base(t)[KeyBundle]), want: ReasonUntrusted},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.now.IsZero() {
				tc.now = epoch
			}
			if tc.names == nil {
				tc.names = names
			}
			var got Reason
			if v := judge(decode(tc.data), tc.names, tc.now); v != nil {
				got = v.Reason
				if v.Message == "" {
					t.Error("violation without a message")
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: judge: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
