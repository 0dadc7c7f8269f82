package certs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestChoose(t *testing.T) {
	annotated := crdHolding("")
	annotated.Annotations = map[string]string{"cert-manager.io/inject-ca-from": "ops/serving"}
	secret := func(meta metav1.ObjectMeta, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: meta, Data: data}
	}
	ours := metav1.ObjectMeta{Labels: map[string]string{ownerLabel: ownerValue}}
	issued := metav1.ObjectMeta{Annotations: map[string]string{issuedBy: "serving"}, Labels: ours.Labels}
	tests := map[string]struct {
		reason  string
		former  Mode
		secret  *corev1.Secret
		targets []client.Object
		want    Mode
	}{
		"Nothing":         {reason: "an installation without ado", want: ModeSelfManaged},
		"Ours":            {reason: "the label says so", secret: secret(ours, nil), want: ModeSelfManaged},
		"OursUnlabelled":  {reason: "nobody else keeps the key of the authority there", secret: secret(metav1.ObjectMeta{}, base(t)), want: ModeSelfManaged},
		"Provided":        {reason: "made by hand", secret: secret(metav1.ObjectMeta{}, foreign(t, names...)), want: ModeProvided},
		"ProvidedDeleted": {reason: "it does not change hands by being deleted", former: ModeProvided, want: ModeProvided},
		"Issued":          {reason: "by cert-manager", secret: secret(issued, nil), want: ModeCertManager},
		"IssuedOverOurs":  {reason: "cert-manager took over a Secret that we had made first", former: ModeSelfManaged, secret: secret(issued, base(t)), want: ModeCertManager},
		"Injected":        {reason: "cert-manager is installed for us, and has not issued yet", targets: []client.Object{annotated}, want: ModeCertManager},
		"OursDeleted":     {reason: "made again", former: ModeSelfManaged, want: ModeSelfManaged},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, why := choose(tc.former, tc.secret, tc.targets)
			if diff := cmp.Diff(tc.want, got); diff != "" || why == "" {
				t.Errorf("%s: choose, because %q: -want +got:\n%s", tc.reason, why, diff)
			}
		})
	}
}

// O-03: a certificate of a new authority is taken up when it is trusted, and no sooner than the API servers know.
func TestTakeUp(t *testing.T) {
	older, newer := decode(foreign(t, names...)), decode(foreign(t, names...))
	tests := map[string]struct {
		reason       string
		serving      *material
		oldOK, newOK bool
		since, at    time.Duration
		wantNow      bool
		wantAgain    time.Duration
	}{
		"First":       {reason: "there is nothing to lose", wantNow: true},
		"Same":        {reason: "served already", serving: newer, wantNow: true},
		"Renewed":     {reason: "the same authority, trusted for long", serving: older, oldOK: true, newOK: true, at: 20 * time.Second, wantNow: true},
		"Untrusted":   {reason: "waits for the bundle", serving: older, oldOK: true, at: time.Hour / 2, wantAgain: longest},
		"JustTrusted": {reason: "API servers may be late", serving: older, oldOK: true, newOK: true, since: 3 * time.Second, at: 5 * time.Second, wantAgain: 8 * time.Second},
		"Injected":    {reason: "another writer has replaced the bundle at once", serving: older, newOK: true, at: time.Second, wantNow: true},
		"Expired":     {reason: "what is served is worth nothing", serving: older, at: 2 * time.Hour, wantNow: true},
		"BothWiped":   {reason: "repair comes first, then the handover", serving: older, at: time.Second, wantAgain: longest},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observation{secret: newer, serving: tc.serving, names: names, secretTrusted: tc.newOK, servingTrusted: tc.oldOK,
				bundlesSince: epoch.Add(tc.since), now: epoch.Add(tc.at)}
			now, again := takeUp(o, short)
			if now != tc.wantNow || !now && again != tc.wantAgain {
				t.Errorf("%s: takeUp = %t, %s", tc.reason, now, again)
			}
		})
	}
}

// O-01, O-03: old and new authority are published together until every replica has gone over.
func TestBundleOverlaps(t *testing.T) {
	older, newer := decode(foreign(t, names...)), decode(foreign(t, names...))
	one, both := newer.bundlePEM(), append(newer.bundlePEM(), older.bundlePEM()...)
	expired := decode(foreign(t, names...))
	holding := func(bundle []byte) []client.Object { return []client.Object{crdHolding(string(bundle))} }
	annotated := crdHolding(string(expired.bundlePEM()))
	annotated.Annotations = map[string]string{"cert-manager.io/inject-ca-from": "ops/serving"}
	settled := trustDelay + short.Settle
	tests := map[string]struct {
		reason  string
		mode    Mode
		serving *material
		targets []client.Object
		at      time.Duration
		want    []byte
	}{
		"Quiet":       {reason: "the bundle of the Secret", mode: ModeProvided, serving: newer, targets: holding(one), want: one},
		"Changed":     {reason: "the old one is still served", mode: ModeProvided, serving: older, targets: holding(older.bundlePEM()), want: both},
		"Wiped":       {reason: "what is served is put back, too", mode: ModeProvided, serving: older, targets: holding(nil), want: both},
		"GoneOver":    {reason: "other replicas may be late", mode: ModeCertManager, serving: newer, targets: holding(both), at: settled - time.Second, want: both},
		"Settled":     {reason: "the old authority goes", mode: ModeCertManager, serving: newer, targets: holding(both), at: settled, want: one},
		"StillOld":    {reason: "this replica has not gone over", mode: ModeCertManager, serving: older, targets: holding(both), at: settled, want: both},
		"SelfManaged": {reason: "the Secret itself has the overlap", mode: ModeSelfManaged, serving: older, targets: holding(both), want: one},
		"Starting":    {reason: "a replica that serves nothing takes nothing away", mode: ModeProvided, targets: holding(older.bundlePEM()), want: both},
		"Injected":    {reason: "what the cainjector writes is not ours to carry on", mode: ModeCertManager, serving: newer, targets: []client.Object{annotated}, want: one},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observation{secret: newer, serving: tc.serving, names: names, bundlesSince: epoch, now: epoch.Add(tc.at)}
			got, _ := bundleOf(tc.mode, o, tc.targets, short)
			if diff := cmp.Diff(string(tc.want), string(got)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
	o := Observation{secret: newer, serving: newer, bundlesSince: epoch, now: epoch.Add(4 * time.Hour)}
	if got := formerAuthorities(o, holding(expired.bundlePEM())); len(got) > 0 {
		t.Error("an expired authority is carried on")
	}
}
